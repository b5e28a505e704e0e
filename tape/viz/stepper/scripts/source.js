// The source lines that recorded the tape, by file, without the indentation that neighbours share; the line of the
// step, and the expression in it, stand out.

const source = (() => {
  const pane = document.getElementById("source");
  const { places, files, of } = data.sources;
  const MARGIN = 12;
  const lines = new Map();  // by file and line: its elements, its text, and how much indentation that is without
  let marked = null;

  const compact = (n) => n.toLocaleString("en", { notation: "compact" });
  const key = (file, line) => `${file}:${line}`;

  function build() {
    pane.append(element("h2", { class: "pane-title" }, "Source"));
    if (!files.length) {
      pane.append(element("p", { class: "hint" }, "Where each node was recorded is not known. Record with ",
        element("code", {}, "tape.Trace(sites=True)"), " or inside ", element("code", {}, "with tape.debug():"),
        ", and the lines appear here."));
      return;
    }
    const recorded = new Map();
    for (let i = 0; i < count; i++) {
      if (of[i] < 0) continue;
      const [file, line] = places[of[i]];
      const name = key(file, line);
      if (!recorded.has(name)) recorded.set(name, []);
      recorded.get(name).push(i);
    }
    const listing = element("div", { class: "listing" });  // as wide as the longest line
    files.forEach((file, f) => {
      listing.append(element("h3", { class: "file", title: file.path }, file.name));
      if (!file.lines.length) listing.append(element("p", { class: "hint" }, "Its lines are not to be had."));
      neighbours(file.lines).forEach((group, k) => {
        if (k) listing.append(element("div", { class: "gap" }, "⋯"));
        const indent = indentation(group);
        for (const [line, content] of group) {
          listing.append(row(f, line, content.slice(indent), indent, recorded.get(key(f, line)) || []));
        }
      });
    });
    const longest = (name) => Math.max(0, ...[...listing.querySelectorAll(name)].map((e) => e.textContent.length));
    for (const name of ["number", "uses"]) listing.style.setProperty(`--${name}`, `${longest(`.${name}`)}ch`);
    pane.append(listing);
  }

  // Runs of lines that follow each other in the file.
  function neighbours(all) {
    const groups = [];
    all.forEach(([line, content], k) => {
      if (!k || line > all[k - 1][0] + 1) groups.push([]);
      groups.at(-1).push([line, content]);
    });
    return groups;
  }

  function indentation(group) {
    const filled = group.map(([, content]) => content).filter((content) => content.trim());
    return filled.length ? Math.min(...filled.map((content) => content.search(/\S/))) : 0;
  }

  function row(f, line, content, indent, ids) {
    const code = element("code", {}, content || " ");
    const made = element("div", { class: ids.length ? "line recorded" : "line" },
      element("span", { class: "gutter" }, element("span", { class: "number" }, String(line)),
        element("span", { class: "uses" }, ids.length > 1 ? `×${compact(ids.length)}` : "")), code);
    if (ids.length) {
      made.title = `${thousands(ids.length)} node${ids.length > 1 ? "s" : ""} recorded here`;
      made.addEventListener("click", () => chooseNext(ids));
    }
    lines.set(key(f, line), { made, code, content, indent });
    return made;
  }

  // Of the nodes of a line the one after the chosen one, and after the last the first.
  function chooseNext(ids) {
    const after = ids.find((i) => i > state.chosen);
    choose(after === undefined ? ids[0] : after);
  }

  function unmark() {
    if (!marked) return;
    marked.made.classList.remove("now");
    marked.code.textContent = marked.content || " ";
    marked = null;
  }

  function mark(i) {
    const place = i >= 0 ? placeOf(i) : null;
    unmark();
    if (!place) return;
    const [file, number, begin, end] = place;
    const line = lines.get(key(file, number));
    if (!line) return;
    line.made.classList.add("now");
    const [from, to] = [begin - line.indent, end - line.indent];
    if (from >= 0 && to <= line.content.length) {
      line.code.replaceChildren(line.content.slice(0, from),
        element("mark", {}, line.content.slice(from, to)), line.content.slice(to));
    }
    marked = line;
    show(line);
  }

  // Sideways by as few characters as it takes to see the expression, or its beginning if it is too long.
  function show(line) {
    const expression = line.code.querySelector("mark");
    pane.scrollLeft = expression ? hidden(line.code, expression) : 0;
    const top = line.made.offsetTop - pane.offsetTop;
    if (top < pane.scrollTop + 30 || top > pane.scrollTop + pane.clientHeight - 50) {
      pane.scrollTop = top - pane.clientHeight / 2;
    }
  }

  function hidden(code, expression) {
    const before = expression.offsetLeft - code.offsetLeft;
    const beyond = expression.offsetLeft + expression.offsetWidth + MARGIN - pane.clientWidth;
    const character = expression.getBoundingClientRect().width / expression.textContent.length;
    return Math.max(0, Math.min(before, Math.ceil(beyond / character) * character));
  }

  build();
  return { mark };
})();
