"""One place for a word of two meanings: drag it, and the averages of two sentences follow."""

from collections.abc import Mapping, Sequence

import numpy as np

from book.figures.canvas import Array, Box, Canvas
from book.figures.charts import PHONE, Frame
from book.figures.glue import number
from book.figures.live import Live

LIMITS = (0.0, 2.6, 0.0, 2.6)  # of the plane: money, then water
TICKS = [(0.0, "0"), (1.0, "1"), (2.0, "2")]
REACH = (0.0, 2.2)  # of the word, so that its name stays inside


def one_place(
    name: str,
    start: Array,
    others: Mapping[str, Array],
    named: Mapping[str, Array],
    *,
    alt: str,
) -> Live:
    """Draw a word and the averages of sentences with it.

    `start` is its place, (money, water). `others` are the rows of the other words of each sentence,
    by a word that says which sentence it is; `named` are words that are drawn.
    """
    sums = [rows.sum(axis=0) for rows in others.values()]
    counts = [len(rows) + 1 for rows in others.values()]
    averages = [(start + sum_) / count for sum_, count in zip(sums, counts, strict=True)]

    one, other = others  # the names of the sentences

    def draw(canvas: Canvas) -> None:
        size = (canvas.width if canvas.width == PHONE else 380) - 30
        frame = Frame(canvas, Box(22, 40, 22 + size, 40 + size), LIMITS)
        frame.tell("plane")
        frame.y_axis(TICKS, "water")
        frame.x_axis(TICKS, "money", lines=True)
        canvas.path(frame([(0, 0), (2.6, 2.6)]), "soft thin dashed", keep_off=0)
        for word, at in named.items():
            canvas.dot(frame(at), "soft")
            canvas.label(word, frame(at), "soft", first=-45)
        _draw_averages(frame, (one, other), averages)
        x, y = frame(start)
        canvas.part("word", (x, y)).dot((x, y), "ink", 5.5)
        canvas.part("name-word", (x, y)).text(x, y - 16, name, anchor="middle", bold=True)
        canvas.height = frame.box.bottom + 46

    return Live(
        "one_place",
        draw,
        alt=alt,
        start={"word": start},
        limits={"word": REACH},
        data={"name": name, "sums": sums, "counts": counts},
        says=f"*{name.capitalize()}* {{own}}. The average with *{one}* {{lean_0}}, that "
        f"with *{other}* {{lean_1}}: {{apart}} apart.",
        numbers={
            "own": leans(start),
            "lean_0": leans(averages[0]),
            "lean_1": leans(averages[1]),
            "apart": number(float(np.ptp([at[0] - at[1] for at in averages])), 2),
        },
        hint=f"Drag {name}, or select it and use the arrow keys.",
    )


def leans(at: Array) -> str:
    """Say how far a place is from the diagonal, in what it has more of."""
    lean = number(float(at[1] - at[0]), 2)
    side = "toward money" if lean.startswith("−") else "toward water"
    return "does not lean" if lean == "0.00" else f"leans {lean.lstrip('−')} {side}"


def _draw_averages(frame: Frame, names: Sequence[str], averages: Sequence[Array]) -> None:
    """Draw the average of each sentence, as an arrow from the origin."""
    canvas = frame.canvas
    for k, (name, at) in enumerate(zip(names, averages, strict=True)):
        x, y = frame(at)
        canvas.part(f"to-{k}").arrow(frame((0, 0)), (x, y), "context")
        part = canvas.part(f"name-{k}", (x, y))
        part.note(x + 4, y + 14, f"with {name}", "context")
