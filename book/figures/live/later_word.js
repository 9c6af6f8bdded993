// A later word: press a word to change it, and see which rows of the output move.
"use strict";
{
  const { define, number, softmax, dot } = bookFigures;
  const column = (rows, k) => rows.map((row) => row[k]);
  const product = (rows, matrix) => rows.map((row) => matrix[0].map((_, k) => dot(row, column(matrix, k))));

  function attend(x, matrices, causal) {
    const [queries, keys, values] = matrices.map((matrix) => product(x, matrix));
    return queries.map((query, i) => {
      const seen = causal ? i + 1 : x.length, root = Math.sqrt(query.length);
      const weights = softmax(keys.slice(0, seen).map((key) => dot(query, key) / root));
      return values[0].map((_, k) => dot(weights, column(values, k)));
    });
  }

  const chosen = (word, both) => word.split("/").map((letter, i) => both[Number(letter)][i]);

  define("later_word", {
    compute({ changed, mask }, { embeddings, matrices }) {
      const output = attend(chosen(changed, embeddings), matrices, mask === "causal");
      const before = attend(embeddings[0], matrices, mask === "causal");
      return { output, moved: output.map((row, i) => Math.hypot(...row.map((value, k) => value - before[i][k]))) };
    },

    switches: ({ words: [before, after] }) => ({
      key: "changed", frame: "words", label: "Words to change", name: (i) => `${before[i]}, word ${i + 1}, becomes ${after[i]}`,
    }),

    draw(view, _, { output, moved }, { state, data: { words, embeddings, stays } }) {
      const names = chosen(state.changed, words), numbers = chosen(state.changed, embeddings);
      const [, unit] = view.frames.bars;
      moved.forEach((distance, i) => {
        view.look(`word-${i}`, "shut", state.changed[2 * i] === "0");
        view.text(`name-${i}`, names[i]);
        view.text(`numbers-${i}`, numbers[i].join(", "));
        output[i].forEach((value, k) => view.text(`out-${i}-${k}`, number(value)));
        view.text(`moved-${i}`, distance < stays ? "stays" : number(distance));
        view.look(`moved-${i}`, "soft", distance < stays);
        view.look(`moved-${i}`, "context", distance >= stays);
        view.set(`bar-${i}`, { width: unit * distance });
      });
    },

    says({ changed, mask }, { moved }, { data: { words, stays } }) {
      if (!changed.includes("1")) return { finding: "No word is changed, and no row moves." };
      const count = moved.filter((distance) => distance >= stays).length, first = changed.indexOf("1") / 2;
      const tail = mask === "causal" && first ? `, and none before “${words[1][first]}”` : "";
      return { finding: `${mask === "causal" ? "With the mask" : "Without a mask"}, ${count} of ${moved.length} rows ${count === 1 ? "moves" : "move"}${tail}.` };
    },
  });
}
