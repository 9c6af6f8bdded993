// Three planes: drag what a word asks, what another is found by, or what that one gives.
"use strict";
{
  const { define, number, vector, softmax, dot, mixed } = bookFigures;
  const DOWN = 62;

  const handle = (key, frame, name) => ({ key, frame, name, label: `name-${key}` });

  define("three_planes", {
    untitled: true, // no bold words are the title of numbers below them

    compute({ query, key, value }, { x, keys, values, clue }) {
      const rows = values.map((row, j) => (j === clue ? [...value, ...row.slice(2)] : row));
      const scores = keys.map((own, j) => dot(query, j === clue ? key : own));
      const weights = softmax(scores.map((score) => score / Math.SQRT2));
      const heard = mixed(weights, rows);
      return { scores, weights, heard, becomes: x.map((was, axis) => was + heard[axis]) };
    },

    handles: ({ words, asker, clue }) => [
      handle("query", "asks", `what ${words[asker]} asks`),
      handle("key", "found", `what ${words[clue]} is found by`),
      handle("value", "gives", `what ${words[clue]} gives`),
    ],

    draw(view, { query, key, value }, { scores, weights, heard }, { data: { words, asker, clue } }) {
      for (const [part, frame] of [["query", "asks"], ["echo", "found"]]) view.arrow(part, view.place(frame, [0, 0]), view.place(frame, query));
      view.arrow("heard", view.place("gives", [0, 0]), view.place("gives", heard));
      view.move("name-heard", view.place("gives", heard));
      view.move("name-query", view.place("asks", query));
      for (const [role, frame, at] of [["key", "found", key], ["value", "gives", value]]) {
        for (const part of [role, `name-${role}`]) view.move(part, view.place(frame, at));
      }
      view.text("sum", query.map((one, axis) => `${number(one)} × ${number(key[axis])}`).join(" + "));
      view.text("score", `= ${number(scores[clue])}, ÷ √2 = ${number(scores[clue] / Math.SQRT2)}`);
      const [pitch, full, top] = view.frames.ribbons;
      let end = (view.width - full) / 2;
      weights.forEach((weight, j) => {
        const wide = full * weight;
        view.ribbon(`ribbon-${j}`, [(j + 0.5) * pitch, top], [end + wide / 2, top + DOWN], wide);
        end += wide;
        view.text(`share-${j}`, number(weight));
      });
      view.text("said", `${words[asker]} hears ${vector(heard)}`);
    },

    says(state, { weights, heard, becomes }, { data: { asker, clue } }) {
      return { share: number(weights[clue]), own: number(weights[asker]), heard: vector(heard), becomes: vector(becomes) };
    },
  });
}
