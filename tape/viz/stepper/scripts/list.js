// The table: a virtual list, which has elements for the visible rows only, and gives them new texts as it is
// scrolled or stepped.

const list = (() => {
  const scroller = document.getElementById("tape");
  const rows = document.getElementById("rows");
  const head = scroller.querySelector(".head");
  const HEIGHTS = [17, 20, 24, 28, 34, 42];
  const AROUND = 4;  // rows beyond the window, so that scrolling finds them there
  const COLUMNS = ["id", "name", "made", "type", "value", "adjoint", "tangent"];
  // How wide each may be, in characters: what holds numbers has room for a sum.
  const longest = (texts, most) => texts.reduce((so, one) => Math.max(so, Math.min(most, one.length)), 0);
  const types = [...new Set(nodes.type)].map((index) => typeOf(text(index)));
  const widths = {
    id: `${String(count).length + 2}ch`,
    name: `${Math.max(6, longest(Object.values(nodes.names), 14))}ch`,
    made: "minmax(10ch, 2.4fr)",
    type: `minmax(8ch, ${longest(types, 21)}ch)`,
    value: "minmax(9ch, 1.9fr)",
    adjoint: "minmax(10ch, 2.1fr)",
    tangent: "minmax(9ch, 1.8fr)",
  };
  const pool = [];
  let zoom = 3;
  let row = HEIGHTS[zoom];

  // Which columns there are: as many as have something to show, and fit.
  function columnsAt(position) {
    const width = scroller.clientWidth;
    return COLUMNS.filter((column) => {
      if (column === "name") return Object.keys(nodes.names).length > 0 && width > 420;
      if (column === "type") return types.some(Boolean) && width > 760;
      if (column === "adjoint") return backwardPass.length > 0 && (!isTangentPass(position) || width > 560);
      if (column === "tangent") return isTangentPass(position);
      return true;
    });
  }

  let columns = "";

  function arrange(position) {
    const shown = columnsAt(position);
    if (columns === shown.join()) return;
    columns = shown.join();
    const places = shown.map((column) => widths[column]).join(" ");
    document.documentElement.style.setProperty("--columns", `var(--gutter) ${places}`);
    for (const column of COLUMNS) {
      for (const cell of scroller.querySelectorAll(`.cell.${column}`)) cell.hidden = !shown.includes(column);
    }
  }

  // A number that is finite is a number in the data; all else is a text.
  const isNonfinite = (content) => typeof content === "string" && /nan|inf/.test(content);

  function writeNumber(cell, content) {
    write(cell, number(content));
    const isOdd = isNonfinite(content);
    if (cell.isOdd === isOdd) return;
    cell.isOdd = isOdd;
    cell.classList.toggle("nonfinite", isOdd);
  }

  // Texts and classes are compared with what they were: to leave an element alone costs next to nothing.
  function write(cell, content) {
    if (cell.shown === content) return;
    cell.shown = content;
    cell.textContent = content;
  }

  function classify(made, name) {
    if (made.named === name) return;
    made.named = name;
    made.className = name;
  }

  function newRow() {
    const made = element("div", { class: "row", role: "row" });
    made.cells = { gutter: element("span", { class: "cell gutter" }) };
    made.append(made.cells.gutter);
    for (const column of COLUMNS) {
      const cell = element("span", { class: `cell ${column}`, role: "gridcell" });
      if (column === "made") {
        cell.op = element("b");
        cell.operands = element("span", { class: "operands" });
        cell.append(cell.op, cell.operands);
      }
      cell.hidden = !columns.split(",").includes(column);
      made.cells[column] = cell;
      made.append(cell);
    }
    rows.append(made);
    return made;
  }

  // The adjoint as it is being added to: what there was, what comes, what that makes.
  function adjointText(i, view) {
    const now = adjointAt(i, view.position);
    if (now === null || typeof now !== "number" || !view.step) return number(now);
    const mine = view.step.writes.filter((write) => write.id === i && write.column === "adjoint");
    if (!mine.length) return number(now);
    const before = adjointAt(i, view.position - 1);
    const added = mine.map((write) => data.backward.added[write.write]);
    const parts = (before === null ? added : [before, ...added]).map((part) => number(part, 5));
    return parts.length > 1 ? `${parts.join(" + ").replaceAll("+ -", "− ")} = ${number(now)}` : number(now);
  }

  function fill(made, i, view) {
    const { position, step, chosen, matches } = view;
    const { cells } = made;
    made.node = i;
    if (made.at !== i * row) {
      made.at = i * row;
      made.style.transform = `translateY(${made.at}px)`;
    }
    made.isUsed = true;
    made.id = `row-${i}`;
    made.setAttribute("aria-rowindex", i + 2);
    made.setAttribute("aria-selected", chosen === i);
    write(cells.id, `%${i}`);
    write(cells.name, nameOf(i));
    const isNamed = cells.name.hidden && nameOf(i);  // where there is no room for a column of names
    write(cells.made.op, isNamed ? nameOf(i) : opOf(i));
    write(cells.made.operands, isNamed ? ` ${opOf(i)}` : isLeaf(i) ? "" : operandsText(i));
    write(cells.type, typeOf(text(nodes.type[i])));
    writeNumber(cells.value, valueAt(i, position));
    writeNumber(cells.adjoint, adjointText(i, view));
    writeNumber(cells.tangent, tangentAt(i, position));
    const isRead = step && step.reads.includes(i);
    let written = "";
    if (step) for (const one of step.writes) if (one.id === i) written = one.column;
    classify(made, [
      "row",
      isActive(i) ? "" : "inactive",
      i === data.root ? "root" : "",
      step && step.node === i ? "now" : isRead ? "read" : "",
      written ? `writes-${written}` : "",
      chosen === i ? "chosen" : "",
      matches.has(i) ? "match" : "",
    ].filter(Boolean).join(" "));
  }

  function render(view) {
    arrange(view.position);
    const top = scroller.scrollTop;
    const height = scroller.clientHeight - head.offsetHeight;
    const first = Math.max(0, Math.floor(top / row) - AROUND);
    const last = Math.min(count - 1, Math.ceil((top + height) / row) + AROUND);
    while (pool.length < last - first + 1) pool.push(newRow());
    for (const made of pool) made.isUsed = false;
    // A node keeps its element while it is scrolled through the window.
    for (let i = first; i <= last; i++) fill(pool[i % pool.length], i, view);
    for (const made of pool) {
      if (made.hidden === made.isUsed) made.hidden = !made.isUsed;
      if (!made.isUsed) made.removeAttribute("id");
    }
    if (view.chosen >= first && view.chosen <= last) {
      scroller.setAttribute("aria-activedescendant", `row-${view.chosen}`);
    } else scroller.removeAttribute("aria-activedescendant");
    const from = first * row;
    arcs.draw({ ...view, first, last, top: from, height: (last - first + 1) * row, row });
  }

  // Bring a node into view; into the middle if it is far away.
  function show(i) {
    const height = scroller.clientHeight - head.offsetHeight;
    const above = i * row - scroller.scrollTop;
    if (above >= row && above <= height - 2 * row) return;
    const isNear = above > -3 * row && above < height + 3 * row;
    scroller.scrollTop = isNear
      ? scroller.scrollTop + (above < row ? above - row : above - height + 2 * row)
      : (i + 0.5) * row - height / 2;
  }

  function measure() {
    document.documentElement.style.setProperty("--row", `${row}px`);
    document.documentElement.style.setProperty("--gutter", `${arcs.width(row)}px`);
    rows.style.height = `${count * row}px`;
  }

  function zoomBy(change) {
    const middle = (scroller.scrollTop + scroller.clientHeight / 2) / row;
    zoom = Math.min(HEIGHTS.length - 1, Math.max(0, zoom + change));
    row = HEIGHTS[zoom];
    measure();
    scroller.scrollTop = middle * row - scroller.clientHeight / 2;
  }

  scroller.setAttribute("aria-rowcount", count + 1);
  measure();
  return { render, show, measure, zoomBy, scroller };
})();
