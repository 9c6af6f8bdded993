"""Attention and its backward pass in one drawing: from words to a loss, and the slopes back."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from book.figures.canvas import NAME, Canvas, Pair, text_width
from book.figures.charts import PHONE, Drawing

# Where an array stands: how far to the right, of the whole width, and in which row.
PLACES = {
    "X": (0.5, 0), "Q": (0.12, 1), "K": (0.5, 1), "V": (0.9, 1), "S": (0.31, 2), "A": (0.31, 3),
    "C": (0.62, 4),
}  # fmt: skip
ROLES = dict(zip("QKVSAC", ("query", "key", "value", "score", "weight", "context"), strict=True))
# What is made from what, how that is written, and on which side of the arrow.
FORWARD = [
    ("X", "Q", "W_Q", -1), ("X", "K", "W_K", 1), ("X", "V", "W_V", 1), ("Q", "S", "", 1),
    ("K", "S", "Q K^T / √d_k", 1), ("S", "A", "softmax", 1), ("A", "C", "A V", -1),
    ("V", "C", "", 1),
]  # fmt: skip
BACK = [
    ("C", "V", "A^T dC", 1), ("C", "A", "dC V^T", -1), ("A", "S", "A · (dA − average)", 1),
    ("S", "Q", "dS K / √d_k", -1), ("S", "K", "dS^T Q / √d_k", 1), ("Q", "X", "", 1),
    ("K", "X", "", 1), ("V", "X", "", 1),
]  # fmt: skip
TOP, PITCH = 44.0, 62.0


def forward_and_back(*, alt: str) -> Drawing:
    """Draw how each array of attention is made, and where its slopes come from.

    Back stands beside forward, or below it on a phone, where it runs on downward.
    """

    def draw(canvas: Canvas) -> None:
        if canvas.width == PHONE:
            forward = _places(46, 240, [TOP + PITCH * row for row in range(5)])
            back = _places(0, 346, [TOP + PITCH * (10.2 - row) for row in range(5)])
            loss = (forward["C"][0], TOP + PITCH * 5)
            titles = (0.0, 10.0), (0.0, back["C"][1])
        else:
            rows = [TOP + PITCH * row for row in range(5)]
            forward, back = _places(0, 212, rows), _places(226, 341, rows)
            loss = ((forward["C"][0] + back["C"][0]) / 2, rows[-1] + 0.9 * PITCH)
            titles = (0.0, 10.0), (252.0, 10.0)
        for at, title in zip(titles, ("forward", "back"), strict=True):
            canvas.text(*at, title, bold=True)
        _draw_way(canvas, forward, FORWARD, "")
        _draw_way(canvas, back, BACK, "d")
        canvas.text(*loss, "loss", anchor="middle", bold=True)
        _arrow(canvas, forward["C"], loss)
        _arrow(canvas, loss, back["C"])
        canvas.height = max(y for _, y in [loss, *back.values()]) + 14

    return Drawing(draw, alt)


def _places(left: float, wide: float, rows: Sequence[float]) -> dict[str, tuple[float, float]]:
    """Return where the arrays stand."""
    return {name: (left + wide * x, rows[row]) for name, (x, row) in PLACES.items()}


def _draw_way(
    canvas: Canvas,
    places: Mapping[str, tuple[float, float]],
    arrows: Sequence[tuple[str, str, str, int]],
    before: str,
) -> None:
    """Draw the arrays and what leads from one to another."""
    for start, end, formula, side in arrows:
        a, b = places[start], places[end]
        _arrow(canvas, a, b)
        slope = abs(b[0] - a[0]) / abs(b[1] - a[1])
        off = side * (8 + 8 * slope)  # a formula is as high as it is; its arrow may lean
        _write(canvas, ((a[0] + b[0]) / 2 + off, (a[1] + b[1]) / 2), formula, side)
    for name, (x, y) in places.items():
        text = "dX, dW" if before and name == "X" else before + name
        canvas.text(x, y, text, ROLES.get(name, ""), anchor="middle", bold=True)


def _arrow(canvas: Canvas, a: Pair, b: Pair) -> None:
    """Draw an arrow between two names, clear of both."""
    start, end = np.array(a), np.array(b)
    along = (end - start) / np.hypot(*(end - start))
    canvas.arrow(start + 15 * along, end - 15 * along, "ink thin")


def _write(canvas: Canvas, at: Pair, formula: str, side: int) -> None:
    """Write a formula to the right or to the left of a place; ^ raises a letter, _ lowers it."""
    pieces = [piece for piece in re.split(r"([\^_]\w)", formula) if piece]
    sizes = [12.0 if piece[0] in "^_" else float(NAME) for piece in pieces]
    wide = [text_width(p.lstrip("^_"), size) for p, size in zip(pieces, sizes, strict=True)]
    x, y = at[0] - (sum(wide) if side < 0 else 0), at[1]
    for piece, size, room in zip(pieces, sizes, wide, strict=True):
        lift = {"^": -5.0, "_": 5.0}.get(piece[0], 0.0)
        text = piece.lstrip("^_ ")  # a browser leaves out a space at the beginning
        indent = room - text_width(piece.lstrip("^_").lstrip(), size)
        canvas.text(x + indent, y + lift, text, "soft", size=size)
        x += room + 0.2
