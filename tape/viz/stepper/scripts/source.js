// The source lines that recorded the tape, by file; the line of the step, and the expression in it, stand out.

const source = (() => {
  const pane = document.getElementById("source");
  const { places, files, of } = data.sources;
  const lines = new Map();  // by file and line: the element, its text, and the nodes recorded there
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
    files.forEach((file, f) => {
      pane.append(element("h3", { class: "file", title: file.path }, file.name));
      if (!file.lines.length) pane.append(element("p", { class: "hint" }, "Its lines are not to be had."));
      let previous = null;
      for (const [line, content] of file.lines) {
        if (previous !== null && line > previous + 1) pane.append(element("div", { class: "gap" }, "⋯"));
        previous = line;
        const ids = recorded.get(key(f, line)) || [];
        const code = element("code", {}, content || " ");
        const made = element("div", { class: ids.length ? "line recorded" : "line" },
          element("span", { class: "number" }, String(line)),
          element("span", { class: "uses" }, ids.length > 1 ? `×${compact(ids.length)}` : ""), code);
        if (ids.length) {
          made.title = `${thousands(ids.length)} node${ids.length > 1 ? "s" : ""} recorded here`;
          made.addEventListener("click", () => chooseNext(ids));
        }
        lines.set(key(f, line), { made, code, content, ids });
        pane.append(made);
      }
    });
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
    if (begin >= 0 && end <= line.content.length) {
      line.code.replaceChildren(line.content.slice(0, begin),
        element("mark", {}, line.content.slice(begin, end)), line.content.slice(end));
    }
    marked = line;
    const expression = line.code.querySelector("mark");
    const left = expression ? expression.offsetLeft : 0;
    pane.scrollLeft = left < 0.7 * pane.clientWidth ? 0 : left - 120;
    const top = line.made.offsetTop - pane.offsetTop;
    if (top < pane.scrollTop + 30 || top > pane.scrollTop + pane.clientHeight - 50) {
      pane.scrollTop = top - pane.clientHeight / 2;
    }
  }

  build();
  return { mark };
})();
