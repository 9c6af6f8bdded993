"""One matrix that turns the queries, and the weights that follow: how far one angle goes."""

from collections.abc import Mapping, Sequence

import numpy as np

from book.figures.canvas import Array, Box, Canvas
from book.figures.charts import PHONE, Frame, _name_tip
from book.figures.glue import number
from book.figures.live import Live, choice, group
from book.figures.live.two_matrices import draw_levels, entries

REACH = 1.9  # of the plane, to all sides
LONGEST = 5  # how many times as long as its word a query may be


def one_turn(
    words: Sequence[str],
    embeddings: Array,
    pair: tuple[int, int],
    angles: Array,
    curve: Array,
    *,
    size: float,
    weights: Array,
    alt: str,
) -> Live:
    """Draw the queries of a pair of words, which a matrix turns, and the weights of the pair.

    The matrix is `size` times a rotation, at first by 0 degrees, and queries are drawn shorter by
    as much; `curve` has the weight of the second word of the pair for the first, by angle.
    """
    asks, heard = (words[i] for i in pair)
    matrix = size * np.eye(2)
    names = {"I": 1, f"{size:g}I": size, f"−{size:g}I": -size}
    buttons = [choice(f"M = {name}", first=(long, 0)) for name, long in names.items()]

    def draw(canvas: Canvas) -> None:
        narrow = canvas.width == PHONE
        across = 300.0 if narrow else 262.0
        left = (canvas.width - across) / 2 if narrow else 0
        box = Box(left, 8, left + across, 8 + across)
        frame = Frame(canvas, box, (-REACH, REACH, -REACH, REACH))
        frame.tell("plane")
        x, y, right, up = canvas.frames["plane"]
        canvas.frames["query"] = [x, y, right / size, up / size]
        draw_levels(frame, embeddings[pair[0]] @ matrix, REACH, 2)
        tips = {words[i]: frame(embeddings[i] @ matrix / size) for i in pair}
        _draw_words(frame, dict(zip(words, embeddings, strict=True)), tips)
        x, y = (0.0, across + 22) if narrow else (across + 26, 0.0)
        _draw_tables(canvas, x, y, words, pair, matrix, weights)
        chart = Box(x + 28, y + 160, canvas.width - 12, y + 228)
        title = f"how much {asks} listens to {heard}"
        _draw_curve(canvas, chart, title, np.stack([angles, curve], -1), weights[pair])
        canvas.height = max(across + 12, canvas.height)

    return Live(
        "one_turn",
        draw,
        alt=alt,
        start={"first": matrix[0]},
        limits={"first": (-LONGEST, LONGEST)},
        data={"words": words, "embeddings": embeddings, "pair": pair}
        | {"angles": angles, "size": size},
        says=f"Turned by {{angle}} degrees and {{long}} times as long, *{asks}* listens to "
        f"*{heard}* with {{forth}}, and *{heard}* to *{asks}* with {{back}}; {{who}} prefers the "
        "other to itself{third}.",
        numbers={
            "angle": "0",
            "long": number(size, 2),
            "forth": number(weights[pair], 2),
            "back": number(weights[pair[::-1]], 2),
            "who": "neither",
        },
        phrases={"third": ""},
        hint="Drag the tip around, or pull it to another length, or select it and turn it (← →) "
        "or stretch it (↑ ↓) with the arrow keys.",
        controls=[group("Matrix", *buttons)],
    )


def _draw_words(frame: Frame, words: Mapping[str, Array], tips: Mapping[str, Array]) -> None:
    """Draw the words as points, and the queries of a pair of them as arrows."""
    canvas, origin = frame.canvas, frame((0, 0))
    for (word, tip), look in zip(tips.items(), ("query", "query pale"), strict=True):
        canvas.part(f"query-{word}").arrow(origin, tip, look)
    for place in words.values():
        canvas.dot(frame(place), "key")
    for name, place in words.items():
        canvas.part(f"name-{name}", frame(place)).label(name, frame(place), "key", first=-60)
    for word, tip in tips.items():
        _name_tip(canvas.part(f"asks-{word}", tip), f"{word} asks", origin, tip, "query")


def _draw_tables(
    canvas: Canvas,
    x: float,
    y: float,
    words: Sequence[str],
    pair: tuple[int, int],
    matrix: Array,
    weights: Array,
) -> None:
    """Draw the matrix and the weights of the pair."""
    wide = 46.0
    canvas.text(x, y + 10, "M", bold=True)
    entries(canvas, (x, y + 42), wide, matrix, "soft")
    canvas.part("symmetric").note(x, y + 114, "symmetric")
    right = canvas.width - len(words) * wide
    canvas.text(right, y + 10, "weights", "weight", bold=True)
    canvas.columns(words, right, y + 31, wide)
    canvas.rows([words[i] for i in pair], right - 8, y + 56, 30)
    entries(canvas, (right, y + 42), wide, weights[list(pair)], "weight")


def _draw_curve(canvas: Canvas, box: Box, title: str, curve: Array, weight: float) -> None:
    """Draw a weight against the angle, and its value without a turn."""
    frame = Frame(canvas, box, (-180, 180, 0, 1))
    frame.tell("chart")
    frame.y_axis([(0, "0"), (0.5, "0.5"), (1, "1")], title)
    frame.x_axis([(at, number(at, 0)) for at in range(-180, 181, 90)], "angle, degrees")
    canvas.path([(box.left, box.bottom), (box.right, box.bottom)], "axis")
    canvas.part("curve").path(frame(curve), "weight")
    now = frame((0, weight))
    canvas.part("now", now).dot(now, "ink")
    canvas.height = box.bottom + 48
