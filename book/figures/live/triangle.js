// Triangle: turn what the loss would have of an average, or its first score; each score's slope follows.
"use strict";
{
  const { define, number, vector, softmax, dot, mixed, pixel } = bookFigures;
  const ALONG = 1.35, ROW = 48, SMALL = 0.005;

  const average = (score, values) => {
    const weights = softmax([score, 0, 0]);
    return { weights, output: mixed(weights, values) };
  };
  const from = (at, way, far = 1) => at.map((x, axis) => x + far * way[axis]);

  define("triangle", {
    compute({ dc, score }, { values }) {
      const { weights, output } = average(score, values);
      const moves = values.map((value, j) => value.map((x, axis) => weights[j] * (x - output[axis])));
      return { weights, output, moves, slopes: moves.map((move) => dot(move, dc)) };
    },

    handles: ({ values }) => [{
      key: "dc", frame: "plane", name: "dc, the slopes of the loss along the output", label: "name-dc",
      at: ({ dc, score }) => from(average(score, values).output, dc),
      put: ({ score }, point) => ({ dc: from(point, average(score, values).output, -1).map((x) => Number(x.toFixed(2))) }),
      now: ({ dc }) => dc[0],
    }],

    draw(view, { dc }, { weights, output, moves, slopes }) {
      const place = (at) => view.place("plane", at), c = place(output), tip = place(from(output, dc));
      const size = Math.hypot(...dc), unit = size ? dc.map((x) => x / size) : [0, 0];
      view.path("along", [-ALONG, ALONG].map((far) => place(from(output, unit, far))));
      view.arrow("dc", c, tip);
      view.move("name-dc", [tip[0] + 16 * unit[0], tip[1] - 16 * unit[1]]);
      for (const part of ["output", "name-output"]) view.move(part, c);
      const [zero, wide, top] = view.frames.bars;
      let edge = 0;
      slopes.forEach((slope, j) => {
        const end = place(from(output, moves[j])), foot = place(from(output, unit, dot(moves[j], unit)));
        view.arrow(`move-${j}`, c, end);
        view.path(`thread-${j}`, [end, foot]);
        view.move(`foot-${j}`, foot);
        view.text(`weight-${j}`, number(weights[j]));
        view.text(`slope-${j}`, number(slope));
        const x = zero + wide * (edge + slope), y = top + j * ROW;
        view.set(`bar-${j}`, { x: pixel(Math.min(x, zero + wide * edge)), width: pixel(Math.abs(wide * slope)) });
        view.path(`link-${j}`, [[x, y + 26], [x, y + ROW + (j < 2 ? 12 : 0)]]);
        edge += slope;
      });
    },

    says({ dc }, { slopes }) {
      const up = slopes.indexOf(Math.max(...slopes)), down = slopes.indexOf(Math.min(...slopes));
      return {
        dc: vector(dc), slope_0: number(slopes[0]), slope_1: number(slopes[1]), slope_2: number(slopes[2]),
        verdict: Math.max(...slopes.map(Math.abs)) < SMALL ? "No score moves this loss."
          : `Raising score ${up} raises the loss most; raising score ${down} lowers it most.`,
      };
    },
  });
}
