// Training, watched: one dial, the step; the weights and the loss were recorded in the build.
"use strict";
{
  const { define, number } = bookFigures;

  define("training", {
    compute({ step }, { every, clue, weights, losses }) {
      const at = Math.round(step / every);
      return { at: at * every, weights: weights[at], loss: losses[at], share: weights[at][0][clue] };
    },

    dials: { step: ({ step }) => String(Math.round(step)) },

    draw(view, _, { at, weights, loss }) {
      weights.forEach((row, h) => row.forEach((weight, j) => {
        view.set(`cell-${h}-${j}`, { "fill-opacity": 0.6 * weight });
        view.text(`weight-${h}-${j}`, number(weight));
      }));
      view.move("now", view.place("loss", [at, loss]));
    },

    says: (_, { at, loss, share }) => ({ step: String(at), loss: number(loss), share: number(share) }),
  });
}
