"""Training, watched: how a word listens after each step, and the loss."""

from collections.abc import Sequence

import numpy as np

from book.figures.canvas import NUMBER, Array, Box, Canvas, text_width
from book.figures.charts import PHONE, Frame
from book.figures.glue import number
from book.figures.live import Live, dial

MOST = 0.8  # of the loss that is drawn


def training(
    names: Sequence[str], weights: Array, losses: Array, *, every: int, clue: int, alt: str
) -> Live:
    """Draw the weights of a word, (steps, heads, T) and the loss, after each `every` steps.

    The sentence speaks of the word at `clue`.
    """
    last = every * (len(losses) - 1)
    heads = [f"head {h}" for h in range(weights.shape[1])]

    def draw(canvas: Canvas) -> None:
        down, margin = 30.0, max(text_width(head, NUMBER) for head in heads) + 10
        across = min(64.0, (canvas.width - margin) / len(names))
        box = Box(margin, 22, margin + across, 22 + down)
        canvas.columns(names, margin, 10, across)
        canvas.rows(heads, margin - 10, 22 + down / 2, down)
        for (h, j), weight in np.ndenumerate(weights[-1]):
            cell = box.cell(h, j)
            canvas.part(f"cell-{h}-{j}").rectangle(cell.inset(1), "weight fill", 0.6 * weight)
            part = canvas.part(f"weight-{h}-{j}")
            part.note(*cell.middle, number(weight, 2), "cell", anchor="middle")
        top = 22 + len(heads) * down + 44
        right = canvas.width - 20 if canvas.width == PHONE else margin + across * len(names)
        frame = Frame(canvas, Box(margin, top, right, top + 120), (0, last, 0, MOST))
        frame.tell("loss")
        frame.y_axis([(0.0, "0"), (float(np.log(2)), "ln 2")], "loss")
        frame.x_axis([(float(x), str(x)) for x in range(0, last + 1, 100)], "step")
        curve = frame(np.stack([every * np.arange(len(losses)), losses], axis=-1))
        canvas.path(curve, "ink thin", keep_off=0)
        canvas.part("now", tuple(curve[-1])).dot(curve[-1], "ink")
        canvas.height = frame.box.bottom + 46

    return Live(
        "training",
        draw,
        alt=alt,
        start={"step": last},
        limits={"step": (0, last)},
        data={"every": every, "clue": clue, "weights": np.round(weights, 4)}
        | {"losses": np.round(losses, 4)},
        says=f"After {{step}} steps the loss is {{loss}}. Head 0 gives *{names[clue]}* {{share}}.",
        numbers={
            "step": str(last),
            "loss": number(float(losses[-1]), 2),
            "share": number(float(weights[-1, 0, clue]), 2),
        },
        hint="Move the slider.",
        controls=[dial("steps of training", "step", (0, last), every)],
    )
