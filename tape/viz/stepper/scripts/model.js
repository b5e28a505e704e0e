// The data of the page, and what is known at a position: after so many steps of the timeline, which is the
// forward pass, then the backward pass, then the forward-mode pass.
//
// data.nodes     columns: op, type, scope, attrs (into texts), rule (into rules), flags, operands (a number is
//                a node, a text a constant), value (a number, or a text for all else); names by id
// data.backward  node (of each step), offset (of its writes), to, added, total (null: the same as added)
// data.tangent   node (of each step), total
// data.digests   value, adjoint, tangent: by id, of what is more than one number
// data.constants the same of operands that are arrays on no tape, by id and number of the operand
// data.sources   of (into places, -1 for none), places, files

const data = JSON.parse(document.getElementById("data").textContent);
const nodes = data.nodes;
const count = nodes.op.length;
const PARAM = 1, ACTIVE = 2, NONFINITE = 4;

const passes = [
  { name: "forward", label: "Forward", start: 0, length: count },
  { name: "backward", label: "Backward", start: count, length: data.backward ? data.backward.node.length : 0 },
];
passes.push({
  name: "tangent", label: "Forward mode",
  start: count + passes[1].length, length: data.tangent ? data.tangent.node.length : 0,
});
const [forwardPass, backwardPass, tangentPass] = passes;
const total = tangentPass.start + tangentPass.length;

// Lists of lists as two flat arrays: those of node i are items[offset[i]] up to items[offset[i + 1] - 1].
function grouped(keys, values, size) {
  const offset = new Int32Array(size + 1);
  for (const key of keys) offset[key + 1]++;
  for (let i = 0; i < size; i++) offset[i + 1] += offset[i];
  const next = offset.slice();
  const items = new Int32Array(keys.length);
  for (let k = 0; k < keys.length; k++) items[next[keys[k]]++] = values(k);
  return { offset, items };
}

function parentsOf(i) {
  const ids = nodes.operands[i].filter((operand) => typeof operand === "number");
  return ids.length > 1 ? [...new Set(ids)] : ids;
}

const edges = { parent: [], child: [] };
for (let i = 0; i < count; i++) for (const j of parentsOf(i)) { edges.parent.push(j); edges.child.push(i); }
const uses = grouped(edges.parent, (k) => edges.child[k], count);

function childrenOf(i, most = Infinity) {
  return Array.from(uses.items.subarray(uses.offset[i], Math.min(uses.offset[i + 1], uses.offset[i] + most)));
}

// For every write to an adjoint the position from which it is known; and the writes of each node, in order.
const writeKnown = new Int32Array(data.backward ? data.backward.to.length : 0);
for (let s = 0; s < backwardPass.length; s++) {
  writeKnown.fill(backwardPass.start + s + 1, data.backward.offset[s], data.backward.offset[s + 1]);
}
const writes = grouped(data.backward ? data.backward.to : [], (k) => k, count);

const tangentStep = new Int32Array(count).fill(-1);
for (let s = 0; s < tangentPass.length; s++) tangentStep[data.tangent.node[s]] = s;

function valueAt(i, position) {
  return position > i ? nodes.value[i] : null;
}

// The last write to the adjoint of a node by then, found by bisection; -1 if there is none.
function lastWrite(i, position) {
  let low = writes.offset[i], high = writes.offset[i + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (writeKnown[writes.items[middle]] <= position) low = middle + 1;
    else high = middle;
  }
  return low > writes.offset[i] ? writes.items[low - 1] : -1;
}

function totalOf(write) {
  const { total, added } = data.backward;
  return total[write] === null ? added[write] : total[write];
}

function adjointAt(i, position) {
  const write = lastWrite(i, position);
  return write < 0 ? null : totalOf(write);
}

function isAdjointComplete(i, position) {
  const end = writes.offset[i + 1];
  return end > writes.offset[i] && writeKnown[writes.items[end - 1]] <= position;
}

function tangentAt(i, position) {
  const s = tangentStep[i];
  return s >= 0 && position > tangentPass.start + s ? data.tangent.total[s] : null;
}

function isTangentPass(position) {
  return tangentPass.length > 0 && position > tangentPass.start;
}

// What happens in the step that leads to a position: which node, what it reads, what it writes.
function stepAt(position) {
  if (position <= 0) return null;
  const pass = position <= backwardPass.start ? forwardPass
    : position <= tangentPass.start ? backwardPass : tangentPass;
  const number = position - pass.start;  // from 1
  const s = number - 1;
  if (pass === forwardPass) {
    return { pass, number, node: s, reads: parentsOf(s), writes: [{ id: s, column: "value" }] };
  }
  if (pass === tangentPass) {
    const node = data.tangent.node[s];
    return { pass, number, node, reads: parentsOf(node), writes: [{ id: node, column: "tangent" }] };
  }
  const node = data.backward.node[s];
  const written = [];
  for (let k = data.backward.offset[s]; k < data.backward.offset[s + 1]; k++) {
    written.push({ id: data.backward.to[k], column: "adjoint", write: k });
  }
  const isSeed = s === 0;
  return { pass, number, node, isSeed, reads: isSeed ? [] : parentsOf(node), writes: written };
}

// ---- texts ----

const text = (index) => nodes.texts[index];
const nameOf = (i) => nodes.names[i] || "";
const opOf = (i) => text(nodes.op[i]);
const isLeaf = (i) => nodes.operands[i].length === 0 && (opOf(i) === "param" || opOf(i) === "input");
const isParam = (i) => (nodes.flags[i] & PARAM) !== 0;
const isActive = (i) => (nodes.flags[i] & ACTIVE) !== 0;
const rulesOf = (i) => (nodes.rule[i] < 0 ? null : nodes.rules[nodes.rule[i]]);
const placeOf = (i) => data.sources.places[data.sources.of[i]] || null;

function number(x, digits = 6) {
  if (typeof x !== "number") return x === null ? "" : x;
  if (Number.isInteger(x) && Math.abs(x) < 1e7) return String(x);
  return String(Number(x.toPrecision(digits)));
}

// Numbers of double precision are what there is without a word.
const typeOf = (type) => (type === "float64[]" ? "" : type);

function operandsText(i) {
  const parts = nodes.operands[i].map((operand) => (typeof operand === "number" ? `%${operand}` : operand));
  if (text(nodes.attrs[i])) parts.push(text(nodes.attrs[i]));
  return `(${parts.join(", ")})`;
}

function thousands(n) {
  return n.toLocaleString("en");
}

// An element with classes, attributes and content: texts become text nodes, whatever they hold.
function element(tag, attributes = {}, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else made.setAttribute(name, value);
  }
  made.append(...content);
  return made;
}
