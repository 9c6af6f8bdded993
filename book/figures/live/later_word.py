"""Change a word: which rows of the output move, with a causal mask and without one."""

import itertools
from collections.abc import Sequence

import numpy as np

from book.figures.canvas import Array, Box, Canvas
from book.figures.charts import PHONE
from book.figures.glue import number
from book.figures.live import Live, choice, group
from selfattn_ref import self_attention

ROW, TOP = 42.0, 44.0  # heights: of a row, and of what is above the first
STAYS = 1e-9  # what moves less than this stays


def later_word(
    words: Sequence[Sequence[str]],
    embeddings: Sequence[Array],
    matrices: Sequence[Array],
    changed: int,
    *,
    axes: Sequence[str],
    alt: str,
) -> Live:
    """Draw a sentence with one word `changed`, the outputs, and how far each has moved.

    `words` and `embeddings` are those of the sentence, and of what each word can be changed to;
    `axes` are those of the output.
    """
    count = len(words[0])
    now = np.arange(count) == changed
    output, moved = measure(embeddings, matrices, now, causal=True)
    most = max(
        measure(embeddings, matrices, np.array(new, dtype=bool), causal=causal)[1].max()
        for new in itertools.product((0, 1), repeat=count)
        for causal in (True, False)
    )
    shown = [words[int(new)][i] for i, new in enumerate(now)]

    def draw(canvas: Canvas) -> None:
        narrow = canvas.width == PHONE
        wide, across = (98.0, 53.0) if narrow else (140.0, 70.0)
        first = Box(0, TOP, wide, TOP + ROW)
        canvas.text(0, 10, "word", bold=True)
        canvas.frames["words"] = [0, TOP, wide, -ROW]
        left = wide + 12
        canvas.text(left, 10, "output", bold=True)
        canvas.columns(axes, left, 32, across)
        bar = left + 2 * across + 54
        canvas.text(left + 2 * across + 14, 10, "moved by", bold=True)
        canvas.frames["bars"] = [bar, (canvas.width - bar - 1) / most]
        for i, name in enumerate(shown):
            cell = first.cell(i, 0)
            look = "gate soft" if now[i] else "gate soft shut"
            canvas.part(f"word-{i}").rectangle(cell.inset(2), look)
            x, y = cell.middle
            canvas.part(f"name-{i}").text(x, y - 8, name, "cell", anchor="middle", bold=True)
            part = canvas.part(f"numbers-{i}")
            part.note(x, y + 10, plain(embeddings[int(now[i])][i]), "cell", anchor="middle")
            for k, value in enumerate(output[i]):
                box = Box(left + k * across, cell.top, left + (k + 1) * across, cell.bottom)
                canvas.rectangle(box.inset(2), "context fill", 0.08)
                part = canvas.part(f"out-{i}-{k}")
                part.note(*box.middle, number(float(value), 2), "cell", anchor="middle")
            distance = float(moved[i])
            part, look = canvas.part(f"moved-{i}"), "soft" if distance < STAYS else "context"
            part.note(bar - 8, y, said(distance), look, anchor="end")
            reach = Box(bar, y - 9, bar + canvas.frames["bars"][1] * distance, y + 9)
            canvas.part(f"bar-{i}").rectangle(reach, "context fill", 0.75)
        bottom = TOP + count * ROW
        canvas.path([(bar, TOP), (bar, bottom)], "axis", keep_off=0)
        canvas.height = bottom + 2

    return Live(
        "later_word",
        draw,
        alt=alt,
        start={"changed": "/".join("01"[int(new)] for new in now), "mask": "causal"},
        limits={"changed": "01", "mask": ("causal", "none")},
        data={"words": words, "embeddings": embeddings, "matrices": matrices, "stays": STAYS},
        says="{finding}",
        numbers={},
        phrases={"finding": finding(shown, now, moved, causal=True)},
        hint="Press a word to change it or to change it back, or use the arrow keys and the "
        "space bar.",
        controls=[
            group(
                "Mask",
                choice("With the mask", mask="causal"),
                choice("Without a mask", mask="none"),
            )
        ],
    )


def measure(
    embeddings: Sequence[Array], matrices: Sequence[Array], changed: Array, *, causal: bool
) -> tuple[Array, Array]:
    """Return the outputs with some words changed, and how far each is from that without."""
    x = np.where(changed[:, np.newaxis], embeddings[1], embeddings[0])
    output, before = (self_attention(rows, *matrices, causal=causal) for rows in (x, embeddings[0]))
    return output, np.linalg.norm(output - before, axis=1)


def plain(vector: Array) -> str:
    """Write the numbers of a word, as short as they are."""
    return ", ".join(f"{value:g}" for value in vector)


def said(distance: float) -> str:
    """Write how far a row has moved."""
    return "stays" if distance < STAYS else number(distance, 2)


def finding(names: Sequence[str], changed: Array, moved: Array, *, causal: bool) -> str:
    """Say how many rows have moved."""
    if not changed.any():
        return "No word is changed, and no row moves."
    count, first = int((moved >= STAYS).sum()), int(changed.argmax())
    tail = f", and none before “{names[first]}”" if causal and first else ""
    how = "With the mask" if causal else "Without a mask"
    return f"{how}, {count} of {len(names)} rows {'moves' if count == 1 else 'move'}{tail}."
