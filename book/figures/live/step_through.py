"""A text grows word by word: what is computed from scratch, and what with a cache."""

from collections.abc import Sequence

import numpy as np

from book.figures import palette
from book.figures.canvas import NUMBER, Array, Box, Canvas, text_width
from book.figures.charts import PHONE
from book.figures.glue import number
from book.figures.live import Live, action, dial

DOWN, OUT, APART, GAP = (
    26.0,
    40.0,
    6.0,
    40.0,
)  # heights of rows; widths: outputs, before them, panels


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
    count, wide = output.shape
    strongest = palette.strongest("weight")

    def draw(width: float) -> Canvas:
        canvas = Canvas(width)
        narrow = width == PHONE
        margin = max(text_width(word, NUMBER, bold=True) for word in words) + 10
        panels = 1 if narrow else 2
        room = (width - 1 - margin - GAP * (panels - 1)) / panels
        across = (room - APART - wide * OUT) / count

        def cell(
            x: float, y: float, value: float, part: str, look: str, across: float, kept: str
        ) -> None:
            shade = 0.04 + (strongest - 0.04) * value if look == "weight" else 0.08
            box = Box(x + 1, y + 1, x + across - 1, y + DOWN - 1)
            with canvas.part(part):
                canvas.rectangle(box, f"{look} fill{kept}", shade)
                middle = (x + across / 2, y + DOWN / 2)
                text = number(value, 2)
                canvas.text(*middle, text, f"cell{kept}", anchor="middle", size=NUMBER)

        def panel(name: str, title: str, x: float, y: float, rows: Array, outputs: Array) -> None:
            canvas.text(x, y - 34, title, bold=True)
            end = x + count * across + APART
            canvas.text(end, y - 34, "output", bold=True)
            for j, word in enumerate(words):
                middle = x + (j + 0.5) * across
                with canvas.part(f"word-{j}"):
                    canvas.text(middle, y - 11, word, "soft", anchor="middle", size=NUMBER)
            store = y + count * DOWN + 9
            for i, row in enumerate(rows):
                top = y + i * DOWN
                kept = " reused" if name == "cached" and i < count - 1 else ""
                for j, share in enumerate(row):
                    new = i if name == "cached" else max(i, j)  # the step that adds this cell
                    cell(x + j * across, top, float(share), f"{name}-{new}", "weight", across, kept)
                for axis, value in enumerate(outputs[i]):
                    cell(end + axis * OUT, top, float(value), f"{name}-{i}", "context", OUT, kept)
                left = x + i * across
                with canvas.part(f"{name}-kept-{i}"):
                    box = Box(left + 2, store, left + across - 2, store + 22)
                    canvas.rectangle(box, f"gate value{kept}")
                    middle = left + across / 2
                    look = f"cell{kept}"
                    canvas.text(middle, store + 11, "k v", look, anchor="middle", size=NUMBER)
            canvas.frames[name] = [x, y, end + wide * OUT, -DOWN]
            low, first = y + count * DOWN, y + (count - 1) * DOWN if name == "cached" else y
            corners = [(x, first), (end + wide * OUT, first), (end + wide * OUT, low), (x, low)]
            with canvas.part(f"{name}-now"):
                canvas.path(corners, "ink", closed=True)
            with canvas.part(f"{name}-note"):
                canvas.text(x, store + 36, _note(name, count), "soft", size=NUMBER)
            with canvas.part(f"{name}-sum"):
                total = products[name == "cached"][-1]
                canvas.text(x, store + 57, f"{total} multiplications so far")
            canvas.height = store + 72

        def named(y: float) -> None:
            for i, word in enumerate(words):
                with canvas.part(f"row-{i}"):
                    look = "chosen" if i == count - 1 else "soft"
                    middle = y + (i + 0.5) * DOWN
                    canvas.text(margin - 10, middle, word, look, anchor="end", size=NUMBER)

        named(44)
        panel("scratch", "from scratch", margin, 44, weights, output)
        x, y = (margin, canvas.height + 54) if narrow else (margin + room + GAP, 44)
        if narrow:
            named(y)
        panel("cached", "with a cache", x, y, np.array(cached, dtype=object), cached_output)
        return canvas

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


def _note(name: str, count: int) -> str:
    kept = f"1 computed, {count - 1} kept" if name == "cached" else f"{count} computed"
    return f"keys and values: {kept}"
