// What is spoken of a figure that answers back when nothing in it moves any more: its sentence, and each number of the
// drawing that has changed. For who goes there to hear them, all numbers stand beside the drawing.
bookFigures.hear = (() => {
  "use strict";
  const NUMBER = /\d|NaN|∞/; // the sentence may have the same for something else

  // The texts of a drawing that are asked for, panel by panel and row by row, each with the bold title of its panel,
  // the name of its row and that of its column; in rows without a name, all numbers of a kind if one is asked for, or
  // who hears it would not know which. Titles stand above their numbers, or `below` them.
  function read(svg, asked, { untitled, below: under }) {
    const all = [...svg.querySelectorAll("text")].flatMap((one) => {
      const { x, y, width, height, right } = one.getBoundingClientRect(), words = one.textContent.trim();
      const { part, at } = one.dataset, kind = part?.replace(/\d/g, "");
      const name = !at && /^\p{L}[^→\d]{0,12}\d?$/u.test(words);
      const title = !untitled && !at && /^\p{L}/u.test(words) && one.matches(under || "[font-weight]:not([text-anchor])");
      const end = one.matches("[text-anchor=end]") && right, middle = { x: x + width / 2, y: y + height / 2 };
      const seen = width && words && getComputedStyle(one).visibility === "visible";
      return seen ? [{ one, words, name, kind, title, left: x, end, near: height / 2, ...middle }] : [];
    });
    const level = (a, b) => Math.abs(a.y - b.y) < a.near;
    const below = (a, b) => Math.abs(a.x - b.x) < a.near || (a.end && b.end && Math.abs(a.end - b.end) < a.near);
    all.sort((a, b) => (level(a, b) ? a.x - b.x : a.y - b.y));
    const titles = all.filter((one) => one.title);
    all.forEach((text, i) => {
      const last = all[i - 1];
      if (last && level(last, text)) text.beside = last.name ? last : last.beside;
      const far = (one) => Math.abs(one.x - text.x);
      if (under) [text.panel] = [...titles].sort((a, b) => far(a) - far(b));
      else text.panel = all.slice(0, i + 1).filter((one) => one.title && one.left < text.x).at(-1);
    });
    const alike = (a, b) => !a.beside && !b.beside && a.kind === b.kind && a.panel === b.panel;
    const chosen = all.filter((one) => one.kind && one !== one.panel && asked(one));
    const wanted = all.filter((one) => chosen.includes(one) || (NUMBER.test(one.words) && chosen.some((other) => alike(one, other))));
    const panels = [undefined, ...titles];
    let row, now, said = "";
    for (const text of panels.flatMap((panel) => wanted.filter((one) => one.panel === panel))) {
      const { words, y, kind, panel } = text, named = text.name || text.one.dataset.at || words.startsWith("=");
      const own = panel && text.beside === panel, beside = named || own ? undefined : text.beside;
      const same = panel === now && beside === row, among = !own && /^[−(\d∞N]/.test(words) ? all : [];
      const column = among.filter((one) => one.kind !== kind && !level(one, text) && below(text, one));
      const head = column.filter((one) => one.name && one.y < y).at(-1) || (!beside && column.find((one) => one.y > y));
      if (said) said += same ? ", " : ". ";
      if (panel && panel !== now) said += panel.words + (beside ? ", " : ": ");
      if (beside && !same) said += `${beside.words}: `;
      said += (head?.name && head !== panel ? `${head.words} ` : "") + words;
      [row, now] = [beside, panel];
    }
    return said && `${said}. `;
  }

  function hear(figure) {
    const { root, status, before } = figure, sentence = root.querySelector(".says"), says = sentence.innerText.trim();
    const all = (asked) => figure.views.map(({ svg }) => read(svg, asked, figure.kind)).join("");
    const moved = ({ one, words }) => before.get(one) !== words;
    const fresh = all((text) => moved(text) && (NUMBER.test(text.words) || (text.words !== "·" && !says.includes(text.words))));
    status.textContent = before.get(sentence) === says ? `${fresh}Still: ${says}` : `${says} ${fresh}`;
    figure.drawn.textContent = all(({ words }) => NUMBER.test(words));
    figure.before = figure.words();
    clearTimeout(figure.quiet);
    figure.quiet = setTimeout(() => { status.textContent = ""; }, 2000); // or the sentence would stand there twice
  }

  for (const figure of bookFigures.figures) {
    figure.status = bookPage.make("p", { role: "status", class: "unseen" });
    figure.drawn = bookPage.make("p", { class: "unseen" });
    figure.root.append(figure.status);
    figure.picture.after(figure.drawn);
  }
  setTimeout(() => bookFigures.figures.filter(({ root }) => root.matches(".touched")).forEach(hear), 100); // a reader knows them then
  return hear;
})();
