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

    def draw(width: float) -> Canvas:
        canvas = Canvas(width)
        narrow = width == PHONE
        left, row = (0.0, 46.0) if narrow else (248.0, ROW)
        top = 150.0 if narrow else 26.0
        unit = (width - left - 34) / (REACH[1] - REACH[0])
        box = Box(left + 26, top + 8, width - 8, top + 8 + unit * (REACH[1] - REACH[0]))
        frame = Frame(canvas, box, (*REACH, *REACH))
        frame.tell("plane")
        canvas.height = box.bottom + 46
        canvas.left = left
        frame.y_axis(_ticks(*REACH, 3), "water")
        frame.x_axis(_ticks(*REACH, 3), "money", lines=True)
        canvas.path(frame([(REACH[0], REACH[0]), (REACH[1], REACH[1])]), "soft thin dashed")

        middle = 66.0 if narrow else (box.top + box.bottom) / 2
        canvas.frames["ribbons"] = [0, middle, row, FULL]
        end = middle - FULL / 2
        for j, (other, share) in enumerate(zip(sentences[first], weights[first], strict=True)):
            y, wide = middle + (j - 1) * row, FULL * float(share)
            with canvas.part(f"ribbon-{j}"):
                canvas.ribbon((108, y), (196, end + wide / 2), wide, "weight wash")
            end += wide
            with canvas.part(f"from-{j}"):
                canvas.text(56, y, other, anchor="end", bold=True)
            with canvas.part(f"share-{j}"):
                canvas.text(66, y, number(float(share), 2), "weight", bold=True)
        canvas.text(202, middle, word, "context", bold=True)

        with canvas.part("reach"):  # an average of the three words lies among them
            corners = frame(np.array([embeddings[name] for name in sentences[first]]))
            canvas.path(corners, "faint fill wash", closed=True, keep_off=0)
        start = frame(embeddings[word])
        for sense, place in contexts.items():
            with canvas.part(f"to-{sense}"):
                canvas.arrow(start, frame(place), "context" if sense == first else "context pale")
        for name, place in embeddings.items():
            with canvas.part(name, frame(place)):
                canvas.dot(frame(place), "ink" if name in sentences[first] else "ink pale")
        for sense, place in contexts.items():
            with canvas.part(f"tip-{sense}", frame(place)):
                named = "in " + " ".join(each.capitalize() for each in sentences[sense])
                _name_tip(canvas, named, start, frame(place), "context")
        for name, place in embeddings.items():
            with canvas.part(f"name-{name}", frame(place)):
                canvas.label(name, frame(place), away=13)
        return canvas

    shares = {f"share_{j}": number(float(share), 2) for j, share in enumerate(weights[first])}
    words = {
        f"word_{j}": "itself" if each == word else each for j, each in enumerate(sentences[first])
    }
    sense = (
        "more money than water"
        if contexts[first][0] > contexts[first][1]
        else "more water than money"
    )
    return Live(
        "two_banks",
        draw,
        alt=alt,
        start={"sentence": first} | {name: np.array(at) for name, at in embeddings.items()},
        limits={"sentence": tuple(sentences)} | dict.fromkeys(embeddings, REACH),
        data={"word": word, "sentences": sentences},
        says=f"*{word.capitalize()}* listens to {{word_0}} with {{share_0}}, to {{word_1}} with "
        "{share_1} and to {word_2} with {share_2}. It lands at {landed}: {sense}.",
        numbers=shares | words | {"landed": as_text(contexts[first]), "sense": sense},
        hint="Drag a word, or select one and use the arrow keys.",
        controls=[
            group(
                "Sentence",
                *(
                    choice(" ".join(each.capitalize() for each in text), sentence=sense)
                    for sense, text in sentences.items()
                ),
            )
        ],
    )
