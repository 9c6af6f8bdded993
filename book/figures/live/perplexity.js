// Perplexity: lift the surprise of one word; the mean, and the blind guess that equals it, follow.
"use strict";
{
  const { define, number, sum, pixel } = bookFigures;
  const mean = (values) => sum(values) / values.length;
  const short = (value) => String(Number(value.toFixed(value < 100 ? 1 : 0)));
  const lifted = ({ bits }, i, to) => ({ bits: bits.map((one, j) => (j === i ? to : one)) });
  const snap = (value) => (Math.abs(value - Math.round(value)) < 0.15 ? Math.round(value) : value); // a whole bit is easy to hit

  define("perplexity", {
    compute({ bits }) {
      const every = [...bits, mean(bits)];
      return { every, p: every.map((one) => 2 ** -one), choices: every.map((one) => 2 ** one), nats: every.map((one) => one * Math.LN2) };
    },

    handles: ({ words }) => words.map((word, i) => ({
      key: "bits", frame: "surprise", name: `surprise at ${word}, in bits`,
      at: ({ bits }) => [i, bits[i]],
      put: (state, [, to]) => lifted(state, i, snap(to)),
      press: (state, [right, up]) => lifted(state, i, state.bits[i] + 0.25 * (right + up)),
      now: ({ bits }) => bits[i],
      text: (_, { p, nats }) => `probability ${number(p[i], 3)}, surprise ${number(nats[i])} nats`,
    })),

    draw(view, _, { every, p, choices, nats }) {
      const last = every.length - 1, [, low, , whole] = view.frames.choices, [half, end] = view.frames.columns;
      every.forEach((bits, i) => {
        const [x, y] = view.place("surprise", [i === last ? end : i, bits]), [, base] = view.place("surprise", [0, 0]);
        view.set(`column-${i}`, { y, height: base - y });
        view.set(`one-${i}`, { y: low - whole * p[i], height: whole * p[i] });
        const step = Math.ceil(2 * choices[i] / whole); // no slice below two pixels
        let lines = "";
        for (let k = step; k < choices[i] - 1e-9; k += step) lines += `M${pixel(x - half)} ${pixel(low - whole * k / choices[i])}h${pixel(2 * half)}`;
        view.set(`cuts-${i}`, { d: lines });
        view.text(`count-${i}`, i === last ? number(choices[i]) : short(choices[i]));
        view.text(`p-${i}`, String(Number(p[i].toFixed(3))));
        view.text(`bits-${i}`, number(bits));
        view.text(`nats-${i}`, number(nats[i]));
        if (i < last) view.move(`top-${i}`, [x, y]);
      });
      for (const part of ["level", "mean"]) view.move(part, view.place("surprise", [0, every[last]]));
    },

    says({ bits, guess }, { every, choices, nats }, { data }) {
      const last = every.length - 1, asked = bits.every((one, i) => Math.abs(one - data.asked[i]) < 1e-3);
      return { verdict: (asked && data.verdicts[guess]) || "", nats: number(nats[last]), bits: number(every[last]), ppl: number(choices[last]) };
    },
  });
}
