"""Two matrices that move the plane, one for queries and one for keys, and the scores they make."""

from collections.abc import Iterable, Sequence

import numpy as np

from book.figures import palette
from book.figures.canvas import NUMBER, Array, Box, Canvas, text_width
from book.figures.charts import PHONE, Frame, _clipped, _name_tip
from book.figures.glue import number
from book.figures.live import Live, action, choice, group

NAMES = ("cat", "it")
REACH = 3.3  # of both planes, to all sides
LONGEST = 3  # a row of a matrix
SHEET = 8  # the part of the plane that is moved reaches from minus this to this
STRONG = 4  # a score that has its color in full
STRENGTH = {role: palette.strongest(role) for role in ("score", "negative")}


def two_matrices(w_query: Array, w_key: Array, weights: Array, *, alt: str) -> Live:
    """Draw the queries and the keys of two words, and the lines of equal score for the second.

    The words are the unit vectors, so their queries and keys are the rows of the matrices, and
    their scores the entries of M.
    """
    first, second = NAMES
    scores = w_query @ w_key.T
    rows = {
        f"{role}_{name}": row
        for role, matrix in (("query", w_query), ("key", w_key))
        for name, row in zip(NAMES, matrix, strict=True)
    }

    def draw(width: float) -> Canvas:
        canvas = Canvas(width)
        gap = 10 if width == PHONE else 24
        across = (width - gap) / 2
        canvas.text(0, 10, "queries", "query", bold=True)
        with canvas.part("asker"):
            canvas.text(across + gap, 10, f"keys, scored by “{second}”", "key", bold=True)
        for role, matrix, left in (("query", w_query, 0.0), ("key", w_key, across + gap)):
            box = Box(left, 34, left + across, 34 + across)
            frame = Frame(canvas, box, (-REACH, REACH, -REACH, REACH))
            frame.tell(role)
            with canvas.part(f"grid-{role}"):
                canvas.segments(frame(sheet(matrix, range(-SHEET, SHEET + 1), REACH)), "grid thin")
            with canvas.part(f"axes-{role}"):
                canvas.segments(frame(sheet(matrix, [0], REACH)), "axis")
            if role == "key":
                draw_levels(frame, w_query[1], REACH)
                with canvas.part("asks"):
                    canvas.arrow(frame((0, 0)), frame(w_query[1]), "query pale")
            for name, row in zip(NAMES, matrix, strict=True):
                with canvas.part(f"{role}_{name}"):
                    canvas.arrow(frame((0, 0)), frame(row), role)
            for name, row, score in zip(NAMES, matrix, scores[1], strict=True):
                text = f"{name} {number(float(score), 2)}" if role == "key" else name
                with canvas.part(f"name-{role}_{name}", frame(row)):
                    _name_tip(canvas, text, frame((0, 0)), frame(row), role)
        _tables(canvas, 48 + across)
        return canvas

    def _tables(canvas: Canvas, top: float) -> None:
        narrow = canvas.width == PHONE
        margin, gap = 28, 24
        wide = (canvas.width - margin - gap * (1 if narrow else 3)) / (4 if narrow else 8)
        tables = {"query": w_query, "key": w_key, "score": scores, "weight": weights}
        titles = ("W", "W", "scores M", "weights")
        for place, ((role, matrix), title) in enumerate(zip(tables.items(), titles, strict=True)):
            line, column = divmod(place, 2) if narrow else (0, place)
            x, y = margin + column * (2 * wide + gap), top + 96 * line
            canvas.text(x, y + 10, title, role, bold=True)
            if title == "W":
                after = x + text_width(title, bold=True) + 0.5
                canvas.text(after, y + 14, "QK"[place], role, size=12, bold=True)
            y += 24 if narrow and not line else 42
            for i, name in enumerate(NAMES):
                middle = x + (i + 0.5) * wide
                if title != "W":
                    canvas.text(middle, y - 11, name, "soft", anchor="middle", size=NUMBER)
                if not column:
                    canvas.text(x - 8, y + 14 + 30 * i, name, "soft", anchor="end", size=NUMBER)
            entries(canvas, (x, y), wide, matrix, role)
            if role == "score":
                said = "symmetric" if scores[0, 1] == scores[1, 0] else "not symmetric"
                with canvas.part("symmetric"):
                    canvas.text(x, y + 72, said, role, size=NUMBER)
            canvas.height = y + 84

    return Live(
        "two_matrices",
        draw,
        alt=alt,
        start={"matrices": "two", "asks": second} | rows,
        limits={"matrices": ("two", "one"), "asks": NAMES}
        | dict.fromkeys(rows, (-LONGEST, LONGEST)),
        data={"strength": STRENGTH},
        says=f"*{second.capitalize()}* listens to *{first}* with {{forth}}, *{first}* to "
        f"*{second}* with {{back}}; {{who}} prefers the other to itself. *M* is {{verdict}}.",
        numbers={
            "forth": number(weights[1, 0], 2),
            "back": number(weights[0, 1], 2),
            "who": "neither",
            "verdict": "not symmetric, so two matrices are needed",
        },
        hint="Drag the tip of an arrow, or select one and use the arrow keys.",
        controls=[
            group(
                "Matrices",
                choice("Two matrices", matrices="two"),
                choice("One matrix", matrices="one"),
            ),
            group("Turn", action("Turn both", "both"), action("Turn keys", "keys")),
        ],
    )


