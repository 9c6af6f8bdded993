"""Which word told you: guess, then see whom a word listens to, and how far what it hears leans."""

from collections.abc import Mapping, Sequence

import numpy as np

from book.figures.canvas import Array, Box, Canvas
from book.figures.charts import PHONE
from book.figures.glue import as_text, number
from book.figures.live import Live, choice, group

TOP, LOW = 74.0, 152.0  # where the ribbons begin and end
NONE = -1  # no word was pressed


def which_word(
    sentences: Mapping[str, Sequence[str]],
    embeddings: Mapping[str, Array],
    weights: Mapping[str, Array],
    *,
    asker: int,
    clue: int,
    alt: str,
) -> Live:
    """Draw the first sentence: the shares that its word `asker` takes, and both leans.

    Each word has two numbers, money and water. The script hides the answer, and shows equal shares
    in its place, until a word is pressed. `clue` is the word that a reader will press.
    """
    first = next(iter(sentences))
    words, rows, shares = sentences[first], embeddings[first], weights[first]
    heard = {"average": rows.mean(axis=0), "attention": shares @ rows}

    def draw(canvas: Canvas) -> None:
        narrow = canvas.width == PHONE
        pitch, full = canvas.width / len(words), 110.0 if narrow else 160.0
        canvas.note(0, 9, "below each word: money, water")
        xs = [(j + 0.5) * pitch for j in range(len(words))]
        canvas.frames["ribbons"] = [pitch, full]
        # With equal shares first; only one of the two is seen at a time.
        _draw_ribbons(canvas, xs, np.full(len(words), 1 / len(words)), full, "even")
        _draw_ribbons(canvas, xs, shares, full, "ribbon")
        for j, x in enumerate(xs):
            look = "context" if j == asker else ""
            canvas.part(f"word-{j}").text(x, 28, words[j], look, anchor="middle", bold=True)
            canvas.part(f"numbers-{j}").note(x, 46, as_text(rows[j], 0), anchor="middle")
            share, part = number(float(shares[j]), 2), canvas.part(f"share-{j}")
            part.text(x, 64, share, "weight", anchor="middle", bold=True)
        said = f"{words[asker]} hears {as_text(heard['attention'])}"
        part = canvas.part("heard")
        part.text(canvas.width / 2, LOW + 14, said, "context", anchor="middle", bold=True)
        _draw_leans(canvas, {name: float(lean(at)) for name, at in heard.items()})

    numbers = {
        "clue": words[clue],
        "share": number(float(shares[clue]), 2),
        "lean": number(abs(lean(heard["attention"])), 2),
        "side": side(heard["attention"]),
        "plain": number(abs(lean(heard["average"])), 2),
    }
    asking = words[asker]
    return Live(
        "which_word",
        draw,
        alt=alt,
        start={"sentence": first, "guess": NONE},
        limits={"sentence": tuple(sentences), "guess": (NONE, len(words) - 1)},
        data={"sentences": sentences, "embeddings": embeddings, "asker": asker, "clue": clue},
        says=f"{{pressed}}*{asking.capitalize()}* listens to {{clue}} with {{share}}, and to "
        "itself as closely. What it hears leans {lean} toward {side}; the plain average leans "
        "{plain}.",
        numbers=numbers,
        phrases={"pressed": ""},
        hint=f"Press the word that told you what {asking} means.",
        controls=_buttons(sentences, asker),
    )


def _buttons(sentences: Mapping[str, Sequence[str]], asker: int) -> list[str]:
    """Return each sentence with a button for every word but the one that asks."""

    def word(text: str, sense: str, j: int) -> str:
        if j == asker:
            return f'<b class="context">{text}</b>'
        return choice(text, sentence=sense, guess=j)

    return [
        group(" ".join(words), *(word(text, sense, j) for j, text in enumerate(words)))
        for sense, words in sentences.items()
    ]


def lean(heard: Array) -> float:
    """Return how far what is heard leans, toward money if it is positive."""
    return float(heard[0] - heard[1])


def side(heard: Array) -> str:
    """Return which way what is heard leans."""
    return "money" if lean(heard) > 0 else "water"


def _draw_ribbons(
    canvas: Canvas, xs: Sequence[float], shares: Array, full: float, name: str
) -> None:
    """Draw shares as ribbons that run down from their words and meet."""
    end = (canvas.width - full) / 2
    look = "weight wash" if name == "ribbon" else f"faint {name}"
    for j, (x, share) in enumerate(zip(xs, map(float, shares), strict=True)):
        wide = full * share
        part = canvas.part(f"{name}-{j}")
        part.ribbon((x, TOP), (end + wide / 2, LOW), wide, look, down=True)
        end += wide


def _draw_leans(canvas: Canvas, leans: Mapping[str, float]) -> None:
    """Draw how far each lean reaches, water to the left and money to the right."""
    left, y = 104.0, LOW + 46
    middle, unit = (left + canvas.width) / 2, (canvas.width - left) / 2 - 30
    canvas.frames["leans"] = [middle, 0, unit, 1]
    canvas.note(0, y, "how far it leans")
    canvas.note(left + 4, y, "← water")
    canvas.note(canvas.width, y, "money →", anchor="end")
    top = y + 12
    for name, value in leans.items():
        y += 24
        look = "context" if name == "attention" else "soft"
        canvas.text(0, y, "plain average" if name == "average" else name, bold=True)
        reach = unit * value
        box = Box(middle + min(0, reach), y - 8, middle + max(0, reach), y + 8)
        canvas.part(f"bar-{name}").rectangle(box, f"{look} fill", 0.75)
        at = middle + reach + np.copysign(7, reach)
        part = canvas.part(f"lean-{name}", (at, y))
        anchor = "end" if value < 0 else "start"
        part.text(at, y, number(abs(value), 2), look, anchor=anchor, bold=True)
    canvas.path([(middle, top), (middle, y + 14)], "axis", keep_off=0)
    canvas.height = y + 16
