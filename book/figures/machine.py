"""A whole language model in one drawing: from words to the next word, with one layer in full."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from book.figures.canvas import Array, Box, Canvas
from book.figures.charts import PHONE, Drawing
from book.figures.glue import as_text

# How far below the top each stage stands, in pixels.
STAGES = {
    "words": 14, "numbers": 58, "listens": 134, "mix": 192, "add": 226, "network": 276,
    "add again": 322, "shares": 388, "next word": 446,
}  # fmt: skip
TOP, ENTERS, BOTTOM = 84, 102, 346  # of the frame of a layer, and where the words come in
WIDEST = 30.0  # a ribbon of weight 1


def machine(words: Sequence[str], rows: Array, weights: Array, *, alt: str) -> Drawing:
    """Draw a language model on a few words: their rows of numbers, one layer, the next word.

    Ribbons as wide as the `weights`, (T, T), say who listens to whom.
    """

    def draw(canvas: Canvas) -> None:
        narrow = canvas.width == PHONE
        left, right = (88.0, canvas.width - 87) if narrow else (168.0, canvas.width - 108)
        lanes = left + (right - left) * (np.arange(len(words)) + 0.5) / len(words)
        canvas.outline(Box(left, TOP, right, BOTTOM), "axis")
        _name_stages(canvas, narrow)
        for x, word, row in zip(lanes, words, rows, strict=True):
            canvas.text(x, STAGES["words"], word, anchor="middle", bold=True)
            canvas.arrow((x, 26), (x, 46), "ink thin")
            canvas.note(x, STAGES["numbers"], as_text(row, 0), "ink", anchor="middle")
            canvas.path([(x, 70), (x, ENTERS)], "ink thin")
        arrives = lanes[:, np.newaxis] + WIDEST * (weights.cumsum(axis=-1) - weights / 2 - 0.5)
        for i, j in np.argwhere(weights > 0):
            ends = (lanes[j], ENTERS + 14.0), (arrives[i, j], STAGES["mix"] - 12.0)
            canvas.ribbon(*ends, WIDEST * weights[i, j], "weight wash", down=True)
        for x in lanes:
            _draw_lane(canvas, float(x))
        _draw_loop(canvas, right)
        last = float(lanes[-1])
        _draw_shares(canvas, last)
        canvas.text(last, STAGES["next word"], "?", anchor="middle", bold=True)
        canvas.height = STAGES["next word"] + 14

    return Drawing(draw, alt)


def _name_stages(canvas: Canvas, narrow: bool) -> None:
    """Write what happens at each height, at the left."""
    for name in ("words", "numbers", "mix", "add", "next word"):
        canvas.text(0, STAGES[name], name)
    canvas.text(0, STAGES["add again"], "add")
    pairs = {"listens": ("who listens", "to whom"), "network": ("feed-forward", "network")}
    pairs |= {"shares": ("a share for", "every word")}
    for name, (first, second) in pairs.items():
        if narrow:
            canvas.text(0, STAGES[name] - 9, first)
            canvas.text(0, STAGES[name] + 9, second)
        else:
            canvas.text(0, STAGES[name], f"{first} {second}")


def _draw_lane(canvas: Canvas, x: float) -> None:
    """Draw what happens to one word in a layer, with the two ways around that are added."""
    aside, mix, add, network, again = x - 23, *(STAGES[n] for n in [*STAGES][3:7])
    canvas.path([(x, ENTERS), (x, ENTERS + 12)], "ink thin")
    canvas.path([(x, ENTERS), (aside, ENTERS), (aside, add), (x - 9, add)], "ink thin")
    canvas.dot((x, mix), "context", 7)
    canvas.path([(x, mix), (x, add - 9)], "context")
    _plus(canvas, (x, add))
    canvas.path([(x, add + 9), (x, network - 14)], "ink thin")
    around = add + 20
    canvas.path([(x, around), (aside, around), (aside, again), (x - 9, again)], "ink thin")
    canvas.outline(Box(x - 18, network - 14, x + 18, network + 14), "ink")
    canvas.path([(x - 10, network + 6), (x, network + 6), (x + 10, network - 6)], "ink thin")
    canvas.path([(x, network + 14), (x, again - 9)], "ink thin")
    _plus(canvas, (x, again))
    canvas.path([(x, again + 9), (x, BOTTOM)], "ink thin")


def _draw_shares(canvas: Canvas, x: float) -> None:
    """Draw how the numbers of the last word become shares of every word, and the next word."""
    y = STAGES["shares"]
    canvas.path([(x, BOTTOM), (x, y - 14)], "ink thin")
    canvas.outline(Box(x - 18, y - 14, x + 18, y + 14), "ink")
    for place, tall in enumerate((5, 16, 9, 3)):
        left = x - 12 + 6.5 * place
        canvas.rectangle(Box(left, y + 9 - tall, left + 4.5, y + 9), "weight fill")
    canvas.arrow((x, y + 14), (x, STAGES["next word"] - 14), "ink thin")


def _plus(canvas: Canvas, at: tuple[float, float]) -> None:
    """Draw a plus sign in a ring."""
    x, y = at
    turn = np.linspace(0, 2 * np.pi, 33)
    canvas.path(np.stack([x + 9 * np.cos(turn), y + 9 * np.sin(turn)], -1), "ink thin", closed=True)
    canvas.path([(x - 5, y), (x + 5, y)], "ink")
    canvas.path([(x, y - 5), (x, y + 5)], "ink")


def _draw_loop(canvas: Canvas, right: float) -> None:
    """Draw the way back from the end of a layer to the beginning of the next."""
    out: list[Any] = [(right, BOTTOM - 12), (right + 14, BOTTOM - 12), (right + 14, TOP + 12)]
    canvas.path(out, "ink")
    canvas.arrow(out[-1], (right, TOP + 12), "ink")
    for place, line in enumerate(("one layer,", "again,", "L times")):
        canvas.text(right + 21, (TOP + BOTTOM) / 2 + 20 * (place - 1), line, bold=True)
