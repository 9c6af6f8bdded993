"""Three values and their average: where each score moves it, and how much of that a loss feels."""

import numpy as np

from book.figures.canvas import Array, Box, Canvas
from book.figures.charts import PHONE, Frame
from book.figures.glue import as_text, number
from book.figures.live import Live, dial
from selfattn_ref import softmax, softmax_vjp

LIMITS = (-1.25, 4.35, -1.25, 4.35)  # of the plane
TICKS = [(float(at), str(at)) for at in range(5)]
SCORE, REACH = (-1.0, 4.0), (-1.3, 1.3)  # of the first score, and of each number of dc
ALONG = 1.35  # how far the line of dc runs, to both sides of the output
LARGEST = 2.2  # slope, or sum of the first slopes, that has room
ROW = 48.0


def triangle(values: Array, score: float, dc: Array, *, alt: str) -> Live:
    """Draw the average of three `values`, (3, 2), and the slopes of a loss along the three scores.

    The scores are `score`, 0 and 0; `dc` are the slopes of the loss along the average.
    """
    weights, output, moves, slopes = measure(values, score, dc)

    def draw(canvas: Canvas) -> None:
        narrow = canvas.width == PHONE
        side = 316.0 if narrow else 340.0
        frame = Frame(canvas, Box(24, 30, 24 + side, 30 + side), LIMITS)
        frame.tell("plane")
        frame.y_axis(TICKS, "second number")
        frame.x_axis(TICKS, "first number", lines=True)
        canvas.path(frame(values), "soft thin dashed", closed=True, keep_off=0)
        _draw_corners(frame, values, weights)
        _draw_moves(frame, output, moves, dc)
        canvas.height = frame.box.bottom + 46
        if narrow:
            _draw_slopes(canvas, Box(0, canvas.height + 12, canvas.width, 0), slopes)
        else:
            _draw_slopes(canvas, Box(frame.box.right + 28, 42, canvas.width, 0), slopes)

    return Live(
        "triangle",
        draw,
        alt=alt,
        start={"dc": dc, "score": score},
        limits={"dc": REACH, "score": SCORE},
        data={"values": values},
        says="With *dc* = {dc}, the slopes along the scores are {slope_0}, {slope_1} and "
        "{slope_2}. {verdict}",
        numbers={"dc": as_text(dc)} | {f"slope_{j}": number(s, 2) for j, s in enumerate(slopes)},
        phrases={"verdict": verdict(slopes)},
        hint="Drag the tip of dc, or select it and use the arrow keys. Turn score 0, and see where "
        "the output goes.",
        controls=[dial("score 0 =", "score", SCORE, 0.01)],
    )


def measure(values: Array, score: float, dc: Array) -> tuple[Array, Array, Array, Array]:
    """Return the weights, their average, where each score moves it, and the slopes of the loss."""
    weights = softmax(np.array([score, 0.0, 0.0]))
    output = weights @ values
    moves = weights[:, np.newaxis] * (values - output)
    return weights, output, moves, softmax_vjp(weights, values @ dc)


def verdict(slopes: Array) -> str:
    """Say which scores move the loss most."""
    if np.abs(slopes).max() < 0.005:
        return "No score moves this loss."
    up, down = int(slopes.argmax()), int(slopes.argmin())
    return f"Raising score {up} raises the loss most; raising score {down} lowers it most."


def _draw_corners(frame: Frame, values: Array, weights: Array) -> None:
    """Draw the three values, with their names and weights outside of the triangle."""
    for j, (value, weight) in enumerate(zip(values, weights, strict=True)):
        x, y = frame(value)
        frame.canvas.dot((x, y), "value")
        anchor, at = ("end", (x - 10, y)) if value[0] == 0 else ("middle", (x, y + 20))
        frame.canvas.text(*at, f"v{'₀₁₂'[j]}", "value", anchor=anchor, bold=True)
        part = frame.canvas.part(f"weight-{j}")
        part.note(at[0], at[1] + 18, number(float(weight), 2), "weight", anchor=anchor)


def _draw_moves(frame: Frame, output: Array, moves: Array, dc: Array) -> None:
    """Draw the moves of the output, and the direction in which the loss rises, with their feet."""
    canvas, size = frame.canvas, float(np.hypot(*dc))
    unit = dc / size
    ends = frame([output - ALONG * unit, output + ALONG * unit])
    canvas.part("along").path(ends, "soft thin dotted", keep_off=0)
    for j, move in enumerate(moves):
        tip, foot = frame(output + move), frame(output + (move @ unit) * unit)
        canvas.part(f"thread-{j}").path([tip, foot], "score thin", keep_off=0)
        canvas.part(f"foot-{j}", foot).dot(foot, "score", 3.5)
    for j, move in enumerate(moves):
        canvas.part(f"move-{j}").arrow(frame(output), frame(output + move), "context")
    tip = frame(output + dc)
    canvas.part("dc").arrow(frame(output), tip, "ink")
    x, y = tip + 16 * np.array([unit[0], -unit[1]])
    canvas.part("name-dc", (x, y)).text(x, y, "dc", anchor="middle", bold=True)
    x, y = frame(output)
    canvas.part("output", (x, y)).dot((x, y), "context", 5)
    canvas.part("name-output", (x, y)).text(x + 8, y - 14, "c", "context", bold=True)


def _draw_slopes(canvas: Canvas, box: Box, slopes: Array) -> None:
    """Draw each slope as a bar that begins where the one before it ends."""
    zero, unit = (box.left + box.right) / 2, (box.right - box.left) / 2 / LARGEST
    top = box.top + 30
    canvas.text(box.left, box.top, "slope of the loss along", bold=True)
    canvas.frames["bars"] = [zero, unit, top]
    canvas.path([(zero, top - 10), (zero, top + 3 * ROW)], "axis", keep_off=0)
    edges = np.concatenate([[0], np.cumsum(slopes)])
    for j, slope in enumerate(map(float, slopes)):
        y = top + j * ROW
        canvas.text(box.left, y, f"score {j}")
        part = canvas.part(f"slope-{j}")
        part.text(box.right, y, number(slope, 2), "score", anchor="end", bold=True)
        low, high = zero + unit * np.sort(edges[j : j + 2])
        bar = Box(float(low), y + 12, float(high), y + 26)
        canvas.part(f"bar-{j}").rectangle(bar, "score fill", 0.75)
        x = zero + unit * float(edges[j + 1])
        down = [(x, y + 26), (x, y + ROW + (12 if j < 2 else 0))]
        canvas.part(f"link-{j}").path(down, "score thread", keep_off=0)
    y = top + 3 * ROW
    canvas.text(box.left, y + 10, "together")
    canvas.text(box.right, y + 10, "0.00", "score", anchor="end", bold=True)
    canvas.height = max(canvas.height, y + 24)
