// The timeline: where it is, what the step there does, and playing it.

const player = (() => {
  const byId = (id) => document.getElementById(id);
  const slider = byId("slider"), sentence = byId("sentence"), changes = byId("writes");
  const play = byId("play"), speed = byId("speed"), section = byId("step");
  const MOST_WRITES = 6;
  let since = 0;  // when the last frame of playing was; 0 while paused
  let owed = 0;  // parts of a step that frames have added up to

  const BAR = "\u0304", DOT = "\u0307";  // over letters: adjoints and tangents

  // ---- what the step does ----

  // The number that a constant is; one on the tape of an outer trace stands in Var().
  const constant = (operand) => Number(operand.replace(/^Var\((.*)\)$/, "$1"));

  // What the letters in the formulas of a node stand for, numbers and others; more are given by the pass.
  function lettersOf(i, rule, more) {
    const known = new Map([["out", nodes.value[i]], ...more]);
    rule.names.forEach((name, k) => {
      const operand = nodes.operands[i][k];
      known.set(name, typeof operand === "number" ? nodes.value[operand] : constant(operand));
    });
    return known;
  }

  // A formula, followed by the same with numbers where all its letters stand for one: "x̄ += g · y = 2 · 3 =".
  function withNumbers(formula, known) {
    const right = formula.slice(formula.indexOf("= ") + 2);
    if (right.includes(", where ")) return formula;
    let isKnown = true;
    const filled = right.replace(/\p{L}[\p{L}\p{M}\d₀-₉]*/gu, (word) => {
      if (!known.has(word)) return word;
      const x = known.get(word);
      if (typeof x !== "number" || Number.isNaN(x)) isKnown = false;
      const shown = number(x, 5);
      return shown.startsWith("-") ? `(${shown})` : shown;
    });
    if (!isKnown) return formula;
    return /^[\p{L}\p{M}]+$/u.test(right) ? `${formula} =` : `${formula} = ${filled} =`;
  }

  const marked = (name, mark) => `${name[0]}${mark}${name.slice(1)}`.normalize("NFC");

  // How a write to the k-th operand came about.
  function adjointFormula(step, k) {
    const rule = rulesOf(step.node);
    const formula = rule && rule.reverse.find((one) => one.startsWith(`${marked(rule.names[k], BAR)} += `));
    if (!formula) return "";
    return withNumbers(formula, lettersOf(step.node, rule, [["g", adjointAt(step.node, state.position - 1)]]));
  }

  function tangentFormula(node) {
    const rule = rulesOf(node);
    if (!rule || !rule.tangent) return "";
    const more = rule.names.map((name, k) => {
      const operand = nodes.operands[node][k];
      // An operand that stands still has the tangent 0.
      const tangent = typeof operand === "number" ? tangentAt(operand, total) : null;
      return [marked(name, DOT), tangent === null ? 0 : tangent];
    });
    return withNumbers(rule.tangent, lettersOf(node, rule, more));
  }

  function valueFormula(node) {
    const rule = rulesOf(node);
    return rule && rule.value ? withNumbers(rule.value, lettersOf(node, rule, [])) : "";
  }

  function explain(column, formula, result) {
    if (!formula) return;
    const made = element("li", { class: column }, element("code", {}, formula));
    if (formula.endsWith("=")) made.append(element("b", {}, number(result)));
    changes.append(made);
  }

  function change(step, written) {
    const made = element("li", { class: written.column }, details.link(written.id));
    if (written.column !== "adjoint") return made;
    const added = data.backward.added[written.write], after = totalOf(written.write);
    const index = writes.items.indexOf(written.write, writes.offset[written.id]);
    const before = index > writes.offset[written.id] ? totalOf(writes.items[index - 1]) : null;
    if (written.formula) made.append(element("code", {}, written.formula));
    if (before === null) made.append(element("b", {}, number(added)));
    else if (typeof added !== "number") made.append(`${added}, which makes`, element("b", {}, after));
    else made.append(element("code", {}, `${number(added)}:  ${number(before)} + ${number(added)} =`), element("b", {}, number(after)));
    return made;
  }

  // Which formula belongs to which write: writes come in the order of the operands that take part.
  function withFormulas(step) {
    const taking = nodes.operands[step.node]
      .map((operand, k) => [operand, k]).filter(([operand]) => typeof operand === "number" && isActive(operand));
    const fits = taking.length === step.writes.length && taking.every(([id], k) => id === step.writes[k].id);
    return step.writes.map((written, k) => ({ ...written, formula: fits ? adjointFormula(step, taking[k][1]) : "" }));
  }

  function say(step) {
    changes.replaceChildren();
    if (!step) {
      sentence.replaceChildren(count
        ? "Nothing has been computed yet. Press space to play, → for one step, ? for all keys."
        : "This tape is empty: nothing was recorded on it.");
      return;
    }
    const { pass, number: k, node } = step;
    const where = element("span", { class: `where ${pass.name}` }, `${pass.label}, step ${thousands(k)} of ${thousands(pass.length)}`);
    const call = isLeaf(node) ? "" : ` = ${opOf(node)}${operandsText(node)}`;
    const self = details.link(node);
    if (pass === forwardPass) {
      const value = element("b", {}, number(nodes.value[node]));
      const what = isLeaf(node) ? ` is ${isParam(node) ? "a param" : "an input"}: ` : `${call} is computed: `;
      sentence.replaceChildren(where, self, what, value);
      explain("value", valueFormula(node), nodes.value[node]);
    } else if (pass === tangentPass) {
      const tangent = data.tangent.total[k - 1];
      const what = isLeaf(node) ? " moves with the tangent " : `${call} moves with its operands, by the tangent `;
      sentence.replaceChildren(where, self, what, element("b", {}, number(tangent)));
      explain("tangent", tangentFormula(node), tangent);
    } else if (step.isSeed) {
      const seed = element("b", {}, number(data.backward.added[0]));
      sentence.replaceChildren(where, "the sweep starts at ", self, ", with the adjoint ", seed);
    } else {
      const adjoint = element("b", {}, number(adjointAt(node, state.position - 1)));
      const all = withFormulas(step);
      if (all.length) sentence.replaceChildren(where, self, `${call} passes its adjoint `, adjoint, " on to");
      else sentence.replaceChildren(where, self, `${call} has the adjoint `, adjoint, ", and passes nothing on");
      changes.append(...all.slice(0, MOST_WRITES).map((written) => change(step, written)));
      if (all.length > MOST_WRITES) changes.append(element("li", {}, `and ${all.length - MOST_WRITES} more`));
    }
  }

  function render({ position, step }) {
    slider.value = position;
    slider.setAttribute("aria-valuetext", step
      ? `${step.pass.label}, step ${step.number} of ${step.pass.length}: node ${step.node}` : "before the first step");
    byId("position").textContent = `${thousands(position)} / ${thousands(total)}`;
    for (const id of ["first", "back"]) byId(id).disabled = position === 0;
    for (const id of ["forward", "last"]) byId(id).disabled = position === total;
    for (const button of document.querySelectorAll("[data-pass]")) {
      button.setAttribute("aria-pressed", Boolean(step && step.pass.name === button.dataset.pass));
    }
    say(step);
  }

  // ---- playing ----

  function pause() {
    since = 0;
    play.setAttribute("aria-label", "Play");
    document.body.classList.remove("playing");
    section.setAttribute("aria-live", "polite");
  }

  function frame(now) {
    if (!since) return;
    owed += ((now - since) / 1000) * Number(speed.value);
    since = now;
    const steps = Math.floor(owed);
    if (steps) {
      owed -= steps;
      go(state.position + steps);
    }
    if (state.position >= total) pause();
    else requestAnimationFrame(frame);
  }

  function toggle() {
    if (since) return pause();
    if (!total) return undefined;
    if (state.position >= total) go(0);
    play.setAttribute("aria-label", "Pause");
    document.body.classList.add("playing");
    section.setAttribute("aria-live", "off");  // a reader could not keep up
    since = performance.now();
    owed = 1;  // the first step at once
    requestAnimationFrame(frame);
    return undefined;
  }

  function stopAt(position) {
    pause();
    go(position);
  }

  // The start of a pass is its first step, not the moment before.
  function toPass(name) {
    const pass = passes.find((one) => one.name === name);
    if (pass.length) stopAt(pass.start + 1);
  }

  slider.max = total;
  slider.disabled = total === 0;
  slider.addEventListener("input", () => stopAt(Number(slider.value)));
  play.addEventListener("click", toggle);
  play.disabled = total === 0;
  byId("first").addEventListener("click", () => stopAt(0));
  byId("back").addEventListener("click", () => stopAt(state.position - 1));
  byId("forward").addEventListener("click", () => stopAt(state.position + 1));
  byId("last").addEventListener("click", () => stopAt(total));
  for (const button of document.querySelectorAll("[data-pass]")) {
    button.addEventListener("click", () => toPass(button.dataset.pass));
    button.disabled = !passes.find((pass) => pass.name === button.dataset.pass).length;
  }
  for (const pass of passes) {
    const part = document.querySelector(`[data-section=${pass.name}]`);
    part.style.flexGrow = pass.length;
    part.hidden = !pass.length;
  }
  return { render, toggle, stopAt, toPass };
})();
