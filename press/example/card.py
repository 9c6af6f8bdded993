"""Draw the card that other sites show for a link to this one: the weights of a Sheet, a sentence.

A program for chats shows it a quarter as large, so a number is 50 pixels high.
"""

import textwrap
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from sphinx.application import Sphinx

from book.figures import palette
from book.figures.sheet import Sheet, shown, tint
from press.example.data import documents
from press.example.sheets import of_example
from press.fonts import packaged
from press.site.theme import ROOT

SIZE = (1200, 630)
CELL = (160, 118)  # pixels of an entry
CORNER = (660, 174)  # where the entries begin, from the left and from the top
EXAMPLE, WORD = "SA037", "bank"


def sentence(sheet: Sheet, word: str) -> str:
    """Say to whom a word listens most, in numbers."""
    weights = sheet.arrays()["weights"][sheet.rows.index(word)]
    most = int(weights.argmax())
    words = " ".join(sheet.rows)
    return (
        f"In “{words}”, {word} listens to {sheet.columns[most]} with a weight "
        f"of {shown(float(weights[most]))}."
    )


def draw(sheet: Sheet, word: str, title: str) -> Figure:
    """Return the card."""
    width, height = SIZE
    figure = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor=palette.PAPER.light)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")

    def write(x: float, y: float, text: str, size: float, color: palette.Color, **how: Any) -> None:
        kind = how.pop("face", "SansPro-Regular")
        family = "font_source_serif_pro" if "Serif" in kind else "font_source_sans_pro"
        font = FontProperties(fname=packaged(family, f"files/Source{kind}.otf"), size=size * 0.72)
        axes.text(x, y, text, fontproperties=font, color=color.light, **how)

    weights, (left, top), (wide, high) = sheet.arrays()["weights"], CORNER, CELL
    for i, name in enumerate(sheet.rows):
        ours = {"face": "SansPro-Semibold"} if name == word else {}
        middle = top + (i + 0.5) * high
        write(left - 16, middle, name, 38, palette.INK, ha="right", va="center_baseline", **ours)
        for j, value in enumerate(weights[i]):
            color = palette.mixed("weight", tint(value, 1.0) / 100, 0)
            box = (left + j * wide + 2, top + i * high + 2), wide - 4, high - 4
            axes.add_patch(Rectangle(*box, fc=tuple(color), lw=0))
            centered = {"ha": "center", "va": "center_baseline"}
            x = left + (j + 0.5) * wide
            write(x, middle, shown(value), 56, palette.INK, **centered, **ours)
    for j, name in enumerate(sheet.columns):
        write(left + (j + 0.5) * wide, top - 16, name, 38, palette.INK, ha="center")
    band = (left, top + sheet.rows.index(word) * high), len(sheet.columns) * wide, high
    axes.add_patch(Rectangle(*band, fill=False, ec=palette.INK.light, lw=4))
    write(left, top - 76, "weights", 38, palette.ROLES["weight"], face="SansPro-Semibold")

    write(60, top - 76, title, 34, palette.SOFT)
    for line, text in enumerate(textwrap.wrap(sentence(sheet, word), 15)):
        write(60, top + 52 + 67 * line, text, 55, palette.INK, face="SerifPro-Semibold")
    promise = f"{sheet.name}. Every number computed, tested and citable."
    write(60, height - 50, promise, 34, palette.SOFT)
    return figure


def has_card() -> bool:
    """Tell whether the book has the example that is drawn; a small one may lack it."""
    return EXAMPLE in documents(ROOT)


def write_card(app: Sphinx) -> None:
    """Put the card into the site."""
    if has_card():
        card = draw(of_example(EXAMPLE)[0], WORD, str(app.config.html_title))
        card.savefig(Path(app.outdir, "_static", "card.png"), metadata={"Software": None})


def describe_card(app: Sphinx, page: str, template: str, context: dict[str, Any], _: Any) -> None:
    """Tell the head of a page what the card shows."""
    if has_card():
        context["card_size"] = SIZE
        said = sentence(of_example(EXAMPLE)[0], WORD)
        context["card_says"] = f"Three words and their weights. {said}"
