// Temperature: one dial; the weights of scores follow it from one choice to equal shares.
"use strict";
{
  const { define, number, vector, softmax, sum, mixed } = bookFigures;
  const short = (value) => String(Number(value.toPrecision(3)));
  const share = (value) => (value > 0 && value < 0.005 ? "< 0.01" : number(value)); // no weight is 0

  define("temperature", {
    below: "[font-weight][text-anchor=middle]:not([class])", // the titles of numbers above them

    compute({ at }, { scores, inverse, values }) {
      const weights = scores.map((row) => softmax(row.map((score) => (inverse ? score * at : score / at))));
      const entropy = weights.map((row) => -sum(row.map((p) => p && p * Math.log(p))));
      return { weights, entropy, found: values ? weights.map((row) => mixed(row, values)) : [] };
    },

    dials: { at: (state) => short(state.at) },

    draw(view, { at }, { weights, entropy }, { data }) {
      const x = Math.log10(at), [, base] = view.place("columns", [0, 0]);
      view.move("now", view.place("curves", [x, 1]));
      data.curves.forEach(([i, j], k) => view.move(`dot-${k}`, view.place("curves", [x, weights[i][j]])));
      weights.forEach((row, i) => row.forEach((weight, j) => {
        const [, y] = view.place("columns", [0, weight]), part = `share-${i}-${j}`;
        view.set(`column-${i}-${j}`, { y, height: base - y });
        view.text(part, view.frames.entropy ? share(weight) : number(weight));
        view.move(part, [Number(view.parts[part][0].dataset.at.split(" ")[0]), y]);
      }));
      if (view.frames.entropy) {
        view.set("entropy", { width: view.frames.entropy[0] * entropy[0] / Math.log(weights[0].length) });
        view.text("spread", number(entropy[0]));
      }
    },

    says({ at }, { weights, entropy, found }) {
      const said = { at: short(at) };
      weights.forEach((row, i) => {
        Object.assign(said, { [`weights_${i}`]: `(${row.map(share).join(", ")})`, [`ratio_${i}`]: share(Math.min(...row) / Math.max(...row)), [`entropy_${i}`]: number(entropy[i]) });
        if (found[i]) said[`found_${i}`] = vector(found[i], 0);
      });
      return said;
    },
  });
}
