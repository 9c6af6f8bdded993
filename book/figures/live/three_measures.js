// Three measures: drag a word; each measure says which of two it is most similar to.
"use strict";
{
  const { define, number, dot } = bookFigures;
  const MEASURES = ["dot", "cosine", "distance"];
  const HOW = { dot: "farther in # direction", cosine: "the smaller angle wins", distance: "the shorter way wins" };
  const size = (a) => Math.hypot(...a);
  const minus = (a, b) => [a[0] - b[0], a[1] - b[1]];
  const times = (s, a) => [s * a[0], s * a[1]];

  // The part of a convex region in which n·x is at least c.
  const half = (region, n, c) => region.flatMap((a, i) => {
    const b = region[(i + 1) % region.length], over = dot(n, a) - c, next = dot(n, b) - c;
    return [...(over >= 0 ? [a] : []), ...(over * next < 0 ? [[0, 1].map((k) => a[k] + (b[k] - a[k]) * over / (over - next))] : [])];
  });

  // From one direction to another, the short way round.
  const arc = (from, to, radius) => {
    const start = Math.atan2(from[1], from[0]), turn = Math.atan2(from[0] * to[1] - from[1] * to[0], dot(from, to));
    return Array.from({ length: 33 }, (_, i) => times(radius, [Math.cos(start + turn * i / 32), Math.sin(start + turn * i / 32)]));
  };

  define("three_measures", {
    compute(state, { words }) {
      const [x, a, b] = words.map((word) => state[word]), way = minus(b, a);
      const both = (measure) => [measure(x, a), measure(x, b)];
      const values = {
        dot: both(dot),
        cosine: both((u, v) => dot(u, v) / size(u) / size(v)),
        distance: both((u, v) => size(minus(u, v))),
      };
      // Where a measure finds both alike: n·x = c. Where n·x is more, b is more similar.
      const lines = {
        dot: [way, 0],
        cosine: [size(a) * size(b) ? minus(times(1 / size(b), b), times(1 / size(a), a)) : [0, 0], 0],
        distance: [way, (dot(b, b) - dot(a, a)) / 2],
      };
      const over = MEASURES.map((name) => dot(lines[name][0], x) - lines[name][1]), best = {};
      MEASURES.forEach((name, i) => {
        const [one, other] = values[name].map((value) => number(value)); // as far as the numbers show
        best[name] = !values[name].every(isFinite) ? "none" : one === other ? "both" : words[over[i] > 0 ? 2 : 1];
      });
      return { values, lines, over, best };
    },

    handles: ({ words }) => words.map((key) => ({
      key, frame: "plane", name: key, label: `name-${key}`,
      put: (state, point) => ({ [key]: point.map((x) => (Math.abs(x - Math.round(x)) < 0.08 ? Math.round(x) : x)) }), // ties can be reached
    })),

    draw(view, state, { values, lines, best }, { data, limits }) {
      const { measure } = state, [first, ...others] = data.words, [low, high] = limits[first];
      const place = (at) => view.place("plane", at), path = (part, points, closed) => {
        view.show(part, points.length > 1);
        if (points.length > 1) view.path(part, points.map(place), closed);
      };
      const corners = [[low, low], [high, low], [high, high], [low, high]];
      others.forEach((word, i) => {
        const side = 2 * i - 1;
        path(`all-${word}`, MEASURES.reduce((region, name) => half(region, times(side, lines[name][0]), side * lines[name][1]), corners), true);
        const x = state[first], y = state[word], known = size(x) * size(y);
        const t = known ? dot(x, y) / dot(x, x) : 0, foot = times(t, x), [cx, cy] = place(foot);
        path(`to-${word}`, measure === "distance" ? [x, y] : !known ? [] : measure === "dot" ? [y, foot, t < 0 ? [0, 0] : t > 1 ? x : foot] : arc(x, y, (0.1 + 0.03 * i) * (high - low)));
        view.set(`foot-${word}`, { cx, cy, r: known && measure === "dot" ? 4 : 0 });
      });
      const [left, right, wide] = view.frames.board;
      for (const name of MEASURES) {
        const [n, c] = lines[name], who = best[name];
        path(`line-${name}`, size(n) > 1e-9 ? half(corners, n, c).filter((at) => Math.abs(dot(n, at) - c) < 1e-9) : []);
        for (const look of ["thin", "soft"]) view.look(`line-${name}`, look, name !== measure);
        view.show(`best-${name}`, who !== "none");
        view.set(`best-${name}`, { x: (who === others[1] ? right : left) - wide / 2, width: wide + (who === "both" ? right - left : 0) });
        others.forEach((word, i) => view.text(`${name}-${word}`, isFinite(values[name][i]) ? number(values[name][i]) : "–"));
      }
      view.text("how", HOW[measure].replace("#", `${first}’s`));
      for (const word of data.words) view.arrow(word, place([0, 0]), place(state[word]));
      view.labels(data.words.map((word) => [`name-${word}`, place(state[word])]));
    },

    says(state, { best }) {
      return Object.fromEntries(MEASURES.map((name) => [name, { both: "shrugs", none: "cannot tell" }[best[name]] || `says ${best[name]}`]));
    },
  });
}
