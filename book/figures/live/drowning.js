// The average drowns: one dial, the number of words that say nothing; two arrows follow.
"use strict";
{
  const { define, number, softmax, dot } = bookFigures;

  define("drowning", {
    // A word that says nothing is zeros: its score is 0, and it adds nothing to what is heard.
    compute({ silent }, { word, clue }) {
      const n = Math.round(silent), heardBy = (share) => word.map((x, axis) => share * (x + clue[axis]));
      const shares = [1 / (n + 2), softmax([dot(word, clue), dot(word, word), ...Array(n).fill(0)])[0]];
      const heard = shares.map(heardBy), leans = heard.map(([money, water]) => water - money);
      return { shares, heard, leans, ratio: leans[1] / leans[0] };
    },

    dials: { silent: ({ silent }) => String(Math.round(silent)) },

    draw(view, state, { shares, heard, leans }, { data: { names } }) {
      shares.forEach((share, k) => {
        const [left, full] = view.frames[`bar-${k}`], place = (at) => view.place(`plane-${k}`, at);
        [0, 1].forEach((j) => view.set(`share-${k}-${j}`, { x: left + j * full * share, width: full * share }));
        view.text(`each-${k}`, `${names.join(" and ")}, ${number(share)} each`);
        view.arrow(`to-${k}`, place([0, 0]), place(heard[k]));
        view.text(`lean-${k}`, `leans ${number(leans[k])}`);
      });
    },

    says({ silent }, { leans, ratio }) {
      const n = Math.round(silent);
      return { silent: String(n), words: n === 1 ? "word that says" : "words that say", lean_0: number(leans[0]), lean_1: number(leans[1]), ratio: number(ratio) };
    },
  });
}
