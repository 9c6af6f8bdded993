"""The average drowns: two planes, with what a word hears among words that say nothing."""

from collections.abc import Sequence

import numpy as np

from book.figures.canvas import Array, Box, Canvas
from book.figures.charts import GAP, PHONE, Frame
from book.figures.glue import number
from book.figures.live import Live, dial
from selfattn_ref import dot_similarity, softmax

LIMITS = (0.0, 2.05, 0.0, 2.65)  # of a plane: money, then water
TICKS = [(0.0, "0"), (1.0, "1"), (2.0, "2")]
MOST = 100  # words that say nothing


def drowning(word: Array, clue: Array, silent: int, names: Sequence[str], *, alt: str) -> Live:
    """Draw what a word hears by the plain average and by attention, `silent` words beside it.

    The silent words are zeros; places are (money, water). `names` are those of the word and of its
    clue, which both have the same score.
    """
    shares, heard = measure(word, clue, silent)
    leans = [at[1] - at[0] for at in heard]

    def draw(canvas: Canvas) -> None:
        gap = 20.0 if canvas.width == PHONE else GAP
        across = (canvas.width - gap) / 2
        for k, title in enumerate(("plain average", "attention")):
            left = k * (across + gap)
            canvas.text(left, 10, title, bold=True)
            part = canvas.part(f"lean-{k}")
            said = f"leans {number(leans[k], 2)}"
            part.text(left + across, 10, said, "context", anchor="end", bold=True)
            _draw_shares(canvas, Box(left, 28, left + across, 44), float(shares[k]), k, names)
            scale = (across - 22) / (LIMITS[1] - LIMITS[0])
            box = Box(left + 22, 104, left + across, 104 + scale * (LIMITS[3] - LIMITS[2]))
            frame = Frame(canvas, box, LIMITS)
            _draw_plane(frame, word, clue, heard[k], k, names)

    return Live(
        "drowning",
        draw,
        alt=alt,
        start={"silent": silent},
        limits={"silent": (0, MOST)},
        data={"word": word, "clue": clue, "names": names},
        says="With {silent} {words} nothing, the plain average leans {lean_0} toward water and "
        "attention {lean_1}: {ratio} times as far.",
        numbers={
            "silent": str(silent),
            "lean_0": number(leans[0], 2),
            "lean_1": number(leans[1], 2),
            "ratio": number(leans[1] / leans[0], 2),
        },
        phrases={"words": "word that says" if silent == 1 else "words that say"},
        hint="Move the slider, and watch both arrows.",
        controls=[dial("words that say nothing", "silent", (0, MOST), 1)],
    )


def measure(word: Array, clue: Array, silent: int) -> tuple[Array, Array]:
    """Return how much of all that is heard is the clue, and what is heard: (2,) and (2, 2)."""
    rows = np.concatenate([[word, clue], np.zeros((silent, 2))])
    weights = np.stack([np.full(len(rows), 1 / len(rows)), softmax(dot_similarity(rows)[0])])
    return weights[:, 1], weights @ rows


def _draw_shares(canvas: Canvas, box: Box, share: float, k: int, names: Sequence[str]) -> None:
    """Draw all that is heard as one bar: the word, its clue, which has as much, and the rest."""
    full = box.right - box.left
    canvas.frames[f"bar-{k}"] = [box.left, full]
    canvas.rectangle(box, "faint fill")
    for j in range(2):
        x = box.left + j * full * share
        part = canvas.part(f"share-{k}-{j}")
        part.rectangle(Box(x, box.top, x + full * share, box.bottom), "weight fill", 0.8 - 0.25 * j)
    text = f"{' and '.join(names)}, {number(share, 2)} each"
    canvas.part(f"each-{k}").note(box.left, box.bottom + 14, text, "weight")


def _draw_plane(
    frame: Frame, word: Array, clue: Array, heard: Array, k: int, names: Sequence[str]
) -> None:
    """Draw the word, its clue, and what the word hears, as an arrow from the origin."""
    canvas = frame.canvas
    frame.tell(f"plane-{k}")
    frame.y_axis(TICKS, "water")
    frame.x_axis(TICKS, "money", lines=True)
    low, high = LIMITS[0], LIMITS[1]
    canvas.path(frame([(low, low), (high, high)]), "soft thin dashed", keep_off=0)
    x, y = frame((0.6, 0.28))
    canvas.note(x, y, "no lean")
    canvas.part(f"to-{k}").arrow(frame((0, 0)), frame(heard), "context")
    canvas.dot(frame(word), "ink")
    canvas.dot(frame(clue), "ink")
    canvas.label(names[0], frame(word), first=-45)
    canvas.label(names[1], frame(clue), first=-45)
    canvas.height = frame.box.bottom + 46
