"""Numbers of several heads as dots on lines, before training and after."""

from collections.abc import Sequence
from typing import NamedTuple

from book.figures.canvas import NUMBER, Array, Box, Canvas, text_width
from book.figures.charts import PHONE, Drawing, Frame

DOWN, APART = 24.0, 10.0  # from row to row, and more above a query


class Strip(NamedTuple):
    """A row of dots: queries, each with a line from zero, or keys; both arrays are (n, heads)."""

    name: str
    role: str
    before: Array
    after: Array


def strips(
    rows: Sequence[Strip], named: Sequence[tuple[int, float, str]], limit: float, *, alt: str
) -> Drawing:
    """Draw a panel for each head: each row on a line of its own, from -`limit` to `limit`.

    `named` has for each head a dot that gets a name: its row, where it is, and the name.
    """
    heads = len(named)
    margin = max(text_width(row.name, NUMBER, row.role == "query") for row in rows) + 12

    def draw(canvas: Canvas) -> None:
        narrow = canvas.width == PHONE
        across = canvas.width - margin if narrow else (canvas.width - margin - 24) / heads
        asks = [i > 0 and row.role == "query" for i, row in enumerate(rows)]
        ys = [DOWN * (i + 0.5) + APART * sum(asks[: i + 1]) for i in range(len(rows))]
        tall, top = ys[-1] + DOWN / 2, 52.0
        _draw_legend(canvas, margin)
        for head in range(heads):
            left = margin if narrow else margin + head * (across + 24)
            canvas.text(left + across / 2, top - 8, f"head {head}", anchor="middle", bold=True)
            box = Box(left, top + 6, left + across, top + 6 + tall)
            frame = Frame(canvas, box, (-limit, limit, tall, 0))
            ticks = [(float(at), str(at).replace("-", "−")) for at in range(-3, 4)]
            frame.x_axis(ticks, "", lines=True)
            canvas.path(frame([(0, 0), (0, tall)]), "axis", keep_off=0)
            for row, y in zip(rows, ys, strict=True):
                if narrow or not head:
                    _name(canvas, row, left - 12, box.top + y)
                _draw_row(frame, row, head, y)
            place, at, name = named[head]
            x, y = frame((at, ys[place]))
            anchor = "start" if at > 0 else "end"
            canvas.note(x + (9 if at > 0 else -9), y, name, rows[place].role, anchor=anchor)
            canvas.height = box.bottom + 30
            top = box.bottom + 56 if narrow else top

    return Drawing(draw, alt)


def _name(canvas: Canvas, row: Strip, x: float, y: float) -> None:
    asks = row.role == "query"
    canvas.text(x, y, row.name, row.role, anchor="end", size=NUMBER, bold=asks)


def _draw_legend(canvas: Canvas, x: float) -> None:
    """Say above the panels what a ring and a dot are."""
    for name, look in (("before training", "soft ring pale"), ("after", "soft")):
        canvas.dot((x + 6, 10), look)
        canvas.note(x + 16, 10, name)
        x += text_width(name, NUMBER) + 36


def _draw_row(frame: Frame, row: Strip, head: int, y: float) -> None:
    """Draw what was before as rings, and what is after as dots."""
    for at in row.before[:, head]:
        frame.canvas.dot(frame((at, y)), f"{row.role} ring pale")
    for at in row.after[:, head]:
        if row.role == "query":
            frame.canvas.path(frame([(0, y), (at, y)]), row.role, keep_off=0)
        frame.canvas.dot(frame((at, y)), row.role)
