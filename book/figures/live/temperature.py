"""Scores at every temperature: their weights as curves, and as columns at the one that is set."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from book.figures.canvas import NUMBER, Array, Box, Canvas
from book.figures.charts import PHONE, Chart, Frame, _chart, _ticks
from book.figures.glue import as_text, number
from book.figures.live import Live, dial
from selfattn_ref import softmax


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

    def draw(width: float) -> Canvas:
        canvas = Canvas(width)
        narrow = width == PHONE
        several = len(rows) > 1
        between = 14.0
        pitch = (width - 16) / len(rows) / count if narrow else 32.0 if several else 54.0
        panel = len(rows) * count * pitch + between * (len(rows) - 1)
        across = width if narrow else width - panel - 22
        lines = [(name, every[:, i, j], look) for i, j, name, look in curves]
        part = Chart(along, lines, y_label=y_label, y_limits=(0, 1))
        tall = 170 if narrow else 250
        bare = replace(part, lines=[("", line, look) for _, line, look in lines])
        frame = _chart(Canvas(width), bare, 0, 0, across, tall, "", True, False)
        top = frame((start, 1))
        with canvas.part("now", top):  # names keep off it
            canvas.path([top, frame((start, 0))], "ink thin")
        frame = _chart(canvas, part, 0, 0, across, tall, "", True, False)
        frame.tell("curves")
        box = frame.box
        low = box.bottom + 37
        canvas.text(box.left, low, f"← {poles[0]}", "soft", size=NUMBER)
        middle = (box.left + box.right) / 2
        canvas.text(middle, low, dialed, "soft", anchor="middle", size=NUMBER)
        canvas.text(box.right, low, f"{poles[1]} →", "soft", anchor="end", size=NUMBER)
        for k, (i, j, _, look) in enumerate(curves):
            at = frame((start, now[i, j]))
            with canvas.part(f"dot-{k}", at):
                canvas.dot(at, look.split()[0])

        left, head = (0.0, low + 32) if narrow else (box.right + 38, box.top)
        bars = Box(left, head, left + panel, head + 120 if narrow else box.bottom)
        columns = Frame(canvas, bars, (0, 1, 0, 1))
        columns.tell("columns")
        columns.y_axis([(at, "") for at, _ in _ticks(0, 1, 5)] if not narrow else [(0, "")], "")
        shown = {(i, j) for i, j, _, _ in curves}
        y = bars.bottom + 18
        for i, row in enumerate(scores):
            x = left + i * (count * pitch + between)
            canvas.path([(x, bars.bottom), (x + count * pitch, bars.bottom)], "axis", keep_off=0)
            canvas.text(x + count * pitch / 2, y + 21, row, anchor="middle", bold=True)
            for j, name in enumerate(names):
                at = columns((0, now[i, j]))[1]
                center = x + (j + 0.5) * pitch
                half = min(0.5 * pitch - 4, 22)
                with canvas.part(f"column-{i}-{j}"):
                    column = Box(center - half, at, center + half, bars.bottom)
                    look = "weight fill"
                    canvas.rectangle(column, look, 0.75 if (i, j) in shown else 0.4)
                with canvas.part(f"share-{i}-{j}", (center, at)):
                    share = number(float(now[i, j]), 2)
                    canvas.text(center, at - 8, share, anchor="middle", size=NUMBER)
                canvas.text(center, y, name, "soft", anchor="middle", size=NUMBER)
        canvas.height = (y + 21 if several else y) + 12
        if entropy:
            y += 26
            full = panel - 8
            canvas.frames["entropy"] = [full]
            with canvas.part("entropy"):
                room = Box(left + 4, y + 10, left + 4 + full * spread[0] / np.log(count), y + 18)
                canvas.rectangle(room, "ink fill", 0.75)
            edge = [(left + 4, y + 10), (left + 4 + full, y + 10)]
            corners = [*edge, (left + 4 + full, y + 18), (left + 4, y + 18)]
            canvas.path(corners, "axis", closed=True)
            canvas.text(left + 4, y, "entropy", size=NUMBER)
            with canvas.part("spread"):
                canvas.text(left + 54, y, number(float(spread[0]), 2), size=NUMBER, bold=True)
            most = f"ln {count} = {number(float(np.log(count)), 2)}"
            canvas.text(left + 4 + full, y, most, "soft", anchor="end", size=NUMBER)
            canvas.height = y + 20
        canvas.height = max(canvas.height, low + 10)
        return canvas

    said: dict[str, str] = {"at": f"{start:g}"}
    for i, row in enumerate(now):
        said[f"weights_{i}"] = as_text(row)
        said[f"ratio_{i}"] = number(float(row.min() / row.max()), 2)
        said[f"entropy_{i}"] = number(float(spread[i]), 2)
        if values is not None:
            said[f"found_{i}"] = as_text(row @ values, 0)
    exponents = (round(float(np.log10(limits[0])), 1), round(float(np.log10(limits[1])), 1))
    data: dict[str, Any] = {"scores": rows, "inverse": inverse, "values": values}
    return Live(
        "temperature",
        draw,
        alt=alt,
        start={"at": float(start)},
        limits={"at": limits},
        data=data | {"curves": [(i, j) for i, j, _, _ in curves]},
        says=says,
        numbers=said,
        hint=hint,
        controls=[dial(dialed.capitalize(), "at", exponents, 0.02, ends="|".join(ends), log=True)],
    )
