"""Scores at every temperature: their weights as curves, and as columns at the one that is set."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

import numpy as np

from book.figures.canvas import NUMBER, Array, Box, Canvas
from book.figures.charts import PHONE, Chart, Frame, _chart, _ticks
from book.figures.glue import as_text, number
from book.figures.live import Live, dial
from selfattn_ref import softmax

BETWEEN = 14.0  # the columns of two rows


def temperature(
    scores: Mapping[str, Array],
    names: Sequence[str],
    curves: Sequence[tuple[int, int, str, str]],
    *,
    start: float,
    limits: tuple[float, float],
    dialed: str,
    ends: tuple[str, str],
    poles: tuple[str, str],
    y_label: str,
    says: str,
    hint: str,
    alt: str,
    values: Array | None = None,
    inverse: bool = False,
    entropy: bool = False,
) -> Live:
    """Draw the weights of rows of scores, each divided by the temperature, or times its inverse.

    A row has a name or "", and its scores have `names`. A curve is (row, column, name, look).
    `dialed` is the word for the temperature; its ends are named at the dial, `ends`, and below the
    curves, `poles`. The sentence may use {at}, and for each row {weights_0}, {ratio_0} of the
    least to the largest, {entropy_0} and {found_0}, its average of the `values`.
    """
    rows = np.array(list(scores.values()))
    count = len(names)

    def weights(at: Array | float) -> Array:
        scale = np.asarray(at, dtype=float)[..., np.newaxis, np.newaxis]
        return softmax(rows * scale if inverse else rows / scale)

    now = weights(start)
    spread = -(now * np.log(now)).sum(axis=-1)
    along = np.geomspace(*limits, 200)
    every = weights(along)
    shown = [(i, j) for i, j, _, _ in curves]

    def draw(canvas: Canvas) -> None:
        narrow = canvas.width == PHONE
        several = len(rows) > 1
        pitch = (canvas.width - 16) / len(rows) / count if narrow else 32.0 if several else 54.0
        panel = len(rows) * count * pitch + BETWEEN * (len(rows) - 1)
        across = canvas.width if narrow else canvas.width - panel - 22
        lines = [(name, every[:, i, j], look) for i, j, name, look in curves]
        chart = Chart(along, lines, y_label=y_label, y_limits=(0, 1))
        frame = _draw_curves(canvas, chart, across, start, (poles[0], dialed, poles[1]))
        low = frame.box.bottom + 37
        for k, (i, j, _, look) in enumerate(curves):
            at = frame((start, now[i, j]))
            canvas.part(f"dot-{k}", at).dot(at, look.split()[0])
        left, head = (0.0, low + 32) if narrow else (frame.box.right + 38, frame.box.top)
        bars = Box(left, head, left + panel, head + 120 if narrow else frame.box.bottom)
        y = _draw_columns(canvas, bars, dict(zip(scores, now, strict=True)), names, shown)
        if entropy:
            _draw_entropy(canvas, left + 4, y + 26, panel - 8, float(spread[0]), count)
        canvas.height = max(canvas.height, low + 10)

    said: dict[str, str] = {"at": f"{start:g}"}
    for i, row in enumerate(now):
        said[f"weights_{i}"] = as_text(row)
        said[f"ratio_{i}"] = number(float(row.min() / row.max()), 2)
        said[f"entropy_{i}"] = number(float(spread[i]), 2)
        if values is not None:
            said[f"found_{i}"] = as_text(row @ values, 0)
    exponents = (round(float(np.log10(limits[0])), 1), round(float(np.log10(limits[1])), 1))
    return Live(
        "temperature",
        draw,
        alt=alt,
        start={"at": float(start)},
        limits={"at": limits},
        data={"scores": rows, "inverse": inverse, "values": values, "curves": shown},
        says=says,
        numbers=said,
        hint=hint,
        controls=[dial(dialed.capitalize(), "at", exponents, 0.02, ends="|".join(ends), log=True)],
    )


def _draw_curves(
    canvas: Canvas, chart: Chart, across: float, start: float, words: tuple[str, str, str]
) -> Frame:
    """Draw the weights against the temperature, with `words` below: both poles and the middle."""
    tall = 170 if canvas.width == PHONE else 250
    bare = replace(chart, lines=[("", line, look) for _, line, look in chart.lines])
    frame = _chart(Canvas(canvas.width), bare, (0, 0), (across, tall), "", (True, False))
    top = frame((start, 1))
    # names keep off it
    canvas.part("now", top).path([top, frame((start, 0))], "ink thin")
    frame = _chart(canvas, chart, (0, 0), (across, tall), "", (True, False))
    frame.tell("curves")
    left, right, low = frame.box.left, frame.box.right, frame.box.bottom + 37
    cold, dialed, hot = words
    canvas.note(left, low, f"← {cold}")
    canvas.note((left + right) / 2, low, dialed, anchor="middle")
    canvas.note(right, low, f"{hot} →", anchor="end")
    return frame


def _draw_columns(
    canvas: Canvas,
    box: Box,
    rows: Mapping[str, Array],
    names: Sequence[str],
    shown: Container[tuple[int, int]],
) -> float:
    """Draw the weights as columns, those `shown` as curves strong; return where the names stand."""
    several = len(rows) > 1
    count = len(names)
    pitch = (box.right - box.left - BETWEEN * (len(rows) - 1)) / len(rows) / count
    half = min(0.5 * pitch - 4, 22)
    frame = Frame(canvas, box, (0, 1, 0, 1))
    frame.tell("columns")
    heights = [(0.0, "")] if canvas.width == PHONE else _ticks(0, 1, 5)
    frame.y_axis([(at, "") for at, _ in heights], "")
    y = box.bottom + 18
    for i, (row, weights) in enumerate(rows.items()):
        x = box.left + i * (count * pitch + BETWEEN)
        canvas.path([(x, box.bottom), (x + count * pitch, box.bottom)], "axis", keep_off=0)
        canvas.text(x + count * pitch / 2, y + 21, row, anchor="middle", bold=True)
        for j, (name, weight) in enumerate(zip(names, weights, strict=True)):
            at = frame((0, weight))[1]
            center, share = x + (j + 0.5) * pitch, number(float(weight), 2)
            column = Box(center - half, at, center + half, box.bottom)
            strength = 0.75 if (i, j) in shown else 0.4
            canvas.part(f"column-{i}-{j}").rectangle(column, "weight fill", strength)
            part = canvas.part(f"share-{i}-{j}", (center, at))
            part.note(center, at - 8, share, "", anchor="middle")
            canvas.note(center, y, name, anchor="middle")
    canvas.height = (y + 21 if several else y) + 12
    return y


def _draw_entropy(
    canvas: Canvas, x: float, y: float, full: float, spread: float, count: int
) -> None:
    """Draw the entropy of `count` weights as a part of the most that it can be."""
    most = float(np.log(count))
    canvas.frames["entropy"] = [full]
    whole = Box(x, y + 10, x + full, y + 18)
    room = whole._replace(right=x + full * spread / most)
    canvas.part("entropy").rectangle(room, "ink fill", 0.75)
    canvas.outline(whole, "axis")
    canvas.note(x, y, "entropy", "")
    canvas.part("spread").text(x + 50, y, number(spread, 2), size=NUMBER, bold=True)
    end = f"ln {count} = {number(most, 2)}"
    canvas.note(x + full, y, end, anchor="end")
    canvas.height = y + 20
