// Nudge: turn one number of a model and see the loss; then let all of them go down their slopes.
"use strict";
{
  const { define, number, softmax, range, dot, pixel, calm } = bookFigures;
  const TURNS = 12; // of one run

  const all = ({ w, rest }, { at }) => [...rest.slice(0, at), w, ...rest.slice(at)];

  // The loss, its slope along each number, and the weights that are shown.
  function measure(numbers, { model, values }) {
    const slopes = numbers.map(() => 0), heard = [];
    let loss = 0;
    for (const sentence of model) {
      const weights = softmax(sentence.map((row) => dot(row, numbers)));
      let back = weights.map((weight, j) => (j ? 0 : -1 / weight));
      if (values) {
        const answer = dot(weights, values);
        loss += Math.log1p(Math.exp(-answer));
        back = values.map((value) => -value / (1 + Math.exp(answer)));
        heard.push(...weights);
      } else {
        loss -= Math.log(weights[0]);
        heard.push(weights[0]);
      }
      const mean = dot(weights, back);
      sentence.forEach((row, j) => row.forEach((part, n) => { slopes[n] += weights[j] * (back[j] - mean) * part; }));
    }
    return { loss, slopes, heard };
  }

  function step(figure) {
    const { state, data, result } = figure, next = all(state, data).map((value, n) => value - data.rate * result.slopes[n]);
    figure.put({ w: next[data.at], rest: next.filter((_, n) => n !== data.at), steps: state.steps + 1 }, true);
  }

  function stop(figure) {
    clearInterval(figure.running);
    figure.running = 0;
    figure.root.querySelector("[data-act=run]").textContent = "Run";
  }

  define("nudge", {
    compute(state, data) {
      const numbers = all(state, data), [low, high] = data.limits;
      const curve = range(0, data.points - 1).map((i) => {
        const w = low + (high - low) * i / (data.points - 1);
        return [w, measure(all({ ...state, w }, data), data).loss];
      });
      return { ...measure(numbers, data), curve };
    },

    stop,

    begin(figure) { // who takes the dial has it alone
      const input = figure.root.querySelector("input[data-key=w]"), turn = input.oninput;
      input.onpointerdown = () => stop(figure);
      input.oninput = () => { stop(figure); figure.state.turned = true; turn(); };
    },

    acts: {
      step(figure) { stop(figure); step(figure); },
      run(figure) {
        if (figure.running) return stop(figure);
        let left = TURNS;
        if (calm.matches) { while (left--) step(figure); return; }
        figure.root.querySelector("[data-act=run]").textContent = "Pause";
        const turn = () => { step(figure); if (!--left) stop(figure); };
        figure.running = setInterval(turn, 450);
        turn();
      },
    },

    draw(view, state, { loss, slopes, heard, curve }, { data }) {
      const [low, high, top] = data.limits, place = ([w, height]) => view.place("chart", [w, Math.min(top, height)]);
      view.path("curve", curve.map(place));
      const at = place([state.w, loss]), slope = slopes[data.at], [, , right, up] = view.frames.chart;
      const by = 40 / Math.hypot(right, up * slope), ends = [Math.max(low, state.w - by), Math.min(high, state.w + by)];
      view.path("tangent", ends.map((w) => [at[0] + right * (w - state.w), at[1] - up * slope * (w - state.w)]));
      view.text("before", state.steps < 1 ? " " : "before any step");
      view.set("dot", { cx: pixel(at[0]), cy: pixel(at[1]) });
      view.text("loss", number(loss, 3));
      view.text("slope", number(slope, 3));
      all(state, data).forEach((value, n) => {
        const [cell, text] = view.parts[`cell-${n}`];
        cell.setAttribute("fill-opacity", 0.4 * Math.min(1, Math.abs(value) / 2));
        if (view.gliding) return;
        cell.classList.toggle("negative", value < 0);
        text.textContent = number(value);
      });
      heard.forEach((share, j) => {
        view.text(`share-${j}`, number(share));
        view.set(`bar-${j}`, { width: pixel(view.frames.bars[0] * share) });
      });
    },

    says({ steps, turned }, { loss, slopes, heard }, { data }) {
      const slope = slopes[data.at], taken = Math.round(steps);
      const events = [taken && `${taken} step${taken === 1 ? "" : "s"}`, turned && "a turn of the dial"].filter(Boolean);
      return {
        when: events.length ? `After ${events.join(" and ")}` : "At the start", loss: number(loss, 3), slope: number(slope, 3),
        way: Math.abs(slope) < 0.005 ? "there is little to gain" : slope > 0 ? "down is better" : "up is better",
        share_0: number(heard[0]), share_1: number(heard[1]),
      };
    },
  });
}
