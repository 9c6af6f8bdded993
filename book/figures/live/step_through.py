"""A text grows word by word: what is computed from scratch, and what with a cache."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from book.figures import palette
from book.figures.canvas import NUMBER, Array, Box, Canvas, text_width
from book.figures.charts import PHONE
from book.figures.glue import number
from book.figures.live import Live, action, dial, row_names

TOP = 44  # above the first row stand titles and words
DOWN, OUT = 26.0, 40.0  # the height of a row, and the width of an output
APART, GAP = 6.0, 40.0  # between weights and outputs, and between the panels


def step_through(
    words: Sequence[str],
    weights: Array,
    output: Array,
    cached: Sequence[Array],
    cached_output: Array,
    products: tuple[Sequence[int], Sequence[int]],
    *,
    alt: str,
) -> Live:
    """Draw the last step of both passes, with the weights and the outputs of each.

    `weights` are those of the masked pass, `cached` the row of each step with a cache; `products`
    says how many multiplications both have made after each word.
    """
    count = len(words)
    scratch = Panel("scratch", "from scratch", words, weights, output, products[0][-1])
    rows = np.array(cached, dtype=object)
    kept = Panel("cached", "with a cache", words, rows, cached_output, products[1][-1])

    def draw(canvas: Canvas) -> None:
        narrow = canvas.width == PHONE
        margin = max(text_width(word, NUMBER, bold=True) for word in words) + 10
        panels = 1 if narrow else 2
        room = (canvas.width - 1 - margin - GAP * (panels - 1)) / panels
        across = (room - APART - output.shape[1] * OUT) / count
        row_names(canvas, words, count - 1, margin - 10, TOP + DOWN / 2, DOWN)
        scratch.draw(canvas, margin, TOP, across)
        x, y = (margin, canvas.height + 54) if narrow else (margin + room + GAP, TOP)
        if narrow:
            row_names(canvas, words, count - 1, x - 10, y + DOWN / 2, DOWN)
        kept.draw(canvas, x, y, across)

    return Live(
        "step_through",
        draw,
        alt=alt,
        start={"words": count},
        limits={"words": (1, count)},
        data={"words": words, "products": products},
        says="*{word}* comes: {rows} from scratch, one with the cache. "
        "So far {scratch} multiplications against {cached}.",
        numbers={
            "word": words[-1].capitalize(),
            "rows": f"{count} rows",
            "scratch": str(products[0][-1]),
            "cached": str(products[1][-1]),
        },
        hint="A frame holds what is computed for the new word; gray was computed before.",
        controls=[
            action("Back", "back"),
            action("Next word", "next"),
            dial("Words:", "words", (1, count), 1),
        ],
        wide=True,
    )


@dataclass(frozen=True)
class Panel:
    """One of the two passes: its weights and outputs, row by row."""

    name: str
    title: str
    words: Sequence[str]
    rows: Array  # the cached pass has rows of growing length
    outputs: Array
    products: int

    def draw(self, canvas: Canvas, x: float, y: float, across: float) -> None:
        """Draw the panel with its first weight at (x, y); each weight is `across` wide."""
        name, count = self.name, len(self.words)
        canvas.text(x, y - 34, self.title, bold=True)
        end = x + count * across + APART
        canvas.text(end, y - 34, "output", bold=True)
        for j, word in enumerate(self.words):
            canvas.part(f"word-{j}").columns([word], x + j * across, y - 11, across)
        store = y + count * DOWN + 9
        for i in range(count):
            kept = "reused" if name == "cached" and i < count - 1 else ""
            self._draw_row(canvas, i, Box(x, y, x + across, y + DOWN), end, kept)
            left = x + i * across
            box = Box(left + 2, store, left + across - 2, store + 22)
            canvas.part(f"{name}-kept-{i}").cell(box, "k v", "gate value", 1, also=kept)
        right, low = end + self.outputs.shape[1] * OUT, y + count * DOWN
        canvas.frames[name] = [x, y, right, -DOWN]
        top = low - DOWN if name == "cached" else y
        canvas.part(f"{name}-now").outline(Box(x, top, right, low), "ink")
        canvas.part(f"{name}-note").note(x, store + 36, _note(name, count))
        canvas.part(f"{name}-sum").text(x, store + 57, f"{self.products} multiplications so far")
        canvas.height = store + 72

    def _draw_row(self, canvas: Canvas, i: int, first: Box, end: float, kept: str) -> None:
        strongest = palette.strongest("weight")
        for j, share in enumerate(map(float, self.rows[i])):
            new = i if self.name == "cached" else max(i, j)  # the step that adds this cell
            shade = 0.04 + (strongest - 0.04) * share
            box, text = first.cell(i, j).inset(1), number(share, 2)
            canvas.part(f"{self.name}-{new}").cell(box, text, "weight fill", shade, also=kept)
        output = first._replace(left=end, right=end + OUT)
        for axis, value in enumerate(map(float, self.outputs[i])):
            box, text = output.cell(i, axis).inset(1), number(value, 2)
            canvas.part(f"{self.name}-{i}").cell(box, text, "context fill", 0.08, also=kept)


def _note(name: str, count: int) -> str:
    kept = f"1 computed, {count - 1} kept" if name == "cached" else f"{count} computed"
    return f"keys and values: {kept}"
