// Walk: scores that grow with the width of a key, and their shares with and without the root.
"use strict";
{
  const { define, number, softmax, dot, pixel } = bookFigures;

  // Where a walk is after some steps: each bit of its digits is one, up or down.
  const after = (steps, digits) => {
    let at = 0;
    for (let i = 0; i < steps; i++) at += parseInt(digits[i >> 2], 16) & (8 >> (i & 3)) ? 1 : -1;
    return at;
  };

  define("walk", {
    compute(state, { walks }) {
      const steps = Math.round(state.d), first = 4 * (state.bunch - 1);
      const ends = walks.map((digits) => after(steps, digits));
      const scores = ends.slice(first, first + 4).sort((a, b) => b - a), scaled = scores.map((score) => score / Math.sqrt(steps));
      const shares = [softmax(scores), softmax(scaled)];
      return { scores: [scores, scaled], shares, typical: Math.sqrt(dot(ends, ends) / ends.length) };
    },

    dials: { d: ({ d }) => number(d, 0) },

    acts: {
      next: (figure) => figure.put({ bunch: String((figure.state.bunch % figure.limits.bunch.length) + 1) }), // other walks: there is no way between
    },

    draw(view, { d, bunch }, { scores, shares }, { limits }) {
      for (const one of limits.bunch) view.look(`bunch-${one}`, "chosen", one === bunch);
      const place = (score) => view.place("chart", [d, score]), [x] = place(0);
      view.set("ahead", { x: pixel(x), width: pixel(view.place("chart", [limits.d[1], 0])[0] + 2 - x) });
      view.move("edge", [x, view.parts.edge[0].dataset.at.split(" ")[1]]);
      scores[0].forEach((score, j) => {
        const [cx, cy] = place(score).map(pixel);
        view.set(`dot-${j}`, { cx, cy });
        for (const bank of [0, 1]) {
          view.text(`number-${bank}-0-${j}`, number(scores[bank][j], bank ? 2 : 0));
          view.text(`number-${bank}-1-${j}`, number(shares[bank][j]));
          view.set(`bar-${bank}-${j}`, { width: pixel(view.frames.bars[0] * shares[bank][j]) });
        }
      });
      view.text("title-1", `divided by √${number(d, 0)}`);
    },

    says: ({ d, bunch }, { shares, typical }, { limits, data }) => ({
      bunch: `${bunch} of ${limits.bunch.length}`, walks: String(data.walks.length),
      steps: d < 1.5 ? "1 step" : `${number(d, 0)} steps`, typical: number(typical, 1), root: number(Math.sqrt(d), 1),
      share: number(shares[0][0]), tamed: number(shares[1][0]),
    }),
  });
}
