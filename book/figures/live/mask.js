// Mask: press a score to hide it; the weights, their sums and the output follow, by the rule or by a slip.
"use strict";
{
  const { define, number, softmax, sum, mixed } = bookFigures;

  // What goes into the softmax for a score and a mask of 1 and 0.
  const rules = {
    right: (s, m) => (m ? s : -Infinity),
    multiplied: (s, m) => s * m,
    added: (s, m) => s * m + (1 - m) * -Infinity,
    filled: (s, m, fill) => (m ? s : fill),
    inverted: (s, m) => (m ? -Infinity : s),
    after: (s) => s,
  };
  const open = (mask) => mask.split("/").map((row) => [...row].map(Number));
  const entry = (value, digits) => (Number.isNaN(value) ? "NaN" : Number.isFinite(value) ? number(value, digits) : "−∞");
  const same = (row, other) => row.every((value, j) => entry(value) === entry(other[j]));

  function attend({ mask, lower = 0 }, { scores, values, fill }, rule) {
    const seen = open(mask);
    const into = scores.map((row, i) => row.map((s, j) => rules[rule](s - lower, seen[i][j], fill)));
    let weights = into.map((row) => (row.every((s) => s === -Infinity) ? row.map(() => 0) : softmax(row)));
    if (rule === "after") weights = weights.map((row, i) => row.map((share, j) => share * seen[i][j]));
    return { into, weights, sums: weights.map(sum), output: weights.map((row) => mixed(row, values)) };
  }

  define("mask", {
    compute(state, data) {
      return { ...attend(state, data, state.rule || "right"), right: attend(state, data, "right") };
    },

    switches: ({ names }) => ({
      key: "mask", frame: "mask", label: "Who may listen to whom", also: (row) => ({ row }),
      name: (i, j) => `${names[i]} may listen to ${i === j ? "itself" : names[j]}`,
    }),

    dials: { lower: (state) => String(Math.round(state.lower)) },

    draw(view, _, { into, weights, sums, output, right }, { state, data }) { // only the tints glide
      const seen = open(state.mask);
      const write = (part, at, value, expected) => {
        view.text(`${part}-text-${at}`, entry(value));
        view.look(`${part}-${at}`, "wrong", entry(value) !== entry(expected));
      };
      into.forEach((row, i) => {
        view.look(`row-${i}`, "chosen", i === state.row);
        view.look(`row-${i}`, "soft", i !== state.row);
        row.forEach((score, j) => {
          const at = `${i}-${j}`, share = weights[i][j];
          view.text(`into-text-${at}`, entry(score, 0));
          view.look(`into-${at}`, "shut", !seen[i][j]);
          write("weight", at, share, right.weights[i][j]);
          view.set(`weight-${at}`, { "fill-opacity": 0.04 + (data.tint - 0.04) * (share || 0) });
        });
        write("sum", i, sums[i], right.sums[i]);
        output[i].forEach((value, axis) => write("out", `${i}-${axis}`, value, right.output[i][axis]));
      });
    },

    says(_, { weights, sums, right }, { state, data }) {
      const { names } = data, name = names[state.row], shares = weights[state.row];
      const to = shares.flatMap((share, j) => (entry(share) === "0.00" ? [] : [`to ${j === state.row ? "itself" : names[j]} with ${number(share)}`]));
      const who = name[0].toUpperCase() + name.slice(1);
      const row = shares.some(Number.isNaN) ? `The weights of ${name} are not numbers.`
        : to.length ? `${who} listens ${[to.slice(0, -1).join(", "), to.at(-1)].filter(Boolean).join(" and ")}.`
          : `${who} has nobody to listen to: its output is zero.`;
      const wrong = names.filter((_, i) => !same(weights[i], right.weights[i])), which = wrong.length < names.length ? ` (${wrong.join(", ")})` : "";
      const ahead = open(state.mask).flatMap((one, i) => one.slice(i + 1)).filter(Boolean).length;
      let finding = "No word hears a later one.";
      if (wrong.length) finding = `${wrong.length} of ${names.length} rows ${wrong.length === 1 ? "is" : "are"} wrong${which}${same(sums, sums.map(() => 1)) ? ", and still every row adds up to 1." : "."}`;
      else if (state.rule && state.rule !== "right") finding = "To two decimals, no row is wrong.";
      else if (ahead) finding = `${ahead} weight${ahead > 1 ? "s reach" : " reaches"} into the future.`;
      return { row: (state.rule || "right") === "right" ? row : "", finding, rule: data.rules && data.rules[state.rule] };
    },
  });
}
