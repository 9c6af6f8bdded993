// One turn: drag the query of a word; the lines of equal score and the weights follow.
"use strict";
{
  const { define, number, softmax, dot, times } = bookFigures;
  const REACH = 1.9, LONGEST = 5;

  const rotation = ([x, y]) => [[x, y], [-y, x]]; // and stretched, where (1, 0) goes to (x, y)

  const turned = (angle, long) => {
    const size = Math.max(0, Math.min(LONGEST, long));
    return { first: [Math.cos, Math.sin].map((part) => Number((size * part(angle)).toFixed(4))) };
  };

  define("one_turn", {
    compute({ first }, { embeddings, pair, angles }) {
      const scores = (query) => embeddings.map((key) => dot(query, key));
      const matrix = rotation(first), query = pair.map((word) => times(embeddings[word], matrix)), score = query.map(scores);
      const curve = angles.map((angle) => {
        const turn = [Math.cos, Math.sin].map((part) => Math.hypot(...first) * part(angle * Math.PI / 180));
        return softmax(scores(times(embeddings[pair[0]], rotation(turn))))[pair[1]];
      });
      return { matrix, query, score, weight: score.map(softmax), curve, angle: Math.atan2(first[1], first[0]) * 180 / Math.PI };
    },

    handles: ({ words, embeddings, pair }) => [{
      key: "first", frame: "query", name: `query of ${words[pair[0]]}`, label: `asks-${words[pair[0]]}`,
      reach: [-180, 180], now: (state, { angle }) => Math.round(angle),
      at: ({ first }) => times(embeddings[pair[0]], rotation(first)),
      put: (state, query, began) => { // the query over its word, as complex numbers
        const [a, b] = embeddings[pair[0]], first = times(query, [[a, -b], [b, a]]).map((part) => part / (a * a + b * b));
        const was = began ? Math.hypot(...began.first) : 0, long = Math.hypot(...first);
        return turned(Math.atan2(first[1], first[0]), Math.abs(long - was) < Math.min(0.6, was / 4) ? was : long); // only turned, unless pulled
      },
      press: ({ first: [x, y] }, [right, up]) => turned(Math.atan2(y, x) + right * Math.PI / 36, Math.hypot(x, y) + up / 5),
      text: ({ first }, { angle }) => `turned by ${number(angle, 0)} degrees, ${number(Math.hypot(...first))} times as long`,
    }],

    draw(view, state, { matrix, query, weight, curve, angle }, { data: { words, embeddings, pair, angles, size } }) {
      const place = (at) => view.place("plane", at), tip = (i) => view.place("query", query[i]);
      view.levels("plane", query[0], REACH, 2);
      pair.forEach((word, i) => view.arrow(`query-${words[word]}`, place([0, 0]), tip(i)));
      view.labels([...words.map((word, i) => [`name-${word}`, place(embeddings[i])]), ...pair.map((word, i) => [`asks-${words[word]}`, tip(i)])], "plane", REACH + 0.2);
      matrix.forEach((row, i) => row.forEach((value, j) => view.text(`number-soft${i}${j}`, number(value))));
      weight.forEach((row, i) => row.forEach((share, j) => {
        view.text(`number-weight${i}${j}`, number(share));
        view.set(`bar-${i}${j}`, { width: view.frames.bar[0] * share });
      }));
      view.text("symmetric", Math.abs(matrix[0][1]) < 0.0025 ? "symmetric" : "not symmetric");
      view.path("curve", angles.map((at, i) => view.place("chart", [at, curve[i]])));
      view.move("now", view.place("chart", [angle, weight[0][pair[1]]]));
    },

    says({ first }, { score: [one, other], weight, angle }, { data: { words, pair: [i, j] } }) {
      const forth = one[j] - one[i] > 0.005, back = other[i] - other[j] > 0.005; // as far as the numbers show
      const third = [[forth, i, weight[0]], [back, j, weight[1]]].flatMap(([prefers, word, row]) => { // who gets most, and is not of the pair
        const most = row.indexOf(Math.max(...row));
        return prefers && most !== i && most !== j ? [`${words[word]} listens most to “${words[most]}” (${number(row[most])})`] : [];
      });
      return {
        angle: number(angle, 0), long: number(Math.hypot(...first)), forth: number(weight[0][j]), back: number(weight[1][i]),
        who: forth && back ? "each" : forth ? `only ${words[i]}` : back ? `only ${words[j]}` : "neither",
        third: third.length ? `, but ${third.join(" and ")}` : "",
      };
    },
  });
}
