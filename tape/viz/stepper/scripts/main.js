// The state of the page, and what changes it: steps, clicks, keys, the address. The parts before this file only
// use what is here once something happens.

const state = { position: 0, chosen: -1, matches: new Set() };

function update() {
  const view = { ...state, step: stepAt(state.position) };
  list.render(view);
  details.render(view);
  return view;
}

// To another position: the list and the source follow, the panel stays with the chosen node if there is one.
function go(position) {
  state.position = Math.min(total, Math.max(0, position));
  const step = stepAt(state.position);
  if (step) list.show(step.node);
  const view = update();
  player.render(view);
  source.mark(step ? step.node : -1);
  remember();
}

// Choose a node, which the panel then keeps showing; -1 lets go of it.
function choose(i) {
  state.chosen = i;
  if (i >= 0) {
    list.show(i);
    source.mark(i);
  }
  update();
  remember();
}

// ---- the address keeps the step ----

let timer = 0;

function remember() {
  clearTimeout(timer);  // browsers refuse addresses that change too often
  timer = setTimeout(() => {
    const parts = [`step=${state.position}`];
    if (state.chosen >= 0) parts.push(`node=${state.chosen}`);
    try {
      history.replaceState(null, "", `#${parts.join("&")}`);
    } catch {
      // A page in a frame of a notebook has no address of its own.
    }
  }, 200);
}

function recall() {
  const given = new URLSearchParams(location.hash.slice(1));
  const whole = (name, most) => {
    const x = Number(given.get(name));
    return given.has(name) && Number.isInteger(x) && x >= 0 && x <= most ? x : null;
  };
  go(whole("step", total) ?? 0);
  const chosen = whole("node", count - 1);
  if (chosen !== null) choose(chosen);
}

// ---- keys and clicks ----

const help = document.getElementById("help");

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  arcs.readColours();
  update();
}

function toggleTheme() {
  const { theme } = document.documentElement.dataset;
  const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  setTheme(isDark ? "light" : "dark");
}

// A page that shows this one in a frame may say which of the two it is itself.
window.addEventListener("message", ({ source: sender, data: message }) => {
  const theme = message?.theme;
  if (sender === window.parent && ["light", "dark"].includes(theme)) setTheme(theme);
});

function zoomBy(change) {
  list.zoomBy(change);
  update();
}

function chooseBy(change) {
  const from = state.chosen >= 0 ? state.chosen : (stepAt(state.position) || { node: -change }).node;
  if (count) choose(Math.min(count - 1, Math.max(0, from + change)));
}

const KEYS = {
  " ": () => player.toggle(),
  ArrowRight: (event) => player.stopAt(state.position + (event.shiftKey ? 10 : 1)),
  ArrowLeft: (event) => player.stopAt(state.position - (event.shiftKey ? 10 : 1)),
  Home: () => player.stopAt(0),
  End: () => player.stopAt(total),
  1: () => player.toPass("forward"),
  2: () => player.toPass("backward"),
  3: () => player.toPass("tangent"),
  ArrowDown: () => chooseBy(1),
  ArrowUp: () => chooseBy(-1),
  "/": () => search.focus(),
  n: () => search.go(1),
  p: () => search.go(-1),
  "+": () => zoomBy(1),
  "=": () => zoomBy(1),
  "-": () => zoomBy(-1),
  t: toggleTheme,
  "?": () => help.showModal(),
  Escape: () => choose(-1),
};

document.addEventListener("keydown", (event) => {
  const isField = event.target.matches("input[type=search], select");
  const isOwn = (event.target.matches("input[type=range]") && /^(Arrow|Home|End)/.test(event.key))
    || (event.target.closest(".source, .detail") && /^Arrow(Up|Down)$/.test(event.key));  // they scroll
  const isPressed = event.key === " " && event.target.matches("button");
  if (isField || isOwn || isPressed || help.open || event.ctrlKey || event.metaKey || event.altKey) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act(event);
});

// After a click with the mouse the space bar shall play, not press the same button again.
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button && event.detail) button.blur();
});

document.getElementById("rows").addEventListener("click", (event) => {
  const made = event.target.closest(".row");
  if (made) choose(made.node === state.chosen ? -1 : made.node);
});

document.getElementById("zoom-in").addEventListener("click", () => zoomBy(1));
document.getElementById("zoom-out").addEventListener("click", () => zoomBy(-1));
document.getElementById("theme").addEventListener("click", toggleTheme);
document.getElementById("show-help").addEventListener("click", () => help.showModal());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { arcs.readColours(); update(); });

let isDue = false;
list.scroller.addEventListener("scroll", () => {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => { isDue = false; update(); });
});
new ResizeObserver(() => { list.measure(); update(); }).observe(list.scroller);
window.addEventListener("hashchange", recall);

// ---- the heading ----

(() => {
  let params = 0, inputs = 0;
  for (let i = 0; i < count; i++) if (isLeaf(i)) isParam(i) ? params++ : inputs++;
  const many = (n, what) => `${thousands(n)} ${what}${n === 1 ? "" : "s"}`;
  const parts = [many(count, "node"), many(params, "param"), many(inputs, "input")];
  if (data.root >= 0) parts.push(`root %${data.root}`);
  document.getElementById("counts").textContent = [...parts, many(total, "step")].join(" · ");
  document.querySelector(".top").after(...data.notes.map((note) => element("p", { class: "note" }, note)));
  const has = document.body.classList;
  has.toggle("no-backward", !backwardPass.length);
  has.toggle("no-tangent", !tangentPass.length);
})();

recall();
