// The tape as a line of nodes with arcs to their parents, left of the rows of the table, on a canvas: only
// what ends at a visible row, and what belongs to the step or to the chosen node.

const arcs = (() => {
  const canvas = document.getElementById("arcs");
  const context = canvas.getContext("2d");
  const MOST_CHILDREN = 60;  // of one node that arcs are drawn to
  let longest = 1;
  for (let k = 0; k < edges.parent.length; k++) longest = Math.max(longest, edges.child[k] - edges.parent[k]);
  let colours = {};

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ground", "ink", "muted", "line", "active", "active-line", "adjoint", "adjoint-line",
      "highlight-line", "inactive", "inactive-line", "tangent", "tangent-line"]) {
      colours[name] = style.getPropertyValue(`--${name}`).trim();
    }
  }

  // How far an arc reaches to the left: the longer, the farther, but slowly.
  const reach = (distance, row) => row * (0.25 + 0.42 * Math.log2(distance));

  function width(row) {
    const most = window.innerWidth < 700 ? 64 : 150;
    return Math.round(Math.min(most, Math.max(44, reach(longest, row) + 26)));
  }

  function trace(x, top, bottom, rx) {
    const ry = Math.min((bottom - top) / 2, rx * 1.4);
    context.moveTo(x, top);
    context.ellipse(x, top + ry, rx, ry, 0, -Math.PI / 2, -Math.PI, true);
    context.lineTo(x - rx, bottom - ry);
    context.ellipse(x, bottom - ry, rx, ry, 0, Math.PI, Math.PI / 2, true);
  }

  // A shape for what a node is: a square for a param, a diamond for an input, else a disc.
  function mark(x, y, r, i) {
    context.beginPath();
    if (isParam(i)) context.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8);
    else if (isLeaf(i)) {
      context.moveTo(x, y - r * 1.2); context.lineTo(x + r * 1.2, y);
      context.lineTo(x, y + r * 1.2); context.lineTo(x - r * 1.2, y); context.closePath();
    } else context.arc(x, y, r, 0, 2 * Math.PI);
  }

  function stateOf(i, position) {
    if (position <= i) return null;
    if (isTangentPass(position) && tangentAt(i, position) !== null) return "tangent";
    if (!isTangentPass(position) && lastWrite(i, position) >= 0) return "adjoint";
    return isActive(i) ? "active" : "inactive";
  }

  // Rows first to last are in the window; top is where the canvas begins, in the coordinates of the list.
  function draw({ first, last, top, height, row, position, step, chosen }) {
    const gutter = width(row);
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(gutter * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(gutter * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${gutter}px`;
      canvas.style.height = `${height}px`;
    }
    canvas.style.transform = `translateY(${top}px)`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, gutter, height);
    const x = gutter - 12;
    const radius = Math.min(5.5, row * 0.2);
    const y = (i) => (i + 0.5) * row - top;
    const arc = (parent, child) => {
      // What lies far outside is cut off: canvases are exact for some thousands of pixels only.
      const from = Math.max(-400, y(parent)), to = Math.min(height + 400, y(child));
      if (from < to) trace(x, from, to, Math.min(gutter - 18, reach(child - parent, row)));
    };
    const special = new Map();  // arcs of the chosen node and of the step, drawn last
    context.beginPath();
    for (let i = first; i <= last; i++) {
      for (const parent of parentsOf(i)) arc(parent, i);
      for (const child of childrenOf(i, MOST_CHILDREN)) if (child > last) arc(i, child);
    }
    context.lineWidth = 1;
    context.strokeStyle = colours.line;
    context.stroke();
    if (chosen >= 0) {
      for (const parent of parentsOf(chosen)) special.set(`${parent}-${chosen}`, [parent, chosen, colours.ink, 1.5]);
      for (const child of childrenOf(chosen, MOST_CHILDREN)) {
        special.set(`${chosen}-${child}`, [chosen, child, colours.muted, 1.5]);
      }
    }
    if (step) {
      const line = colours[{ forward: "active-line", backward: "adjoint-line", tangent: "tangent-line" }[step.pass.name]];
      const written = new Set(step.writes.map((write) => write.id));
      for (const parent of step.reads) {
        const isUsed = step.pass !== backwardPass || written.has(parent);
        special.set(`${parent}-${step.node}`, [parent, step.node, isUsed ? line : colours.muted, isUsed ? 2.5 : 1.5]);
      }
    }
    for (const [parent, child, colour, thickness] of special.values()) {
      context.beginPath();
      arc(parent, child);
      context.lineWidth = thickness;
      context.strokeStyle = colour;
      context.stroke();
    }
    for (let i = first; i <= last; i++) {
      const state = stateOf(i, position);
      mark(x, y(i), radius, i);
      context.fillStyle = state ? colours[state] : colours.ground;
      context.fill();
      context.lineWidth = 1.25;
      context.strokeStyle = state ? colours[`${state}-line`] : colours.line;
      context.stroke();
    }
    if (step && step.node >= first && step.node <= last) {
      mark(x, y(step.node), radius + 2.75, step.node);
      context.lineWidth = 2;
      context.strokeStyle = colours["highlight-line"];
      context.stroke();
    }
  }

  readColours();
  return { draw, width, readColours };
})();
