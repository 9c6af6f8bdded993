// Windows: two dials, how far a word sees back and how many layers there are, and the first word or not.
"use strict";
{
  const { define, number, range, sum, mixed } = bookFigures;

  define("windows", {
    compute({ left, layers, first }, { count, clue }) {
      const places = range(0, count - 1), wide = Math.round(left), deep = Math.round(layers);
      const mask = places.map((i) => places.map((j) => Number((j <= i && j >= i - wide) || (first && j === 0))));
      const alike = mask.map((row) => row.map((may) => may / sum(row)));
      let through = alike; // what of each word is in each after so many layers
      for (let n = 1; n < deep; n++) through = through.map((row) => mixed(row, alike));
      const shares = through[count - 1];
      return {
        seen: mask.map((row, i) => row.map((may, j) => may + Number(through[i][j] > 0))), shares, share: shares[clue],
        keys: Math.min(count, wide + 1 + Number(first)), back: Math.min(wide * deep, count - 1),
      };
    },

    dials: { left: ({ left }) => String(Math.round(left)), layers: ({ layers }) => String(Math.round(layers)) },

    draw(view, _, { seen, shares }, { data: { strength } }) {
      seen.forEach((row, i) => row.forEach((how, j) => view.set(`cell-${i}-${j}`, { "fill-opacity": strength[Math.round(how)] })));
      shares.forEach((share, j) => {
        view.text(`share-text-${j}`, number(share));
        view.set(`share-${j}`, { "fill-opacity": 0.8 * share });
      });
    },

    says: (_, { keys, back, share }) => ({ keys: String(keys), back: String(back), share: number(share) }),
  });
}
