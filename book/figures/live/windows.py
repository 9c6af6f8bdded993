"""A window over a text: who sees whom, in one layer and in several, and how much arrives."""

from collections.abc import Sequence

import numpy as np

from book.figures.canvas import NUMBER, Array, Box, Canvas, text_width
from book.figures.charts import PHONE
from book.figures.glue import number
from book.figures.live import Live, choice, dial, group
from selfattn_ref import attention_weights, window_mask

MOST_LAYERS = 4
STRENGTH = (0.0, 0.2, 0.75)  # of cells: not seen, through several layers, in one


def windows(
    names: Sequence[str], left: int, layers: int, *, first: bool, clue: int, alt: str
) -> Live:
    """Draw which words each word sees through windows, and how much of each is in the last word.

    A window holds a word and `left` words before it; with `first`, the first word as well. The
    shares are those after so many `layers` in which each word listens to all that it sees alike.
    The sentence speaks of the word at `clue`.
    """
    count = len(names)
    seen, shares = measure(count, left, layers, first)

    def draw(canvas: Canvas) -> None:
        margin = max(text_width(name, NUMBER) for name in names) + 10
        across = min(56.0, (canvas.width - margin) / count)
        down = 30.0 if canvas.width == PHONE else 32.0
        box = Box(margin, 22, margin + across, 22 + down)
        canvas.columns(names, margin, 10, across)
        canvas.rows(names, margin - 10, 22 + down / 2, down)
        for (i, j), how in np.ndenumerate(seen):
            cell = box.cell(i, j).inset(1)
            canvas.part(f"cell-{i}-{j}").rectangle(cell, "weight fill", STRENGTH[int(how)])
            canvas.rectangle(cell, "faint ring thread", 0)
        top = 22 + count * down + 26
        for x, how, said in ((0, 2, "seen in one layer"), (150, 1, "through several")):
            key = Box(margin + x, top - 19, margin + x + 14, top - 5)
            canvas.rectangle(key, "weight fill", STRENGTH[how])
            canvas.note(key.right + 6, top - 12, said)
        canvas.text(margin, top + 18, f"how much of each word is in {names[-1]}", bold=True)
        first_share = Box(margin, top + 32, margin + across, top + 32 + down)
        for j, share in enumerate(shares):
            cell = first_share.cell(0, j)
            canvas.part(f"share-{j}").rectangle(cell.inset(1), "context fill", 0.8 * share)
            canvas.part(f"share-text-{j}").note(
                *cell.middle, number(share, 2), "cell", anchor="middle"
            )
        canvas.height = top + 36 + down

    return Live(
        "windows",
        draw,
        alt=alt,
        start={"left": left, "layers": layers, "first": first},
        limits={"left": (0, count - 1), "layers": (1, MOST_LAYERS)},
        data={"count": count, "clue": clue, "strength": STRENGTH},
        says=f"Each layer keeps {{keys}} of {count} keys. Through all layers, *{names[-1]}* sees "
        f"{{back}} words back. *{names[clue].capitalize()}* is {count - 1 - clue} back, and its "
        "share is {share}.",
        numbers={
            "keys": str(min(count, left + 1 + first)),
            "back": str(min(left * layers, count - 1)),
            "share": number(shares[clue], 2),
        },
        hint="Drag the window wider, or put layers on top of each other.",
        controls=[
            dial("words before itself that a word sees", "left", (0, count - 1), 1),
            dial("layers", "layers", (1, MOST_LAYERS), 1),
            group(
                "The first word",
                choice("Window alone", first=False),
                choice("With the first word", first=True),
            ),
        ],
    )


def measure(count: int, left: int, layers: int, first: bool) -> tuple[Array, Array]:
    """Return how each word sees each: 2 in one layer, 1 through several, 0; and the shares."""
    mask = window_mask(count, count, left, 0) | (first & (np.arange(count) == 0))
    alike = np.linalg.matrix_power(attention_weights(np.zeros((count, count)), mask=mask), layers)
    return (alike > 0) + mask.astype(int), alike[-1]
