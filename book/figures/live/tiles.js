// Tiles: one tile of the table of scores at a time, and the state that each query keeps.
"use strict";
{
  const { define, number, sum, dot } = bookFigures;
  const STATE = [["m", 0], ["ℓ", 2], ["o", 2]];
  const place = ({ tile }, { keys, size }) => {
    const n = Math.round(tile) - 1, beside = keys.length / size;
    return [Math.floor(n / beside), n % beside];
  };

  function go(figure, way) {
    const { queries, keys, size } = figure.data, count = queries.length * keys.length / size ** 2;
    figure.put({ tile: (Math.round(figure.state.tile) - 1 + way + count) % count + 1 });
  }

  define("tiles", {
    compute(state, data) {
      const { queries, keys, values, size } = data, [row, column] = place(state, data);
      const states = queries.map((query, i) => {
        const block = Math.floor(i / size), seen = block < row ? keys.length : block > row ? 0 : size * (column + 1);
        const scores = keys.slice(0, seen).map((key) => query * key), m = Math.max(...scores);
        const parts = scores.map((score) => Math.exp(score - m)), total = sum(parts);
        return [m, total, seen ? dot(parts, values) / total : 0];
      });
      return { states, gone: (Math.round(state.tile) - 1) * size ** 2 };
    },

    acts: { next: (figure) => go(figure, 1), back: (figure) => go(figure, -1) },

    draw(view, _, { states }, { state, data }) { // steps do not glide
      const { queries, keys, size } = data, [row, column] = place(state, data), [left, top, wide, up] = view.frames.table;
      const block = (i) => Math.floor(i / size), beside = keys.length / size;
      keys.forEach((_, j) => ["key", "value"].forEach((role) => view.look(`${role}-${j}`, "chosen", block(j) === column)));
      queries.forEach((query, i) => {
        view.look(`query-${i}`, "chosen", block(i) === row);
        keys.forEach((key, j) => {
          const at = `${i}-${j}`, score = query * key, late = (block(i) - row) * beside + block(j) - column;
          view.text(`score-text-${at}`, late ? (late < 0 ? "·" : " ") : number(score, 0));
          view.look(`score-${at}`, "negative", !late && score < 0);
          view.set(`score-${at}`, { "fill-opacity": late ? 0 : 0.1 + 0.1 * Math.abs(score) });
        });
        STATE.forEach(([name, digits], n) => {
          const shown = block(i) === row || (name === "o" && block(i) < row);
          view.text(`${name}-text-${i}`, shown ? number(states[i][n], digits) : " ");
          view.set(`${name}-${i}`, { "fill-opacity": shown ? 0.1 : 0 });
        });
      });
      const [x, y] = [left + column * size * wide, top - row * size * up], right = x + size * wide, low = y - size * up;
      view.path("tile", [[x, y], [right, y], [right, low], [x, low]], true);
    },

    says(_, { gone }, { state, data }) {
      const { keys, size } = data, [row, column] = place(state, data), span = (block) => `${block * size}–${(block + 1) * size - 1}`;
      return {
        tile: String(Math.round(state.tile)), queries: span(row), keys: span(column), gone: String(gone),
        done: column + 1 < keys.length / size ? "" : `Queries ${span(row)} have seen all keys, and o is their output.`,
      };
    },
  });
}
