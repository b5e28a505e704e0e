// Search: which nodes match what was typed, and going through them.

const search = (() => {
  const form = document.getElementById("search"), query = document.getElementById("query");
  const found = document.getElementById("found");
  const buttons = [document.getElementById("previous-match"), document.getElementById("next-match")];
  let matches = [];

  function whereOf(i) {
    const place = placeOf(i);
    return place ? `${data.sources.files[place[0]].path}:${place[1]}` : "";
  }

  // A whole word that stands for a kind of node comes before a name that contains it.
  function test(words) {
    if (/^%\d+$/.test(words)) return (i) => i === Number(words.slice(1));
    if (words === "nan" || words === "inf") return (i) => (nodes.flags[i] & NONFINITE) !== 0;
    if (words === "root") return (i) => i === data.root;
    return (i) => [nameOf(i), opOf(i), text(nodes.scope[i]), text(nodes.type[i])]
      .some((one) => one.toLowerCase().includes(words)) || endsAt(whereOf(i).toLowerCase(), words);
  }

  // "model.py:1" is line 1, not line 12.
  function endsAt(where, words) {
    return /:\d+$/.test(words) ? where.endsWith(words) : where.replace(/:\d+$/, "").split(/[\\/]/).pop().includes(words);
  }

  function run() {
    const words = query.value.trim().toLowerCase();
    matches = [];
    if (words) {
      const fits = test(words);
      for (let i = 0; i < count; i++) if (fits(i)) matches.push(i);
    }
    state.matches = new Set(matches);
    if (matches.length) choose(matches.find((i) => i >= Math.max(0, state.chosen)) ?? matches[0]);
    else update();
    tell();
  }

  function tell() {
    const at = matches.indexOf(state.chosen);
    found.textContent = !query.value.trim() ? "" : !matches.length ? "none"
      : at < 0 ? thousands(matches.length) : `${thousands(at + 1)} / ${thousands(matches.length)}`;
    for (const button of buttons) button.disabled = !matches.length;
  }

  // Through the matches in circles, from the chosen node on.
  function go(direction) {
    if (!matches.length) return;
    const next = direction > 0
      ? matches.find((i) => i > state.chosen) : matches.findLast((i) => i < state.chosen);
    choose(next === undefined ? matches.at(direction > 0 ? 0 : -1) : next);
    tell();
  }

  query.addEventListener("input", run);
  query.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      go(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      query.value = "";
      run();
      query.blur();
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go(1);
  });
  buttons[0].addEventListener("click", () => go(-1));
  return { go, focus: () => { query.focus(); query.select(); } };
})();
