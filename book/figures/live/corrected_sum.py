"""A sum that is corrected: exponentials under a running maximum, key by key."""

from collections.abc import Sequence

import numpy as np

from book.figures.canvas import Array, Box, Canvas
from book.figures.charts import PHONE
from book.figures.glue import as_text, number
from book.figures.live import Live, action, choice, group

LEFT, TOP, FULL = 48.0, 54.0, 120.0  # of the bars; the height of an exponential of 1
WIDE = 34.0  # a bar
ROW, NAMES = 28.0, 78.0  # of the table, a row and the names of all
COLUMNS = (("m", "score", 44.0), ("ℓ", "weight", 58.0), ("o", "context", 94.0))
State = tuple[str, str, str]  # m, the sum and the output, as they are written


def corrected_sum(scores: Array, values: Array, seen: int, *, alt: str) -> Live:
    """Draw the exponentials of the keys seen so far, and the state of the query after each.

    `scores` are those of one query, one per key, and `values` the values of these keys.
    """
    states = [state(scores[:n], values[:n]) for n in range(1, seen + 1)]

    def draw(canvas: Canvas) -> None:
        narrow = canvas.width == PHONE
        pitch = 74.0 if narrow else 56.0
        _draw_bars(canvas, scores, values, seen, pitch)
        corner = (0.0, canvas.height + 12) if narrow else (LEFT + 4 * pitch + 21, 10.0)
        _draw_states(canvas, corner, len(scores), states)

    most, total, output = states[-1]
    return Live(
        "corrected_sum",
        draw,
        alt=alt,
        start={"seen": seen, "rule": "right"},
        limits={"seen": (1, len(scores)), "rule": ["right", "forgot"]},
        data={"scores": scores, "values": values},
        says="Key {key} has the score {score}. {what} The sum is {sum} and the output {output}. "
        "{finding}",
        numbers={
            "key": str(seen - 1),
            "score": number(scores[seen - 1], 0),
            "sum": total,
            "output": output,
        },
        phrases={
            "what": f"The largest is still {most}, so nothing is rescaled.",
            "finding": "That is the softmax of these keys.",
        },
        hint="Guess what the next score does to the sum, then press Next key.",
        controls=[
            action("Back", "back"),
            action("Next key", "next"),
            group(
                "When a larger score comes",
                choice("Rescale", rule="right"),
                choice("Forget to rescale", rule="forgot"),
            ),
        ],
    )


def state(scores: Array, values: Array) -> State:
    """Return m, the sum of the exponentials relative to it, and the average, as written."""
    parts = np.exp(scores - scores.max())
    return number(scores.max(), 0), number(parts.sum()), as_text(parts @ values / parts.sum())


def _draw_bars(canvas: Canvas, scores: Array, values: Array, seen: int, pitch: float) -> None:
    """Draw a bar for each key, in a dashed outline, above its score and its value."""
    bottom = TOP + FULL
    came = np.exp(scores - np.maximum.accumulate(scores))  # as high as each was when it came
    bars = np.where(np.arange(len(scores)) < seen, np.exp(scores - scores[:seen].max()), 0)
    canvas.text(0, 10, "exp(score − m)", bold=True)
    canvas.note(0, 30, "dashed: as high as it was when it came")
    canvas.frames["bars"] = [LEFT, bottom, pitch, FULL]
    for at in (0, 1):
        y = bottom - at * FULL
        end = LEFT + len(scores) * pitch
        canvas.path([(LEFT, y), (end, y)], "grid" if at else "axis", keep_off=0)
        canvas.note(LEFT - 8, y, str(at), anchor="end")
    for row, name in enumerate(("key", "score", "value"), 1):
        canvas.note(0, bottom + 18 + 22 * row, name)
    for j, score in enumerate(scores):
        x, here = LEFT + (j + 0.5) * pitch, j < seen
        bar = Box(x - WIDE / 2, bottom - FULL * bars[j], x + WIDE / 2, bottom)
        canvas.part(f"bar-{j}").rectangle(bar, "weight fill", 0.75)
        full = bar._replace(top=bottom - FULL * came[j]) if here else Box(x, bottom, x, bottom)
        canvas.part(f"came-{j}").outline(full, "ink thin dashed")
        part, text = canvas.part(f"exp-{j}"), number(bars[j]) if here else " "
        part.text(x, bottom + 18, text, "weight", anchor="middle", bold=True)
        canvas.note(x, bottom + 40, str(j), anchor="middle")
        score_look, value_look = ("score", "value") if here else ("soft", "soft")
        part = canvas.part(f"score-{j}")
        part.note(x, bottom + 62, number(score, 0), score_look, anchor="middle")
        part = canvas.part(f"value-{j}")
        part.note(x, bottom + 84, as_text(values[j], 0), value_look, anchor="middle")
    canvas.height = bottom + 98


def _draw_states(
    canvas: Canvas, corner: tuple[float, float], count: int, states: Sequence[State]
) -> None:
    """Draw what the query keeps after each key, and below it the softmax of all so far."""
    x, y = corner
    canvas.text(x, y, "what the query keeps", bold=True)
    y += 44
    nothing: State = (" ", " ", " ")
    rows = [(f"after key {k}", str(k)) for k in range(count)]
    shown = [*states, *[nothing] * (count - len(states)), states[-1]]
    for k, (name, key) in enumerate([*rows, ("softmax", "right")]):
        top = y + k * ROW + 10 * (k == count)
        canvas.note(x, top, name, "" if k == count else "soft")
        left = x + NAMES
        for (column, look, wide), text in zip(COLUMNS, shown[k], strict=True):
            if not k:
                canvas.note(left + wide / 2, y - 24, column, look, anchor="middle")
            box = Box(left, top - ROW / 2, left + wide, top + ROW / 2).inset(1)
            part = canvas.part(f"{column}-{key}")
            part.rectangle(box, f"{look} fill", 0.1 if text != " " else 0)
            part = canvas.part(f"{column}-text-{key}")
            part.note(*box.middle, text, "cell", anchor="middle")
            left += wide
    canvas.height = max(canvas.height, top + ROW)
