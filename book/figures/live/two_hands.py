"""Two hands: a query and a key that turn with the places of their words, and the score."""

from collections.abc import Sequence
from math import radians

import numpy as np

from book.figures.canvas import Array, Box, Canvas, Pair
from book.figures.charts import PHONE, Frame
from book.figures.glue import number
from book.figures.live import Live, choice, group
from selfattn_ref import rotate_pairs

LAST = 32  # the last place of the ruler
BESIDE = 66.0  # half of what the name of a word may take on it
NAMES = ("fast pair", "slow pair")
RIM, NEAR = 16.0, 0.5  # of the names around a dial: pixels outside it, radians between two
STEPS = 16  # of the arc between two hands


def two_hands(
    words: Sequence[str], query: Array, key: Array, *, base: float, places: Sequence[int], alt: str
) -> Live:
    """Draw two words on a ruler, and two dials with a hand of each.

    `words` are the one that asks and the one that is found, at `places`. Their `query` and `key`,
    (4,), make two pairs of columns by halves, which turn with the place as `base` says.
    """
    hands = np.stack([query, key]).reshape(2, 2, 2).transpose(2, 0, 1)  # (pair, hand, axis)
    frequencies = base ** -(np.arange(2) / 2)
    turned = [
        rotate_pairs(row[np.newaxis], [place], base=base)[0]
        for row, place in zip((query, key), places, strict=True)
    ]
    parts = (turned[0] * turned[1]).reshape(2, 2).sum(axis=0)
    angles = np.arctan2(hands[..., 1], hands[..., 0]) + np.outer(frequencies, places)
    lengths = np.hypot(hands[..., 0], hands[..., 1])
    apart = np.degrees(np.abs([wrapped(a - b) for a, b in angles]))
    i, j = places

    def draw(canvas: Canvas) -> None:
        narrow = canvas.width == PHONE
        radius = 54.0 if narrow else 80.0
        across = canvas.width / 2 if narrow else 226.0
        _draw_ruler(canvas, words, places)
        for n, name in enumerate(NAMES):
            middle = ((n + 0.5) * across, 240 + radius)
            canvas.text(middle[0], 186, name, anchor="middle", bold=True)
            turn = f"{number(np.degrees(frequencies[n]), 1)}° per position"
            canvas.note(middle[0], 204, turn, anchor="middle")
            canvas.frames[f"dial-{n}"] = [*middle, radius, radius]
            reach = lengths[n] / (1.08 * lengths.max())
            _draw_dial(canvas, middle, radius, angles[n], reach, n, words)
            x, y = middle[0], middle[1] + radius + 42
            canvas.part(f"made-{n}").note(x, y, _made(lengths[n], apart[n]), anchor="middle")
            said = number(float(parts[n]), 2)
            canvas.part(f"part-{n}").text(x, y + 24, said, "score", anchor="middle", bold=True)
        y += 24
        canvas.text(across, y, "+", "score", anchor="middle", bold=True)
        x, y, down = (canvas.width / 2 + 18, y + 28, 0) if narrow else (canvas.width - 58, y, 24)
        canvas.text(x - (70 if narrow else 0), y - down, "score", "score", anchor="middle")
        said = f"= {number(float(parts.sum()), 2)}"
        canvas.part("score").text(x, y, said, "score", anchor="middle", size=18, bold=True)
        canvas.height = y + 14

    return Live(
        "two_hands",
        draw,
        alt=alt,
        start={"i": i, "j": j},
        limits={"i": (0, LAST), "j": (0, LAST)},
        data={"words": words, "hands": hands, "frequencies": frequencies, "last": LAST},
        says=f"*{words[0].capitalize()}* is at {{i}} and *{words[1]}* at {{j}}, a difference of "
        "{difference}. The hands are {apart_0}° and {apart_1}° apart, and the score is {sum} = "
        "{score}.",
        numbers={
            "i": str(i),
            "j": str(j),
            "difference": number(i - j, 0),
            "apart_0": number(apart[0], 1),
            "apart_1": number(apart[1], 1),
            "sum": " + ".join(number(float(part), 2) for part in parts),
            "score": number(float(parts.sum()), 2),
        },
        hint="Drag a word, or the bar that carries both, or select one and move it with the arrow "
        "keys.",
        controls=[
            group(
                "Where the words are",
                choice("The dog bites", i=i, j=j),
                choice("7 words in front", i=i + 7, j=j + 7),
                choice("Swapped", i=j, j=i),
            )
        ],
    )


