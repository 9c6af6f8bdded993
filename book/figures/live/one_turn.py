"""One matrix that turns the queries, and the weights that follow: how far one angle goes."""

from collections.abc import Sequence

import numpy as np

from book.figures.canvas import NUMBER, Array, Box, Canvas
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

    def draw(width: float) -> Canvas:
        canvas = Canvas(width)
        narrow = width == PHONE
        across = 300.0 if narrow else 262.0
        left = (width - across) / 2 if narrow else 0
        box = Box(left, 8, left + across, 8 + across)
        frame = Frame(canvas, box, (-REACH, REACH, -REACH, REACH))
        frame.tell("plane")
        x, y, right, up = canvas.frames["plane"]
        canvas.frames["query"] = [x, y, right / size, up / size]
        draw_levels(frame, embeddings[pair[0]] @ matrix, REACH, 2)
        for word, look in zip(pair, ("query", "query pale"), strict=True):
            with canvas.part(f"query-{words[word]}"):
                canvas.arrow(frame((0, 0)), frame(embeddings[word] @ matrix / size), look)
        for place in embeddings:
            canvas.dot(frame(place), "key")
        for name, place in zip(words, embeddings, strict=True):
            with canvas.part(f"name-{name}", frame(place)):
                canvas.label(name, frame(place), "key", first=-60)
        for word in pair:
            tip = frame(embeddings[word] @ matrix / size)
            with canvas.part(f"asks-{words[word]}", tip):
                _name_tip(canvas, f"{words[word]} asks", frame((0, 0)), tip, "query")
        _numbers(canvas, *((0.0, across + 22) if narrow else (across + 26, 0.0)))
        canvas.height = max(across + 12, canvas.height)
        return canvas

    def _numbers(canvas: Canvas, x: float, y: float) -> None:
        wide = 46.0
        canvas.text(x, y + 10, "M", bold=True)
        entries(canvas, (x, y + 42), wide, matrix, "soft")
        with canvas.part("symmetric"):
            canvas.text(x, y + 114, "symmetric", "soft", size=NUMBER)
        right = canvas.width - len(words) * wide
        canvas.text(right, y + 10, "weights", "weight", bold=True)
        for j, name in enumerate(words):
            middle = right + (j + 0.5) * wide
            canvas.text(middle, y + 31, name, "soft", anchor="middle", size=NUMBER)
        for i, name in enumerate((asks, heard)):
            canvas.text(right - 8, y + 56 + 30 * i, name, "soft", anchor="end", size=NUMBER)
        entries(canvas, (right, y + 42), wide, weights[list(pair)], "weight")

        chart = Box(x + 28, y + 160, canvas.width - 12, y + 228)
        frame = Frame(canvas, chart, (-180, 180, 0, 1))
        frame.tell("chart")
        frame.y_axis([(0, "0"), (0.5, "0.5"), (1, "1")], f"how much {asks} listens to {heard}")
        frame.x_axis([(at, number(at, 0)) for at in range(-180, 181, 90)], "angle, degrees")
        canvas.path([(chart.left, chart.bottom), (chart.right, chart.bottom)], "axis")
        with canvas.part("curve"):
            canvas.path(frame(np.stack([angles, curve], -1)), "weight")
        now = frame((0, weights[pair]))
        with canvas.part("now", now):
            canvas.dot(now, "ink")
        canvas.height = chart.bottom + 48

    return Live(
        "one_turn",
        draw,
        alt=alt,
        start={"first": matrix[0]},
        limits={"first": (-LONGEST, LONGEST)},
        data={
            "words": words,
            "embeddings": embeddings,
            "pair": pair,
            "angles": angles,
            "size": size,
        },
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
        controls=[
            group(
                "Matrix",
                choice("M = I", first=(1, 0)),
                choice(f"M = {size:g}I", first=(size, 0)),
                choice(f"M = −{size:g}I", first=(-size, 0)),
            )
        ],
    )
