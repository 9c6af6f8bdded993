"""Tiles: a table of scores of which one tile exists at a time, and what each query keeps."""

from collections.abc import Sequence

import numpy as np

from book.figures.canvas import Array, Box, Canvas
from book.figures.charts import PHONE
from book.figures.glue import number
from book.figures.live import Live, action
from selfattn_ref import AttentionState

TOP, TALL, LEFT = 84.0, 30.0, 50.0  # of the table: its top, a row, its left
STATE = (("m", "score", 0), ("ℓ", "weight", 2), ("o", "context", 2))  # name, role, digits
SHADE = 0.1


def tiles(queries: Array, keys: Array, values: Array, size: int, start: int, *, alt: str) -> Live:
    """Draw the table of the scores of queries and keys, one number each, at one of its tiles.

    A tile has `size` queries and as many keys. Tiles are counted from 1, row by row; `start` is
    the one that is there.
    """
    beside = len(keys) // size
    now, across = divmod(start - 1, beside)
    given = [(row, size * (across + 1) if row == now else len(keys)) for row in range(now + 1)]

    def draw(canvas: Canvas) -> None:
        narrow = canvas.width == PHONE
        first = Box(LEFT, TOP, LEFT + (26 if narrow else 42), TOP + TALL)
        _draw_table(canvas, first, (queries, keys, values), size, start)
        left = first.cell(0, len(keys)).left + (8 if narrow else 34)
        widths = (30.0, 46.0, 52.0) if narrow else (52.0, 72.0, 72.0)
        canvas.text(left, TOP - 36, "state", bold=True)
        for (name, look, digits), wide in zip(STATE, widths, strict=True):
            canvas.note(left + wide / 2, TOP - 14, name, look, anchor="middle")
            texts = [" "] * len(queries)
            for row, seen in given:
                for i in range(row * size, (row + 1) * size):
                    if row == now or name == "o":
                        texts[i] = number(state(queries[i], keys, values, seen)[name], digits)
            for i, text in enumerate(texts):
                box = Box(left, TOP, left + wide, TOP + TALL).cell(i, 0).inset(1)
                part = canvas.part(f"{name}-{i}")
                part.rectangle(box, f"{look} fill", 0 if text == " " else SHADE)
                part = canvas.part(f"{name}-text-{i}")
                part.note(*box.middle, text, "cell", anchor="middle")
            left += wide

    return Live(
        "tiles",
        draw,
        alt=alt,
        start={"tile": start},
        limits={"tile": (1, len(queries) // size * beside)},
        data={"queries": queries, "keys": keys, "values": values, "size": size},
        says=f"Tile {{tile}} of {len(queries) // size * beside}: queries {{queries}} meet keys "
        f"{{keys}}. It holds {size**2} scores; {{gone}} came before and are forgotten. {{done}}",
        numbers={
            "tile": str(start),
            "queries": span(now, size),
            "keys": span(across, size),
            "gone": str((start - 1) * size**2),
        },
        phrases={"done": done(now, size) if across == beside - 1 else ""},
        hint="Press Next tile, and watch the states of the queries in its rows.",
        controls=[action("Back", "back"), action("Next tile", "next")],
    )


def state(query: float, keys: Array, values: Array, seen: int) -> dict[str, float]:
    """Return the three parts of the state of a query that has seen the first keys."""
    whole = AttentionState.of([query * keys[:seen]], values[:seen, np.newaxis])
    return {"m": whole.shift.item(), "ℓ": whole.total.item(), "o": whole.output.item()}


def span(block: int, size: int) -> str:
    """Return the numbers of a block of queries or keys."""
    return f"{block * size}–{(block + 1) * size - 1}"


def done(block: int, size: int) -> str:
    """Say that a block of queries has seen all keys."""
    return f"Queries {span(block, size)} have seen all keys, and o is their output."


def _draw_table(canvas: Canvas, first: Box, given: Sequence[Array], size: int, start: int) -> None:
    """Draw the table under its keys and values, beside its queries, with the tile that is there."""
    queries, keys, values = given
    now, across = divmod(start - 1, len(keys) // size)
    wide = first.right - first.left
    canvas.frames["table"] = [first.left, TOP, wide, -TALL]
    canvas.text(0, 10, "scores", bold=True)
    for y, name, row in ((34.0, "value", values), (54.0, "key", keys)):
        canvas.note(0, y, name, name)
        for j, one in enumerate(row):
            chosen = " chosen" if j // size == across else ""
            part = canvas.part(f"{name}-{j}")
            x = first.cell(0, j).middle[0]
            part.note(x, y, number(one, 0), f"{name}{chosen}", anchor="middle")
    canvas.note(0, TOP - 10, "query", "query")
    for i, one in enumerate(queries):
        chosen = " chosen" if i // size == now else ""
        y = first.cell(i, 0).middle[1]
        canvas.part(f"query-{i}").note(LEFT - 14, y, number(one, 0), f"query{chosen}", anchor="end")
        for j, key in enumerate(keys):
            box, tile = first.cell(i, j).inset(1), (i // size, j // size)
            canvas.rectangle(box, "faint ring thread", 0)
            here, score = tile == (now, across), float(one * key)
            part = canvas.part(f"score-{i}-{j}")
            look = "score fill negative" if here and score < 0 else "score fill"
            part.rectangle(box, look, SHADE + 0.1 * abs(score) if here else 0)
            canvas.ticks(box)
            text = number(score, 0) if here else "·" if tile < (now, across) else " "
            canvas.part(f"score-text-{i}-{j}").note(*box.middle, text, "cell", anchor="middle")
    corner = first.cell(now * size, across * size)
    box = corner._replace(right=corner.left + size * wide, bottom=corner.top + size * TALL)
    canvas.part("tile").outline(box, "ink")
    low = first.cell(len(queries), 0).top
    canvas.note(first.left, low + 16, "in the frame: the tile that exists; dots: scores forgotten")
    canvas.height = low + 30