def entries(
    canvas: Canvas, corner: tuple[float, float], wide: float, matrix: Array, role: str
) -> None:
    """Draw the numbers of a matrix, a score as strong as it is, a weight with a bar below it."""
    for (i, j), value in np.ndenumerate(matrix):
        x, y = corner[0] + j * wide, corner[1] + 30 * i
        cell = Box(x, y, x + wide - 2, y + 28)
        with canvas.part(f"cell-{role}{i}{j}"):
            hue = "negative" if role == "score" and value < 0 else role
            most, share = STRENGTH.get(hue, 0), min(1.0, abs(value) / STRONG)
            depth = 0.04 + (most - 0.04) * share if role == "score" else 0.1
            canvas.rectangle(cell, f"{hue} fill", depth)
        if role == "weight":
            canvas.frames["bar"] = [wide - 2]
            with canvas.part(f"bar-{i}{j}"):
                bar = cell._replace(top=cell.bottom - 4, right=x + value * (wide - 2))
                canvas.rectangle(bar, "weight fill")
        with canvas.part(f"number-{role}{i}{j}"):
            middle = ((cell.left + cell.right) / 2, (cell.top + cell.bottom) / 2)
            canvas.text(*middle, number(value, 2), "cell", anchor="middle", size=NUMBER)


def sheet(matrix: Array, places: Iterable[int], reach: float) -> Array:
    """Return where a matrix takes the lines of the grid."""
    ends = ([(at, -SHEET), (at, SHEET), (-SHEET, at), (SHEET, at)] for at in places)
    return _seen([line for way in ends for line in np.reshape(way, (2, 2, 2)) @ matrix], reach)


def draw_levels(frame: Frame, query: Array, reach: float, step: int = 1) -> None:
    """Draw the lines on which the score of a query is a multiple of the step."""
    aside = 9 * np.array([-query[1], query[0]]) / np.hypot(*query)
    for part, heights, look in (
        ("zero", range(1), "soft thin"),
        ("more", range(1, 15), "score thin"),
        ("less", range(-14, 0), "negative thin dashed"),
    ):
        feet = [step * height * query / (query @ query) for height in heights]
        with frame.canvas.part(part):
            lines = _seen([np.array([foot - aside, foot + aside]) for foot in feet], reach)
            frame.canvas.segments(frame(lines), look)


def _seen(lines: Sequence[Array], reach: float) -> Array:
    ends = (_clipped(line, (-reach, reach, -reach, reach)) for line in lines)
    return np.array([line for line in ends if line is not None])
