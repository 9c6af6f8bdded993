"""One word in two sentences: whom it listens to, and where it lands."""

from collections.abc import Mapping, Sequence

import numpy as np

from book.figures.canvas import Array, Box, Canvas
from book.figures.charts import PHONE, Frame, _name_tip, _ticks
from book.figures.glue import as_text, number
from book.figures.live import Live, choice, group

REACH = (-0.15, 2.35)  # of the plane, to both sides
ROW, FULL = 74.0, 80.0  # between the words that are listened to; as wide as a whole share would be


def two_banks(
    embeddings: Mapping[str, Array],
    sentences: Mapping[str, Sequence[str]],
    weights: Mapping[str, Array],
    contexts: Mapping[str, Array],
    *,
    word: str,
    alt: str,
) -> Live:
    """Draw the shares that `word` takes in the first sentence, and where it lands in each.

    The weights are those of the word's row; places are (money, water).
    """
    first = next(iter(sentences))
    buttons = [choice(_title(text), sentence=sense) for sense, text in sentences.items()]

    def draw(canvas: Canvas) -> None:
        narrow = canvas.width == PHONE
        left, row = (0.0, 46.0) if narrow else (248.0, ROW)
        top = 150.0 if narrow else 26.0
        unit = (canvas.width - left - 34) / (REACH[1] - REACH[0])
        box = Box(left + 26, top + 8, canvas.width - 8, top + 8 + unit * (REACH[1] - REACH[0]))
        frame = Frame(canvas, box, (*REACH, *REACH))
        frame.tell("plane")
        canvas.height = box.bottom + 46
        canvas.left = left
        frame.y_axis(_ticks(*REACH, 3), "water")
        frame.x_axis(_ticks(*REACH, 3), "money", lines=True)
        canvas.path(frame([(REACH[0], REACH[0]), (REACH[1], REACH[1])]), "soft thin dashed")

        middle = 66.0 if narrow else (box.top + box.bottom) / 2
        canvas.frames["ribbons"] = [0, middle, row, FULL]
        _draw_ribbons(canvas, middle, row, word, sentences[first], weights[first])
        _draw_places(frame, embeddings, sentences, word, contexts)

    said = {"landed": as_text(contexts[first])}
    for j, (each, share) in enumerate(zip(sentences[first], weights[first], strict=True)):
        said[f"word_{j}"] = "itself" if each == word else each
        said[f"share_{j}"] = number(float(share), 2)
    money, water = contexts[first]
    said["sense"] = "more money than water" if money > water else "more water than money"
    return Live(
        "two_banks",
        draw,
        alt=alt,
        start={"sentence": first} | {name: np.array(at) for name, at in embeddings.items()},
        limits={"sentence": tuple(sentences)} | dict.fromkeys(embeddings, REACH),
        data={"word": word, "sentences": sentences},
        says=f"*{word.capitalize()}* listens to {{word_0}} with {{share_0}}, to {{word_1}} with "
        "{share_1} and to {word_2} with {share_2}. It lands at {landed}: {sense}.",
        numbers=said,
        hint="Drag a word, or select one and use the arrow keys.",
        controls=[group("Sentence", *buttons)],
    )


def _draw_ribbons(
    canvas: Canvas, middle: float, row: float, word: str, heard: Sequence[str], shares: Array
) -> None:
    """Draw the shares that a word takes as ribbons that meet at it."""
    end = middle - FULL / 2
    for j, (other, share) in enumerate(zip(heard, map(float, shares), strict=True)):
        y, wide = middle + (j - 1) * row, FULL * share
        canvas.part(f"ribbon-{j}").ribbon((108, y), (196, end + wide / 2), wide, "weight wash")
        end += wide
        canvas.part(f"from-{j}").text(56, y, other, anchor="end", bold=True)
        canvas.part(f"share-{j}").text(66, y, number(share, 2), "weight", bold=True)
    canvas.text(202, middle, word, "context", bold=True)


def _draw_places(
    frame: Frame,
    embeddings: Mapping[str, Array],
    sentences: Mapping[str, Sequence[str]],
    word: str,
    contexts: Mapping[str, Array],
) -> None:
    """Draw the words, and where one of them lands in each sentence."""
    canvas, first = frame.canvas, next(iter(sentences))
    # an average of the three words lies among them
    corners = frame(np.array([embeddings[name] for name in sentences[first]]))
    canvas.part("reach").path(corners, "faint fill wash", closed=True, keep_off=0)
    start = frame(embeddings[word])
    for sense, place in contexts.items():
        look = "context" if sense == first else "context pale"
        canvas.part(f"to-{sense}").arrow(start, frame(place), look)
    for name, place in embeddings.items():
        look = "ink" if name in sentences[first] else "ink pale"
        canvas.part(name, frame(place)).dot(frame(place), look)
    for sense, place in contexts.items():
        tip, text = frame(place), f"in {_title(sentences[sense])}"
        _name_tip(canvas.part(f"tip-{sense}", tip), text, start, tip, "context")
    for name, place in embeddings.items():
        canvas.part(f"name-{name}", frame(place)).label(name, frame(place), away=13)


def _title(sentence: Sequence[str]) -> str:
    return " ".join(word.capitalize() for word in sentence)
