"""Two matrices that move the plane, one for queries and one for keys, and the scores they make."""

from collections.abc import Iterable, Sequence

import numpy as np

from book.figures import palette
from book.figures.canvas import Array, Box, Canvas, text_width
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
    buttons = choice("Two matrices", matrices="two"), choice("One matrix", matrices="one")
    rows = {
        f"{role}_{name}": row
        for role, matrix in (("query", w_query), ("key", w_key))
        for name, row in zip(NAMES, matrix, strict=True)
    }

    def draw(canvas: Canvas) -> None:
        gap = 10 if canvas.width == PHONE else 24
        across = (canvas.width - gap) / 2
        canvas.text(0, 10, "queries", "query", bold=True)
        canvas.part("asker").text(across + gap, 10, f"keys, scored by “{second}”", "key", bold=True)
        for role, matrix, left in (("query", w_query, 0.0), ("key", w_key, across + gap)):
            box = Box(left, 34, left + across, 34 + across)
            frame = Frame(canvas, box, (-REACH, REACH, -REACH, REACH))
            _draw_plane(frame, role, matrix, w_query[1] if role == "key" else None, scores[1])
        _draw_tables(canvas, 48 + across, w_query, w_key, scores, weights)

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
            group("Matrices", *buttons),
            group("Turn", action("Turn both", "both"), action("Turn keys", "keys")),
        ],
    )


def _draw_plane(frame: Frame, role: str, matrix: Array, query: Array | None, scores: Array) -> None:
    """Draw where a matrix sends the plane and the words; keys with their scores for the query."""
    canvas, origin = frame.canvas, frame((0, 0))
    frame.tell(role)
    lines = sheet(matrix, range(-SHEET, SHEET + 1), REACH)
    canvas.part(f"grid-{role}").segments(frame(lines), "grid thin")
    canvas.part(f"axes-{role}").segments(frame(sheet(matrix, [0], REACH)), "axis")
    if query is not None:
        draw_levels(frame, query, REACH)
        canvas.part("asks").arrow(origin, frame(query), "query pale")
    for name, row in zip(NAMES, matrix, strict=True):
        canvas.part(f"{role}_{name}").arrow(origin, frame(row), role)
    for name, row, score in zip(NAMES, matrix, scores, strict=True):
        text = name if query is None else f"{name} {number(float(score), 2)}"
        _name_tip(canvas.part(f"name-{role}_{name}", frame(row)), text, origin, frame(row), role)


def _draw_tables(
    canvas: Canvas, top: float, w_query: Array, w_key: Array, scores: Array, weights: Array
) -> None:
    """Draw both matrices, the scores and the weights, two or four tables in a line."""
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
                canvas.note(middle, y - 11, name, anchor="middle")
            if not column:
                canvas.note(x - 8, y + 14 + 30 * i, name, anchor="end")
        entries(canvas, (x, y), wide, matrix, role)
        if role == "score":
            said = "symmetric" if scores[0, 1] == scores[1, 0] else "not symmetric"
            canvas.part("symmetric").note(x, y + 72, said, role)
        canvas.height = y + 84


def entries(
    canvas: Canvas, corner: tuple[float, float], wide: float, matrix: Array, role: str
) -> None:
    """Draw the numbers of a matrix, a score as strong as it is, a weight with a bar below it."""
    for (i, j), value in np.ndenumerate(matrix):
        x, y = corner[0] + j * wide, corner[1] + 30 * i
        cell = Box(x, y, x + wide - 2, y + 28)
        hue = "negative" if role == "score" and value < 0 else role
        most, share = STRENGTH.get(hue, 0), min(1.0, abs(value) / STRONG)
        depth = 0.04 + (most - 0.04) * share if role == "score" else 0.1
        canvas.part(f"cell-{role}{i}{j}").rectangle(cell, f"{hue} fill", depth)
        if role == "score":
            canvas.ticks(cell)
        if role == "weight":
            canvas.frames["bar"] = [wide - 2]
            bar = cell._replace(top=cell.bottom - 4, right=x + value * (wide - 2))
            canvas.part(f"bar-{i}{j}").rectangle(bar, "weight fill")
        part = canvas.part(f"number-{role}{i}{j}")
        part.note(*cell.middle, number(value, 2), "cell", anchor="middle")


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
        lines = _seen([np.array([foot - aside, foot + aside]) for foot in feet], reach)
        frame.canvas.part(part).segments(frame(lines), look)


def _seen(lines: Sequence[Array], reach: float) -> Array:
    ends = (_clipped(line, (-reach, reach, -reach, reach)) for line in lines)
    return np.array([line for line in ends if line is not None])
