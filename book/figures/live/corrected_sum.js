// A sum that is corrected: key by key, the exponentials under a running maximum, and what forgetting to rescale does.
"use strict";
{
  const { define, number, vector, sum, mixed, pixel } = bookFigures;
  const WIDE = 34, COLUMNS = ["m", "ℓ", "o"];

  function go(figure, way) {
    const count = figure.data.scores.length;
    figure.put({ seen: (Math.round(figure.state.seen) - 1 + way + count) % count + 1 }, true);
  }

  define("corrected_sum", {
    compute({ seen, rule }, { scores, values }) {
      const most = scores.map((_, k) => Math.max(...scores.slice(0, k + 1)));
      const came = scores.map((score, j) => Math.exp(score - most[j]));
      const parts = { // of each key seen, after each key
        right: most.map((m, k) => scores.slice(0, k + 1).map((score) => Math.exp(score - m))),
        forgot: most.map((_, k) => came.slice(0, k + 1)),
      };
      const average = (row) => mixed(row, values).map((x) => x / sum(row));
      const last = Math.round(seen) - 1, both = (what) => ({ right: parts.right.map(what), forgot: parts.forgot.map(what) });
      return { most, came, bars: scores.map((_, j) => parts[rule][last][j] || 0), sums: both(sum), outputs: both(average) };
    },

    acts: { next: (figure) => go(figure, 1), back: (figure) => go(figure, -1) },

    draw(view, _, { most, came, bars, sums, outputs }, { state: { seen, rule }, data: { scores } }) {
      const [left, bottom, pitch, full] = view.frames.bars, last = Math.round(seen) - 1;
      scores.forEach((_, j) => {
        const here = j <= last, x = left + (j + 0.5) * pitch, half = here ? WIDE / 2 : 0, top = bottom - (here ? full * came[j] : 0);
        view.set(`bar-${j}`, { y: pixel(bottom - full * bars[j]), height: pixel(full * bars[j]) });
        view.path(`came-${j}`, [[x - half, top], [x + half, top], [x + half, bottom], [x - half, bottom]], true);
        view.text(`exp-${j}`, here ? number(bars[j], 3) : " ");
        for (const role of ["score", "value"]) {
          view.look(`${role}-${j}`, role, here);
          view.look(`${role}-${j}`, "soft", !here);
        }
      });
      for (const key of [...scores.keys(), "right"]) {
        const k = key === "right" ? last : key, how = key === "right" ? key : rule;
        const row = [number(most[k], 0), number(sums[how][k], 3), vector(outputs[how][k])];
        const right = [row[0], number(sums.right[k], 3), vector(outputs.right[k])];
        COLUMNS.forEach((column, i) => {
          view.text(`${column}-text-${key}`, k <= last ? row[i] : " ");
          view.look(`${column}-${key}`, "wrong", k <= last && row[i] !== right[i]);
          view.set(`${column}-${key}`, { "fill-opacity": k <= last ? 0.1 : 0 });
        });
      }
    },

    says({ seen, rule }, { most, sums, outputs }, { data: { scores } }) {
      const last = Math.round(seen) - 1, before = most[last - 1], now = most[last], rises = last && now > before;
      const scaled = rule === "right" ? `is multiplied by ${number(Math.exp(before - now), 3)}.` : "stays as it is.";
      const wrong = number(sums[rule][last], 3) !== number(sums.right[last], 3);
      return {
        key: String(last), score: number(scores[last], 0), sum: number(sums[rule][last], 3), output: vector(outputs[rule][last]),
        what: !last ? "It is the first, so it is the largest." : rises
          ? `The largest rises from ${number(before, 0)} to ${number(now, 0)}, and the sum so far, ${number(sums[rule][last - 1], 3)}, ${scaled}`
          : `The largest is still ${number(now, 0)}, so nothing is rescaled.`,
        finding: wrong ? "That is not the softmax of these keys." : "That is the softmax of these keys.",
      };
    },
  });
}
