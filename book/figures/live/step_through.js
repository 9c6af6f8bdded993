// Step through: word by word, what is computed from scratch and what with a cache.
"use strict";
{
  const { define } = bookFigures;
  const whole = (words) => Math.round(words); // an address may name any number
  const go = (figure, way) => {
    const count = figure.data.words.length;
    figure.put({ words: (whole(figure.state.words) - 1 + way + count) % count + 1 });
  };

  define("step_through", {
    compute(state, data) {
      const words = whole(state.words);
      return {
        word: data.words[words - 1],
        rows: { scratch: words, cached: 1 },
        products: { scratch: data.products[0][words - 1], cached: data.products[1][words - 1] },
      };
    },

    acts: { next: (figure) => go(figure, 1), back: (figure) => go(figure, -1) },

    dials: { words: (state, { word }) => `${whole(state.words)}, ${word}` },

    draw(view, _, __, { state, result: { rows, products }, data }) { // steps do not glide
      const words = whole(state.words);
      for (let i = 0; i < data.words.length; i++) {
        view.look(`row-${i}`, "chosen", i === words - 1);
        view.look(`row-${i}`, "soft", i !== words - 1);
        for (const part of [`row-${i}`, `word-${i}`]) view.show(part, i < words);
        for (const name of ["scratch", "cached"]) {
          for (const part of [`${name}-${i}`, `${name}-kept-${i}`]) {
            view.show(part, i < words);
            view.look(part, "reused", i < words - rows[name]);
          }
        }
      }
      for (const name of ["scratch", "cached"]) {
        const [x, y, right, up] = view.frames[name], top = y - up * (words - rows[name]), low = y - up * words;
        view.path(`${name}-now`, [[x, top], [right, top], [right, low], [x, low]], true);
        view.text(`${name}-sum`, `${products[name]} multiplications so far`);
      }
      view.text("scratch-note", `keys and values: ${words} computed`);
      view.text("cached-note", `keys and values: 1 computed, ${words - 1} kept`);
    },

    says(_, __, { result: { word, rows, products } }) {
      return {
        word: word[0].toUpperCase() + word.slice(1), rows: rows.scratch === 1 ? "1 row" : `${rows.scratch} rows`,
        scratch: String(products.scratch), cached: String(products.cached),
      };
    },
  });
}
