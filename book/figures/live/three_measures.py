"""Which of two words is a third like? Three measures, and where each changes its mind."""

from collections.abc import Mapping, Sequence

import numpy as np

from book.figures.canvas import Array, Box, Canvas
from book.figures.charts import PHONE, Frame, _ticks
from book.figures.glue import number
from book.figures.live import Live, choice, group

REACH = (-0.75, 2.75)  # of the plane, to both sides
MEASURES = {  # name, the look of its line
    "dot": ("dot product", ""),
    "cosine": ("cosine", " dashed"),
    "distance": ("distance", " dotted"),
}


def lines(one: Array, other: Array) -> dict[str, tuple[Array, float]]:
    """Return where each measure finds both words as similar: n and c, for all x with n·x = c.

    Where n·x is more than c, the other word is more similar.
    """
    way = other - one
    turn = other / np.linalg.norm(other) - one / np.linalg.norm(one)
    return {
        "dot": (way, 0.0),
        "cosine": (turn, 0.0),
        "distance": (way, (other @ other - one @ one) / 2),
    }


def three_measures(
    words: Sequence[str], embeddings: Array, values: Mapping[str, Array], *, alt: str
) -> Live:
    """Draw three words as arrows; `values` says how similar the first is to the other two."""
    best = {name: _best(pair, words, name) for name, pair in values.items()}

    def draw(canvas: Canvas) -> None:
        narrow = canvas.width == PHONE
        size = canvas.width - 30 if narrow else 322
        top = 188.0 if narrow else 36.0
        box = Box(22, top, 22 + size, top + size)
        frame = Frame(canvas, box, (*REACH, *REACH))
        frame.tell("plane")
        canvas.height = box.bottom + 46
        _draw_regions(frame, words, lines(*embeddings[1:]))
        _draw_words(frame, dict(zip(words, embeddings, strict=True)))
        _draw_board(canvas, 0.0 if narrow else box.right + 26, words, values, best)

    buttons = [choice(text[0].capitalize(), measure=name) for name, text in MEASURES.items()]
    said = {name: f"says {word}" if word else "shrugs" for name, word in best.items()}
    return Live(
        "three_measures",
        draw,
        alt=alt,
        start={"measure": "distance"} | dict(zip(words, embeddings, strict=True)),
        limits={"measure": tuple(MEASURES)} | dict.fromkeys(words, REACH),
        data={"words": words},
        says="The dot product {dot}, the cosine {cosine}, the distance {distance}.",
        numbers=said,
        hint="Drag a word, or select one and use the arrow keys.",
        controls=[group("What is drawn", *buttons)],
    )


def _draw_regions(
    frame: Frame, words: Sequence[str], borders: Mapping[str, tuple[Array, float]]
) -> None:
    """Draw the plane, shaded where the measures disagree, and the border of each measure."""
    canvas, box = frame.canvas, frame.box
    corners = np.array([(REACH[i], REACH[j]) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))])
    canvas.rectangle(box, "faint fill", 0.6)
    for name, side in zip(words[1:], (-1, 1), strict=True):
        region = corners
        for n, c in borders.values():
            region = _half(region, side * n, side * c)
        canvas.part(f"all-{name}").path(frame(region), "paper fill", closed=True, keep_off=0)
    canvas.left = box.left
    frame.y_axis(_ticks(*REACH, 4), "water")
    frame.x_axis(_ticks(*REACH, 4), "money", lines=True)
    for ends in (((REACH[0], 0), (REACH[1], 0)), ((0, REACH[0]), (0, REACH[1]))):
        canvas.path(frame(ends), "axis", keep_off=0)
    for name, (n, c) in borders.items():
        look = f"ink{MEASURES[name][1]}{'' if name == 'distance' else ' thin soft'}"
        canvas.part(f"line-{name}").path(frame(_crossings(corners, n, c)), look, keep_off=0.5)


def _draw_words(frame: Frame, places: Mapping[str, Array]) -> None:
    """Draw the words as arrows, and the distances of the first to the others."""
    canvas = frame.canvas
    (_, x), *others = places.items()
    for name, place in others:
        canvas.part(f"to-{name}").path(frame([x, place]), "score")
    for name, place in places.items():
        canvas.part(name).arrow(frame((0, 0)), frame(place), "ink")
    for name, place in others:
        # of the dot product, which is not what is drawn
        canvas.part(f"foot-{name}").dot(frame((place @ x) / (x @ x) * x), "score", 0)
    for name, place in places.items():
        right, up = place
        turn = float(np.degrees(np.arctan2(up, right)))
        part = canvas.part(f"name-{name}", frame(place))
        part.label(name, frame(place), "ink", first=turn, away=13)  # clear of the ring


def _draw_board(
    canvas: Canvas,
    left: float,
    words: Sequence[str],
    values: Mapping[str, Array],
    best: Mapping[str, str],
) -> None:
    """Draw the numbers of each measure, shaded where the words are more similar, and the key."""
    narrow = canvas.width == PHONE
    row, step = (10.0, 30.0) if narrow else (60.0, 44.0)
    cells, wide = ([200.0, 282.0], 64.0) if narrow else ([left + 126, left + 175], 46.0)
    canvas.frames["board"] = [*cells, wide]
    canvas.left = 0
    canvas.text(left, row, f"{words[0]} and", "soft")
    for x, name in zip(cells, words[1:], strict=True):
        canvas.text(x, row, name, anchor="middle", bold=True)
    for name, pair in values.items():
        row += step
        who = best[name]
        a, b = (0, 1) if who == "" else (words.index(who) - 1,) * 2
        room = Box(cells[a] - wide / 2, row - 13, cells[b] + wide / 2, row + 13)
        canvas.part(f"best-{name}").rectangle(room, "score fill", 0.28)
        canvas.path([(left, row), (left + 20, row)], f"ink{MEASURES[name][1]}")
        canvas.text(left + 27, row, MEASURES[name][0])
        for x, word, value in zip(cells, words[1:], pair, strict=True):
            text = number(float(value), 2)
            canvas.part(f"{name}-{word}").text(x, row, text, "cell", anchor="middle")
    row += step
    canvas.path([(left, row), (left + 20, row)], "score")
    canvas.part("how").note(left + 27, row, "the shorter way wins")
    left, row = (left + 182, row) if narrow else (left, row + 26)
    canvas.rectangle(Box(left, row - 7, left + 20, row + 7), "faint fill", 0.6)
    canvas.note(left + 27, row, "they disagree")


def _best(pair: Array, words: Sequence[str], measure: str) -> str:
    """Return the most similar word, or nothing for a tie as far as the numbers show."""
    if number(pair[0], 2) == number(pair[1], 2):
        return ""
    return words[1 + int(pair.argmin() if measure == "distance" else pair.argmax())]


def _half(region: Array, n: Array, c: float) -> Array:
    """Return the part of a convex region in which n·x is at least c."""
    kept = []
    for a, b in zip(region, np.roll(region, -1, axis=0), strict=True):
        over, next_ = n @ a - c, n @ b - c
        kept += [a] if over >= 0 else []
        kept += [a + (b - a) * over / (over - next_)] if over * next_ < 0 else []
    return np.array(kept)


def _crossings(region: Array, n: Array, c: float) -> Array:
    """Return where a line enters and leaves a convex region."""
    return np.array([p for p in _half(region, n, c) if abs(n @ p - c) < 1e-9])