def wrapped(angle: float) -> float:
    """Return an angle without its whole turns."""
    return float(angle - 2 * np.pi * np.round(angle / (2 * np.pi)))


def _made(lengths: Array, apart: float) -> str:
    """Write what a pair adds to the score, as a product."""
    return f"{number(lengths[0], 2)} × {number(lengths[1], 2)} × cos {number(apart, 1)}°"


def _draw_ruler(canvas: Canvas, words: Sequence[str], places: Sequence[int]) -> None:
    """Draw the word that asks above the bar that carries both, and the other one below it."""
    frame = Frame(canvas, Box(20, 30, canvas.width - 20, 90), (0, LAST, -1, 1))
    frame.tell("ruler")
    low, high = (float(frame((at, 0))[0]) for at in (min(places), max(places)))
    canvas.part("bar").rectangle(Box(low - 9, 53, high + 9, 67), "faint fill")
    canvas.part("both", (high, 60)).note(high + 16, 60, "both")
    for role, word, place, row in zip(("query", "key"), words, places, (1, -1), strict=True):
        x, y = frame((place, row))
        canvas.part(role, (x, y)).dot((x, y), role, 5.5)
        at = min(max(float(x), BESIDE), canvas.width - BESIDE), float(y) - 20 * row
        part, said = canvas.part(f"name-{role}", at), f"{role} of {word}, at {place}"
        part.text(*at, said, role, anchor="middle", bold=True)
    below = Frame(canvas, Box(20, 90, canvas.width - 20, 126), (0, LAST, 0, 1))
    canvas.path([(20, 126), (canvas.width - 20, 126)], "axis", keep_off=0)
    below.x_axis([(at, str(at)) for at in range(0, LAST + 1, 4)], "position")


def _draw_dial(
    canvas: Canvas,
    middle: Pair,
    radius: float,
    angles: Array,
    reach: Array,
    n: int,
    words: Sequence[str],
) -> None:
    """Draw a dial, the hands of the query and of the key, and the angle between them."""

    def on(angle: float, far: float) -> tuple[float, float]:
        x, y = middle[0] + radius * far * np.cos(angle), middle[1] - radius * far * np.sin(angle)
        return float(x), float(y)

    canvas.path([on(radians(turn), 1) for turn in range(0, 361, 5)], "axis", keep_off=0)
    ticks = [[on(radians(turn), 0.93), on(radians(turn), 1)] for turn in range(0, 360, 30)]
    canvas.segments(np.array(ticks), "axis")
    asks, found = map(float, angles)
    between = wrapped(asks - found)
    arc = [on(found + between * step / STEPS, 0.5) for step in range(STEPS + 1)]
    part = canvas.part(f"between-{n}")
    part.path([middle, *arc], "score fill wash pale", closed=True, keep_off=0)
    tip = on(found, reach[1])
    canvas.part(f"key-{n}").path([middle, tip], "key", keep_off=0)
    canvas.part(f"tip-{n}", tip).dot(tip, "key", 5)
    canvas.part(f"query-{n}").arrow(middle, on(asks, reach[0]), "query")
    canvas.dot(middle, "ink", 2.5)
    aside = max(0.0, NEAR - abs(between)) / 2 * (-1 if between < 0 else 1)
    for role, word, angle in zip(
        ("query", "key"), words, (asks + aside, found - aside), strict=True
    ):
        at = on(angle, 1 + RIM / radius)
        canvas.part(f"around-{role}-{n}", at).note(*at, word, role, anchor="middle")
