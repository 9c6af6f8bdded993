// Two matrices: drag where one sends a unit vector; its plane, the lines of equal score and the weights follow.
"use strict";
{
  const { define, number, vector, softmax, range, dot, times } = bookFigures;
  const REACH = 3.3, LONGEST = 3, SHEET = 8, STRONG = 4, ROLES = ["query", "key"], NAMES = ["cat", "it"];

  const more = (one, other) => one - other > 0.005; // as far as the numbers show
  const turned = (row) => times(row, [[0.8, 0.6], [-0.6, 0.8]]); // as in the lesson
  const within = (point) => { // the disk of rows that are not too long
    const long = Math.hypot(...point);
    return long > LONGEST ? point.map((x) => x * LONGEST / long) : point;
  };

  function sheet(view, role, part, rows, places) {
    const lines = places.flatMap((at) => [[[at, -SHEET], [at, SHEET]], [[-SHEET, at], [SHEET, at]]]);
    view.clipped(part, role, lines.map((line) => line.map((end) => times(end, rows))), REACH);
  }

  define("two_matrices", {
    compute(state) {
      const rows = (role) => NAMES.map((name) => state[`${role}_${name}`]);
      const key = rows("key"), query = state.matrices === "one" ? key : rows("query");
      const score = query.map((q) => key.map((k) => dot(q, k))), [[a, b], [c, d]] = score;
      const symmetric = !more(b, c) && !more(c, b);
      // Whether one matrix could do it: no vector may score below 0 with itself, so no eigenvalue is.
      const single = symmetric && (a + d) / 2 - Math.hypot((a - d) / 2, (b + c) / 2) > -0.005;
      return { query, key, score, weight: score.map(softmax), symmetric, single };
    },

    handles: () => ROLES.flatMap((role) => NAMES.map((name) => {
      const own = `${role}_${name}`, key = (state) => (state.matrices === "one" ? `key_${name}` : own);
      const asks = role === "query" ? { asks: name } : {};
      return { key: own, frame: role, name: `${role} of ${name}`, label: `name-${own}`, at: (state) => state[key(state)], put: (state, point) => ({ [key(state)]: within(point), ...asks }), text: (state) => vector(state[key(state)]) };
    })),

    acts: {
      both: (figure) => figure.put(Object.fromEntries(Object.entries(figure.state).map(([key, row]) => [key, Array.isArray(row) ? turned(row) : row])), true),
      keys: (figure) => figure.put({ matrices: "two", ...Object.fromEntries(NAMES.flatMap((name, i) => [[`query_${name}`, figure.result.query[i]], [`key_${name}`, turned(figure.result.key[i])]])) }, true),
    },

    draw(view, state, result, { data: { strength } }) {
      const asker = NAMES.indexOf(state.asks);
      for (const role of ROLES) {
        const place = (point) => view.place(role, point), rows = result[role];
        sheet(view, role, `grid-${role}`, rows, range(-SHEET, SHEET));
        sheet(view, role, `axes-${role}`, rows, [0]);
        NAMES.forEach((name, i) => {
          view.arrow(`${role}_${name}`, place([0, 0]), place(rows[i]));
          if (role === "key") view.text(`name-key_${name}`, `${name} ${number(result.score[asker][i])}`);
        });
        view.labels(NAMES.map((name, i) => [`name-${role}_${name}`, place(rows[i])]), role, REACH);
      }
      view.levels("key", result.query[asker], REACH);
      view.text("asker", `keys, scored by “${state.asks}”`);
      view.arrow("asks", view.place("key", [0, 0]), view.place("key", result.query[asker]));
      for (const block of [...ROLES, "score", "weight"]) {
        result[block].forEach((row, i) => row.forEach((value, j) => view.text(`number-${block}${i}${j}`, number(value))));
      }
      result.score.forEach((row, i) => row.forEach((value, j) => {
        const hue = value < 0 ? "negative" : "score", depth = 0.04 + (strength[hue] - 0.04) * Math.min(1, Math.abs(value) / STRONG);
        view.set(`cell-score${i}${j}`, { class: `${hue} fill`, "fill-opacity": depth });
        view.set(`bar-${i}${j}`, { width: view.frames.bar[0] * result.weight[i][j] });
      }));
      view.text("symmetric", result.symmetric ? "symmetric" : "not symmetric");
    },

    says(state, { score: [[a, b], [c, d]], weight, symmetric, single }) {
      return {
        forth: number(weight[1][0]), back: number(weight[0][1]),
        who: more(b, a) && more(c, d) ? "each" : more(b, a) ? "only cat" : more(c, d) ? "only it" : "neither",
        verdict: state.matrices === "one" ? "symmetric, as one matrix always makes it" : single ? "symmetric: one matrix could make it, too" :
          `${symmetric ? "symmetric, but some vector scores itself below 0" : "not symmetric"}, so two matrices are needed`,
      };
    },
  });
}
