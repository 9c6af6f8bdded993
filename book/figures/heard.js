// What is spoken of a figure that answers back when nothing in it moves any more: its sentence, and what has changed
// in the drawing and is not in the sentence. For who goes there to hear them, all numbers stand beside the drawing.
bookFigures.hear = (() => {
  "use strict";
  const terms = (text) => text.match(/[−\d.]*\d|\p{L}+|∞/gu) || [];

  // The texts of a drawing that are asked for, row by row, each with the name of its row and of its column.
  function read(svg, asked) {
    const all = [...svg.querySelectorAll("text")].flatMap((one) => {
      const { x, y, width, height } = one.getBoundingClientRect(), words = one.textContent.trim(), { part, at } = one.dataset;
      const name = !at && /^\p{L}[^→\d]{0,12}\d?$/u.test(words), kind = part?.replace(/\d/g, "");
      return width && words && getComputedStyle(one).visibility === "visible" ? [{ one, words, name, kind, x: x + width / 2, y: y + height / 2, near: height / 2 }] : [];
    });
    const level = (a, b) => Math.abs(a.y - b.y) < a.near;
    all.sort((a, b) => (level(a, b) ? a.x - b.x : a.y - b.y)).forEach((text, i) => {
      const last = all[i - 1];
      if (last && level(last, text)) text.beside = last.name ? last : last.beside;
    });
    let row, said = "";
    for (const text of all.filter((one) => one.kind && asked(one))) {
      const { words, x, y, near, kind } = text, beside = text.name || text.one.dataset.at || words.startsWith("=") ? undefined : text.beside;
      const column = /^[−(\d∞N]/.test(words) ? all.filter((one) => one.kind !== kind && !level(one, text) && Math.abs(one.x - x) < near) : [];
      const head = column.filter((one) => one.name && one.y < y).at(-1) || (!beside && column.find((one) => one.y > y));
      if (said) said += beside?.words === row ? ", " : ". ";
      if (beside && beside.words !== row) said += `${beside.words}: `;
      said += (head?.name ? `${head.words} ` : "") + words;
      row = beside?.words;
    }
    return said && `${said}. `;
  }

  function hear(figure) {
    const { root, status, before } = figure, sentence = root.querySelector(".says"), says = sentence.innerText.trim(), known = terms(says);
    const all = (asked) => figure.views.map(({ svg }) => read(svg, asked)).join("");
    const fresh = all(({ one, words }) => before.get(one) !== words && terms(words).some((term) => !known.includes(term)));
    status.textContent = before.get(sentence) === says ? `${fresh}Still: ${says}` : `${says} ${fresh}`;
    figure.drawn.textContent = all(({ words }) => /\d|NaN|∞/.test(words));
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
