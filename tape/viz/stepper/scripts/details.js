// The panel about one node: what it is, its rules in words and as formulas, and what it holds at this step.

const details = (() => {
  const panel = document.getElementById("detail");
  const MOST_LINKS = 24;

  function link(i) {
    const made = element("button", { type: "button", class: "link" }, `%${i}`);
    if (nameOf(i)) made.append(element("span", { class: "of-name" }, ` ${nameOf(i)}`));
    made.addEventListener("click", () => choose(i));
    return made;
  }

  function links(ids, all) {
    const made = element("span", { class: "links" });
    ids.forEach((i) => made.append(link(i), " "));
    if (all > ids.length) made.append(`and ${thousands(all - ids.length)} more`);
    return made;
  }

  function definition(i) {
    const made = element("p", { class: "definition" }, element("b", {}, `%${i}`), " = ", element("b", {}, opOf(i)));
    if (isLeaf(i)) return made;
    made.append("(");
    nodes.operands[i].forEach((operand, k) => {
      if (k) made.append(", ");
      made.append(typeof operand === "number" ? link(operand) : operand);
    });
    const attrs = text(nodes.attrs[i]);
    if (attrs) made.append(nodes.operands[i].length ? `, ${attrs}` : attrs);
    made.append(")");
    return made;
  }

  function rules(i) {
    const rule = rulesOf(i);
    const made = element("div", { class: "rules" });
    if (!rule) return made;
    made.append(element("p", {}, rule.words.join(" ")));
    const formulas = [["value", rule.value], ...rule.reverse.map((one) => ["adjoint", one]), ["tangent", rule.tangent]];
    for (const [kind, formula] of formulas) {
      if (formula) made.append(element("code", { class: `formula ${kind}` }, formula));
    }
    if (rule.value || rule.reverse.length || rule.tangent) {
      const where = rule.names.slice(0, 4).map((name, k) => {
        const operand = nodes.operands[i][k];
        return `${name} is ${typeof operand === "number" ? `%${operand}` : operand}`;
      });
      if (where.length) made.append(element("p", { class: "where" }, `${where.join(", ")}; g is the adjoint of %${i}.`));
    }
    return made;
  }

  function facts(i) {
    const made = element("dl", { class: "facts" });
    const add = (name, content) => content && made.append(
      element("div", {}, element("dt", {}, name), element("dd", {}, content)));
    add("type", text(nodes.type[i]));
    add("scope", text(nodes.scope[i]));
    const place = placeOf(i);
    if (place) add("recorded", `${data.sources.files[place[0]].name}:${place[1]} in ${place[4]}`);
    const all = uses.offset[i + 1] - uses.offset[i];
    if (all) add("used by", links([...new Set(childrenOf(i, MOST_LINKS))], all));
    return made;
  }

  // ---- what it holds ----

  // kind says the colour; now is the text for it, null if it is not known yet.
  function holding(kind, title, type, now, digest, isComplete = true) {
    const made = element("section", { class: `holding ${kind}`, "aria-label": title });
    made.append(element("h4", {}, title));
    if (now === null) {
      made.append(element("p", { class: "unknown" }, "not known yet"));
      return made;
    }
    // Numbers in full here; the table has rounded ones.
    if (!digest || digest.size <= 6 || !isComplete) made.append(element("p", { class: "number" }, String(now)));
    if (!digest) return made;
    if (!isComplete) {
      made.append(element("p", { class: "unknown" }, "so far: more will be added"));
      return made;
    }
    const statistics = element("dl", { class: "statistics" });
    for (const [name, amount] of digest.statistics) {
      statistics.append(element("div", {}, element("dt", {}, name), element("dd", {}, number(amount, 4))));
    }
    made.append(statistics);
    const pictures = element("div", { class: "pictures" });
    if (digest.histogram) pictures.append(histogram(digest.histogram));
    if (digest.image) pictures.append(image(digest.image));
    made.append(pictures);
    if (digest.numbers.length) made.append(table(type, digest));
    return made;
  }

  function histogram({ low, high, counts }) {
    const most = Math.max(...counts, 1);
    const space = "http://www.w3.org/2000/svg";
    const made = document.createElementNS(space, "svg");
    made.setAttribute("viewBox", `0 0 ${counts.length * 4} 48`);
    made.setAttribute("preserveAspectRatio", "none");
    made.setAttribute("role", "img");
    made.setAttribute("aria-label", `Histogram from ${number(low, 4)} to ${number(high, 4)}`);
    counts.forEach((amount, k) => {
      if (!amount) return;
      const bar = document.createElementNS(space, "rect");
      const tall = Math.max(1, (46 * amount) / most);
      for (const [name, value] of [["x", k * 4], ["y", 48 - tall], ["width", 3.4], ["height", tall]]) {
        bar.setAttribute(name, value);
      }
      made.append(bar);
    });
    return element("figure", { class: "histogram" }, made,
      element("figcaption", {}, element("span", {}, number(low, 4)), element("span", {}, number(high, 4))));
  }

  // From blue over the ground's grey to orange where there are both signs, else from dark to light.
  function colour(level, zero) {
    if (level === 255) return [217, 45, 32];
    if (zero > 0 && zero < 254) {
      const t = level < zero ? (level - zero) / zero : (level - zero) / (254 - zero);
      const [r, g, b] = t < 0 ? [33, 102, 172] : [217, 119, 6];
      const s = Math.abs(t);
      return [246 + (r - 246) * s, 246 + (g - 246) * s, 246 + (b - 246) * s];
    }
    const t = level / 254;  // between three colours of viridis
    const stops = [[68, 1, 84], [33, 145, 140], [253, 231, 37]];
    const [from, to] = t < 0.5 ? [stops[0], stops[1]] : [stops[1], stops[2]];
    const s = (t * 2) % 1 || (t === 1 ? 1 : 0);
    return from.map((c, k) => c + (to[k] - c) * s);
  }

  function image(picture) {
    const canvas = element("canvas", { role: "img", "aria-label": "Image of the values" });
    canvas.width = picture.columns;
    canvas.height = picture.rows;
    const side = Math.max(2, Math.floor(132 / Math.max(picture.rows, picture.columns)));
    canvas.style.width = `${picture.columns * side}px`;
    canvas.style.height = `${picture.rows * side}px`;
    const context = canvas.getContext("2d");
    const made = context.createImageData(picture.columns, picture.rows);
    const zero = typeof picture.low === "number" && picture.high > picture.low
      ? (-picture.low / (picture.high - picture.low)) * 254 : -1;
    const levels = atob(picture.pixels);
    for (let k = 0; k < levels.length; k++) made.data.set([...colour(levels.charCodeAt(k), zero), 255], 4 * k);
    context.putImageData(made, 0, 0);
    const [down, across] = picture.every;
    const parts = [];
    if (down > 1 || across > 1) parts.push(`each ${down} × ${across}`);
    if (picture.leading) parts.push("the first of the stack");
    return element("figure", { class: "image" }, canvas, element("figcaption", {}, parts.join(", ")));
  }

  // The first numbers, in rows as long as the last axis where that is short.
  function table(type, digest) {
    const shape = (type.match(/\[([\d, ]*)\]$/) || ["", ""])[1].split(", ").map(Number);
    const last = shape[shape.length - 1];
    const columns = shape.length > 1 && last >= 1 && last <= 6 ? last : 4;
    const body = element("tbody");
    for (let k = 0; k < digest.numbers.length; k += columns) {
      const row = element("tr");
      for (const x of digest.numbers.slice(k, k + columns)) row.append(element("td", {}, number(x, 4)));
      body.append(row);
    }
    const caption = digest.size > digest.numbers.length
      ? `the first ${digest.numbers.length} of ${thousands(digest.size)} numbers` : "";
    return element("div", { class: "numbers" }, element("table", {}, element("caption", {}, caption), body));
  }

  // ---- the panel ----

  let shown = "";

  function render({ position, chosen, step }) {
    const i = chosen >= 0 ? chosen : step ? step.node : count ? 0 : -1;
    if (i < 0) return;
    const adjoint = adjointAt(i, position), tangent = tangentAt(i, position);
    const isKnown = position > i, isComplete = isAdjointComplete(i, position);
    const now = [i, chosen, isKnown, lastWrite(i, position), tangent !== null].join();
    if (now === shown) return;
    shown = now;
    const title = element("div", { class: "pane-title" }, element("h2", {}, nameOf(i) || `%${i}`));
    if (chosen >= 0) {
      const close = element("button", { type: "button", class: "close", "aria-label": "Follow the steps again" }, "×");
      close.addEventListener("click", () => choose(-1));
      title.append(close);
    } else title.append(element("span", { class: "hint" }, "follows the steps; click a node to keep it"));
    const type = text(nodes.type[i]);
    const { digests } = data;
    const parts = [title, definition(i), rules(i), facts(i),
      holding("value", "Value", type, isKnown ? nodes.value[i] : null, digests.value[i])];
    if (writes.offset[i + 1] > writes.offset[i]) {
      parts.push(holding("adjoint", "Adjoint", type, adjoint, digests.adjoint[i], isComplete));
    }
    if (tangentStep[i] >= 0) parts.push(holding("tangent", "Tangent", type, tangent, digests.tangent[i]));
    for (const [k, constant] of Object.entries(data.constants[i] || {})) {
      const name = rulesOf(i) ? rulesOf(i).names[k] : `operand ${Number(k) + 1}`;
      parts.push(holding("constant", `${name}, a constant`, nodes.operands[i][k], "", constant));
    }
    panel.replaceChildren(...parts);
  }

  return { render, link };
})();
