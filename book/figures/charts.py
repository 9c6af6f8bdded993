"""The figures of the book, one call each.

Every figure is drawn twice at the size at which it is read, for the column of a wide page and
for a phone; the style sheet shows the one that fits. Colors are roles; comparisons of curves
use ink and dashes instead.
"""

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from html import escape
from typing import Any

import numpy as np

from book.figures import palette, record
from book.figures.canvas import (
    NOWHERE,
    NUMBER,
    Array,
    Box,
    Canvas,
    Pair,
    Spot,
    distances,
    ink,
    sampled,
    text_width,
)
from book.figures.glue import number

COLUMN, SPAN, PHONE = 567.0, 738.0, 347.0  # widths of the page, in pixels
GAP = 28.0  # between panels that stand side by side

Limits = tuple[float, float, float, float]  # the least and the largest x, then y
Point = tuple[str, Pair, str]  # (name, where, role)
Draw = Callable[[Canvas], None]  # draws on a canvas that has a width, and sets its height


class Drawing:
    """A figure for the page, with a description for those who do not see it.

    `arrays` says of the numbers in its cells which entries of worked examples they are.
    """

    def __init__(
        self, draw: Draw, alt: str, wide: bool = False, arrays: Sequence[Any] = ()
    ) -> None:
        look = "drawing spanning" if wide else "drawing"
        known = escape(json.dumps(arrays, separators=(",", ":")))
        marks = described(alt) + (f' data-arrays="{known}"' if arrays else "")
        self.html = f'<div class="{look}"{marks}>{both_layouts(draw, wide)}</div>'

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return type(self).__name__


def described(alt: str) -> str:
    """Return the attributes of a picture, with the description that stands in for it."""
    if len(alt) < 40:
        raise ValueError(f"alt must state what the figure shows, in numbers; got {alt!r}")
    return f' role="img" aria-label="{escape(" ".join(alt.split()))}"'


def both_layouts(draw: Draw, wide: bool) -> str:
    """Return a drawing for a wide page, and the same for a phone."""
    layouts = {"figure-wide": Canvas(SPAN if wide else COLUMN), "figure-narrow": Canvas(PHONE)}
    for canvas in layouts.values():
        draw(canvas)
    return "".join(canvas.svg(look) for look, canvas in layouts.items())


class Frame:
    """A rectangle of a canvas in which data has a place."""

    def __init__(
        self, canvas: Canvas, box: Box, limits: Limits, log: tuple[bool, bool] = (False, False)
    ) -> None:
        self.canvas, self.box, self.log, self.limits = canvas, box, log, limits

    def __call__(self, points: Array | Pair | Sequence[Pair]) -> Array:
        """Return where points, (..., 2), stand on the canvas."""
        at = np.asarray(points, dtype=float)
        parts = []
        for axis, log in enumerate(self.log):
            (a, b), v = self.limits[2 * axis : 2 * axis + 2], at[..., axis]
            if log:
                a, b, v = np.log(a), np.log(b), np.log(v)
            parts.append((v - a) / (b - a))
        box = self.box
        x = box.left + parts[0] * (box.right - box.left)
        return np.stack([x, box.bottom - parts[1] * (box.bottom - box.top)], axis=-1)

    def tell(self, name: str) -> None:
        """Tell the scripts where data has its place, under a name; of a log axis, to base 10."""
        zero, one = ([10.0**k if log else k for log in self.log] for k in (0, 1))
        origin, unit = self(zero), self(one) - self(zero)
        self.canvas.frames[name] = [round(float(v), 4) for v in (*origin, unit[0], -unit[1])]

    def x_axis(self, ticks: Iterable[tuple[float, str]], label: str, lines: bool = False) -> None:
        """Write numbers and a name below the frame."""
        box, canvas, drawn = self.box, self.canvas, []
        for at, name in ticks:
            x = float(self((at, self.limits[2]))[0])
            drawn.append([(x, box.bottom), (x, box.top if lines else box.bottom + 4)])
            canvas.note(x, box.bottom + 18, name, anchor="middle")
        canvas.segments(drawn, "grid" if lines else "axis")
        if label:
            canvas.note(box.right, box.bottom + 37, f"{label} →", anchor="end")

    def y_axis(self, ticks: Iterable[tuple[float, str]], label: str) -> None:
        """Write numbers left of the frame, with light lines, and a name above."""
        box, canvas, drawn = self.box, self.canvas, []
        for at, name in ticks:
            y = float(self((self.limits[0], at))[1])
            drawn.append([(box.left, y), (box.right, y)])
            canvas.note(box.left - 7, y, name, anchor="end")
        canvas.segments(drawn, "grid")
        if label:
            canvas.note(box.left, box.top - 12, f"{label} ↑")


def heatmaps(
    panels: Sequence[tuple[str, Array, str]],
    *,
    alt: str,
    rows: Sequence[str] = (),
    columns: Sequence[str] | Sequence[Sequence[str]] = (),
    framed: Iterable[tuple[int, int]] = (),
    digits: int | Sequence[int] = 2,
    wide: bool = False,
) -> Drawing:
    """Draw matrices as numbered cells, the stronger the color the larger the number.

    A panel is (title, matrix, role): "weight" runs from 0 to 1; any other role runs to its
    largest absolute number in all panels, with negative numbers in a color of their own. A boolean
    matrix shows a dot for True and a cross for False. `framed` names cells, (row, column), that
    get a frame in every panel; `digits` and `columns` may be given for each. As many panels stand
    side by side as the width allows.
    """
    matrices = [np.asarray(matrix) for _, matrix, _ in panels]
    framed = list(framed)
    largest: dict[str, float] = {}
    for matrix, (_, _, role) in zip(matrices, panels, strict=True):
        most = 1.0 if role == "weight" else float(np.abs(_finite(matrix)).max())
        largest[role] = max(largest.get(role, 0), most)
    margin = max((text_width(name, NUMBER) + 10 for name in rows), default=0)
    digits = [digits] * len(panels) if isinstance(digits, int) else digits
    texts = [_entry(v, d) for m, d in zip(matrices, digits, strict=True) for v in m.flat]
    need = max(28, *(text_width(text, NUMBER) + 8 for text in texts))
    alike = all(isinstance(name, str) for name in columns)
    names: list[Any] = [columns] * len(panels) if alike else list(columns)
    need = max([need, *(text_width(name, NUMBER) + 6 for each in names for name in each)])

    def draw(canvas: Canvas) -> None:
        gap = GAP if canvas.width > PHONE else 18
        lines: list[list[int]] = [[]]
        for place, matrix in enumerate(matrices):
            before = sum(matrices[i].shape[1] * need + gap for i in lines[-1])
            if lines[-1] and margin + before + matrix.shape[1] * need > canvas.width:
                lines.append([])
            lines[-1].append(place)
        across = min(
            (canvas.width - margin - gap * (len(line) - 1))
            / sum(matrices[i].shape[1] for i in line)
            for line in lines
        )
        across = min(across, 110)
        down = 32 if canvas.width > PHONE else 26 if len(lines) < 4 else 20
        y = 0.0
        for line in lines:
            x, top = margin, y + 26
            named = any(matrices[place].shape[1] == len(names[place]) for place in line)
            top += 20 if named else 0
            for place in line:
                title, _, role = panels[place]
                matrix = matrices[place]
                canvas.text(x, y + 10, title, bold=True)
                if named and len(names[place]) == matrix.shape[1]:
                    canvas.columns(names[place], x, top - 10, across)
                first = Box(x, top, x + across, top + down)
                _cells(canvas, matrix, role, largest[role] or 1, digits[place], first)
                for i, j in framed:
                    canvas.outline(first.cell(i, j).inset(1), "ink")
                x += matrix.shape[1] * across + gap
            canvas.rows(rows, margin - 10, top + down / 2, down)
            y = top + max(matrices[i].shape[0] for i in line) * down + 18
        canvas.height = y - 16

    return Drawing(draw, alt, wide, [*_answering(matrices)])


def plane(
    points: Sequence[Point] = (),
    *,
    alt: str,
    vectors: Sequence[Point] = (),
    moves: Sequence[tuple[Pair, Pair, str, str]] = (),
    segments: Iterable[tuple[Pair, Pair]] = (),
    regions: bool = False,
    x_label: str = "",
    y_label: str = "",
    limits: Limits,
) -> Drawing:
    """Draw words as points or as arrows from the origin, and how a word moves.

    `moves` are (from, to, label, role); `segments` are dashed lines; `regions` draws the diagonal
    between the two axes. The plane grows to both sides to fill the width.
    """

    def draw(canvas: Canvas) -> None:
        frame = _plane(canvas, limits, 400 if canvas.width > PHONE else 360, x_label, y_label)
        left, right, bottom, top = frame.limits
        if regions:
            low, high = max(left, bottom), min(right, top)
            canvas.path(frame([(low, low), (high, high)]), "soft thin dashed")
        for start, end in segments:
            canvas.path(frame([start, end]), "soft thin dashed")
        arrows = [*(((0, 0), end, name, role) for name, end, role in vectors), *moves]
        for start, end, _, role in arrows:
            canvas.arrow(frame(start), frame(end), role)
        for _, where, role in points:
            canvas.dot(frame(where), role)
        for start, end, name, role in arrows:
            _name_tip(canvas, name, frame(start), frame(end), role)
        for name, where, role in points:
            canvas.label(name, frame(where), role.split()[0])

    return Drawing(draw, alt)


@dataclass(frozen=True)
class Chart:
    """One pair of axes: lines (name, y, look), and points (name, middles, half widths, look).

    Points need a logarithmic x axis. A look is the name of a color, "ink" or "soft" or a role, and
    maybe "dashed" or "dotted".
    `levels` are horizontals (y, name), `marks` verticals (x, note); `x_label` is its own.
    """

    x: Array
    lines: Sequence[tuple[str, Array, str]] = ()
    title: str = ""
    _: KW_ONLY
    x_label: str = ""
    y_label: str = ""
    y_limits: tuple[float, float] | None = None
    points: Sequence[tuple[str, Array, Array, str]] = ()
    levels: Sequence[tuple[float, str]] = ()
    marks: Sequence[tuple[float, str]] = ()
    x_ticks: Sequence[float] = ()  # where the axis has numbers, if not at round ones


def charts(
    *parts: Chart,
    alt: str,
    x_label: str = "",
    log_x: bool = False,
    log_y: bool = False,
    rows: int = 0,
    wide: bool = False,
) -> Drawing:
    """Draw curves, each with its name on it.

    Charts stand side by side where there is room.
    Many small ones stand in `rows`, on a phone two in each of its rows.
    """

    def draw(canvas: Canvas) -> None:
        beside = canvas.width > PHONE
        a_row = len(parts) if beside else 1
        if rows:
            a_row = -(-len(parts) // rows) if beside else 2
        gap = 12 if rows else GAP
        across = (canvas.width - gap * (a_row - 1)) / a_row
        tall = 110 if rows else 250 if len(parts) == 1 else 230 if beside else 190
        y = 0.0
        for place, part in enumerate(parts):
            if place and place % a_row == 0:
                y = canvas.height + 14
            last = place >= len(parts) - a_row
            name = part.x_label or (x_label if last else "")
            corner = ((across + gap) * (place % a_row), y)
            _chart(canvas, part, corner, (across, tall), name, (log_x, log_y))

    return Drawing(draw, alt, wide)


def bars(
    groups: Sequence[str],
    series: Sequence[tuple[str, Array, str]],
    *,
    alt: str,
    x_label: str,
    levels: Sequence[tuple[float, str, str]] = (),
) -> Drawing:
    """Draw bars to the right, each with its name and its number before it.

    With several series, the bars of a group stand together. `levels` are verticals
    (number, name, role), named above.
    """
    numbers = [[number(float(v), 2) for v in values] for _, values, _ in series]
    figures_wide = max(text_width(text, NUMBER) for row in numbers for text in row)
    several = len(series) > 1
    named = max(text_width(name) for name in ([s[0] for s in series] if several else groups))
    grouped = max(map(text_width, groups)) + 16 if several else 0
    every = [0.0, *(float(v) for _, values, _ in series for v in values)]
    most, least = max([*every, *(at for at, _, _ in levels)]), min(every)

    def draw(canvas: Canvas) -> None:
        indent = grouped if canvas.width > PHONE else 0
        start = indent + named + 14 + figures_wide + 12
        scale = (canvas.width - start - 12) / (most - least)
        zero = start - least * scale
        y = 26.0 + (20 * len(levels) if levels else 0)
        top, rows = y, []
        for i, group in enumerate(groups):
            if several:
                canvas.text(0, y + 12, group, bold=True)
                y += 0 if indent else 22
            for (name, values, role), texts in zip(series, numbers, strict=True):
                middle = y + 12
                canvas.text(indent, middle, name if several else group)
                canvas.note(start - 12, middle, texts[i], "", anchor="end")
                ends = sorted([zero, zero + float(values[i]) * scale])
                rows.append((Box(ends[0], y + 4, ends[1], y + 20), role))
                y += 24
            y += 10 if several else 4
        bottom = y - (8 if several else 2)
        canvas.path([(zero, top - 2), (zero, bottom)], "axis")
        for box, role in rows:
            canvas.rectangle(box, f"{role} fill", 0.75)
        for place, (at, name, role) in enumerate(levels):
            x = zero + at * scale
            canvas.path([(x, top - 14 - 20 * place), (x, bottom)], f"{role} dashed")
            canvas.text(x - 6, top - 12 - 20 * place, name, role, anchor="end", bold=True)
        canvas.note(0, 10, f"{x_label} →")
        canvas.height = bottom + 2

    return Drawing(draw, alt)


def network(
    names: Sequence[str],
    levels: Sequence[str],
    links: Iterable[tuple[int, int, int, str]],
    *,
    alt: str,
) -> Drawing:
    """Draw which position of one level reads which of the level below.

    `names` are those of the positions, `levels` those of the levels, the lowest first. A link is
    (level, position that reads, position below that is read, look).
    """

    def draw(canvas: Canvas) -> None:
        start = max(map(text_width, levels)) + 30
        step = (canvas.width - start - 24) / (len(names) - 1)
        rise = 115 if canvas.width > PHONE else 95
        canvas.height = rise * (len(levels) - 1) + 50

        def at(level: int, position: int) -> tuple[float, float]:
            return start + position * step, 12 + rise * (len(levels) - 1 - level)

        for level, reader, read, look in links:
            canvas.path([at(level - 1, read), at(level, reader)], look)
        for level, title in enumerate(levels):
            canvas.text(0, at(level, 0)[1], title)
            for position in range(len(names)):
                canvas.dot(at(level, position), "ink", 5.5)
        for position, name in enumerate(names):
            x, y = at(0, position)
            canvas.text(x, y + 22, name, anchor="middle")

    return Drawing(draw, alt)


def layers(rows: Sequence[Sequence[str]], needs: Iterable[tuple[str, str]], *, alt: str) -> Drawing:
    """Draw names in rows, the lowest first, and a line from each to what it needs below.

    A row that is too long for a phone is broken. A line passes between the names of a row.
    """
    needs = list(needs)
    places: dict[str, float] = {}
    ordered = []
    for row in rows:  # each name above what it needs, so that few lines cross
        under = {name: [places[other] for one, other in needs if one == name] for name in row}
        ordered.append(sorted(row, key=lambda name: float(np.mean(under[name] or [0.0]))))
        places |= {name: (k + 1) / (len(row) + 1) for k, name in enumerate(ordered[-1])}

    def draw(canvas: Canvas) -> None:
        lines: list[Sequence[str]] = []
        for row in reversed(ordered):
            most = canvas.width - 16 * len(row)
            half = (len(row) + 1) // 2 if sum(map(text_width, row)) > most else len(row)
            lines += [row[:half], row[half:]] if half < len(row) else [row]
        at = {}
        walls: list[list[tuple[float, float]]] = [[] for _ in lines]  # the names of each line
        for place, line in enumerate(lines):
            free = (canvas.width - sum(map(text_width, line))) / (len(line) + 1)
            x = free
            for name in line:
                wide = text_width(name)
                at[name] = (x + wide / 2, 14 + 62.0 * place)
                walls[place].append((at[name][0] - wide / 2, at[name][0] + wide / 2))
                x += wide + free
        for name, other in needs:
            (a, y), (b, z) = at[name], at[other]
            way = [(a, y + 12)]
            for place in range(round((y - 14) / 62) + 1, round((z - 14) / 62)):
                middle = 14 + 62.0 * place
                straight = a + (b - a) * (middle - y) / (z - y)
                ends = [0.0, *(x for wall in walls[place] for x in wall), canvas.width]
                gaps = [(x + 9, w - 9) for x, w in zip(ends[::2], ends[1::2], strict=True)]
                x = min(
                    (min(max(straight, x), w) for x, w in gaps if x <= w),
                    key=lambda x: abs(x - straight),
                )
                way += [(x, middle - 10), (x, middle + 10)]
            canvas.path([*way, (b, z - 12)], "axis", keep_off=0)
        for name, (x, y) in at.items():
            canvas.text(x, y, name, anchor="middle")
        canvas.height = 62.0 * (len(lines) - 1) + 28

    return Drawing(draw, alt)


def flows(
    shares: Array, names: Sequence[str], *, alt: str, row: int, taker_title: str, giver_title: str
) -> Drawing:
    """Draw who takes how much from whom, as ribbons as wide as the shares.

    The ribbons of one row stand out and have their numbers; those of the others are faint.
    """

    def draw(canvas: Canvas) -> None:
        named = max(text_width(name, bold=True) for name in names)
        left = max(named, text_width(taker_title, NUMBER)) + 10
        right = canvas.width - (named + 12) - text_width("0.000", bold=True) - 10
        rise, unit = 56.0, 40.0
        tops = 34 + rise * np.arange(len(names))
        canvas.height = float(tops[-1]) + 26
        for i in sorted(range(len(names)), key=lambda place: place == row):
            down = tops[i] - unit / 2
            for j, share in enumerate(shares[i]):
                wide = float(share) * unit
                look = "weight wash" if i == row else "faint wash"
                canvas.ribbon((left, down + wide / 2), (right, tops[j]), wide, look)
                down += wide
        for i, name in enumerate(names):
            look = "query" if i == row else "soft"
            canvas.text(left - 10, tops[i], name, look, anchor="end", bold=i == row)
            canvas.text(right + 10, tops[i], name, "value", bold=True)
            share = number(float(shares[row, i]), 3)
            canvas.text(canvas.width, tops[i], share, "weight", anchor="end", bold=True)
        canvas.note(left - 10, 10, taker_title, anchor="end")
        canvas.note(right + 10, 10, giver_title)

    return Drawing(draw, alt)


def grids(
    panels: Sequence[tuple[str, Array, Sequence[Point]]],
    *,
    alt: str,
    limits: Limits,
) -> Drawing:
    """Draw the grid of the plane after a matrix, with arrows on it, two panels in a line.

    A panel is (title, matrix, arrows): a row vector x of the grid goes to x times the matrix.
    The shaded cell was the unit square.
    """
    left, right, bottom, top = limits
    reach = np.arange(-40, 41)
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])

    def draw(canvas: Canvas) -> None:
        gap = GAP if canvas.width > PHONE else 12
        across = (canvas.width - gap) / 2
        tall = across * (top - bottom) / (right - left)
        for place, (title, matrix, arrows) in enumerate(panels):
            x, y = (across + gap) * (place % 2), (tall + 42) * (place // 2)
            frame = Frame(canvas, Box(x, y + 26, x + across, y + 26 + tall), limits)
            canvas.text(x, y + 10, title, bold=True)
            if np.any(matrix):
                canvas.path(frame(square @ matrix), "faint fill wash", closed=True, keep_off=0)
            for at in reach:
                for line in ([(at, -40), (at, 40)], [(-40, at), (40, at)]):
                    ends = _clipped(np.array(line) @ matrix, limits)
                    if ends is not None:
                        canvas.path(frame(ends), "axis" if at == 0 else "grid", keep_off=0)
            for _, end, role in arrows:
                canvas.arrow(frame((0, 0)), frame(end), role)
            for name, end, role in arrows:
                _name_tip(canvas, name, frame((0, 0)), frame(end), role)
            canvas.height = y + 26 + tall + 4

    return Drawing(draw, alt)


def levels(
    panels: Sequence[tuple[str, Array, Sequence[tuple[str, Array]], Sequence[float]]],
    *,
    alt: str,
    limits: Sequence[Limits],
    query_name: str,
    wide: bool = False,
) -> Drawing:
    """Draw the lines on which the score of one query is constant, over the plane of the keys.

    A panel is (title, query, keys by name, levels), with limits of its own. Each line has its
    score at the rim, each key its name; a dashed line has a negative score.
    """

    def draw(canvas: Canvas) -> None:
        beside = canvas.width > PHONE
        across = (canvas.width - GAP * (len(panels) - 1)) / len(panels) if beside else canvas.width
        for place, (title, query, keys, heights) in enumerate(panels):
            left, right, bottom, top = box = limits[place]
            x = (across + GAP) * place if beside else 0.0
            y = 0.0 if beside else canvas.height + 16 * bool(place)
            tall = (across - 40) * (top - bottom) / (right - left)
            frame = Frame(canvas, Box(x + 30, y + 48, x + across - 10, y + 48 + tall), box)
            canvas.text(x, y + 10, title, bold=True)
            q = np.asarray(query, dtype=float)
            along = np.array([-q[1], q[0]])
            for level in heights:
                foot = level * q / (q @ q)
                ends = _clipped(np.array([foot - 99 * along, foot + 99 * along]), box)
                if ends is None:
                    continue
                hue = "negative" if level < 0 else "score" if level else "soft"
                look = f"{hue} thin dashed" if level < 0 else f"{hue} thin"
                a, b = sorted(frame(ends).tolist(), key=lambda end: (end[1], -end[0]))
                canvas.path([a, b], look, keep_off=0.5)
                at_top = a[1] < frame.box.top + 1
                spot = Spot(a[0], a[1] - 11, "middle") if at_top else Spot(a[0] - 6, a[1], "end")
                canvas.note(spot.x, spot.y, number(level, 0), hue, anchor=spot.anchor)
            origin, tip = frame((0, 0)), frame(q)
            canvas.arrow(origin, tip, "query")
            for _, where in keys:
                canvas.dot(frame(where), "key")
            _name_tip(canvas, query_name, origin, tip, "query")
            for name, where in keys:
                canvas.label(name, frame(where), "key")
            canvas.height = max(canvas.height, y + 48 + tall + 8)

    return Drawing(draw, alt, wide)


def _answering(matrices: Iterable[Array]) -> Iterable[dict[str, Any]]:
    """Yield the matrices of examples: the first of their cells among all that have a number."""
    first = 0
    for matrix in matrices:
        for one in record.matrices(matrix):
            yield {"of": [one["example"], one["array"]], "at": one["at"], "first": first}
        first += 0 if matrix.dtype == np.bool_ else matrix.size


def _entry(value: float, digits: int) -> str:
    return "" if isinstance(value, np.bool_) else number(float(value), digits).replace("inf", "∞")


def _finite(matrix: Array) -> Array:
    """Return a matrix with 0 in place of what is infinite."""
    return np.where(np.isfinite(matrix), matrix, 0).astype(float)


def _cells(
    canvas: Canvas, matrix: Array, role: str, largest: float, digits: int, first: Box
) -> None:
    """Draw the cells of a matrix, the first of which is given."""
    boolean = matrix.dtype == np.bool_
    finite = np.abs(_finite(matrix))
    for (i, j), value in np.ndenumerate(matrix):
        cell = first.cell(i, j).inset(1)
        x, y = cell.middle
        strength = 0.55 * float(value) if boolean else float(finite[i, j]) / largest
        below = bool(-np.inf < value < 0)
        hue = "negative" if below else role
        canvas.rectangle(cell, f"{hue} fill", 0.04 + (palette.strongest(hue) - 0.04) * strength)
        if below:
            canvas.ticks(cell)
        if not boolean:
            look = "soft cell" if np.isinf(value) else "cell"
            canvas.note(x, y, _entry(value, digits), look, anchor="middle")
        elif value:
            canvas.dot((x, y), "ink", 4)
        else:
            for slope in (1, -1):
                canvas.path([(x - 4, y - 4 * slope), (x + 4, y + 4 * slope)], "soft thin")


def _plane(canvas: Canvas, limits: Limits, most: float, x_label: str, y_label: str) -> Frame:
    """Return a frame with equal units, grown to both sides to fill the width."""
    left, right, bottom, top = limits
    rows = _ticks(bottom, top, 5)
    start = max(text_width(name, NUMBER) for _, name in rows) + 8
    head = 26 if y_label else 10
    across = canvas.width - start - 8
    unit = min(across / (right - left), most / (top - bottom))
    spare = (across / unit - (right - left)) / 2
    limits = (left - spare, right + spare, bottom, top)
    box = Box(start, head, start + across, head + unit * (top - bottom))
    canvas.left = start
    frame = Frame(canvas, box, limits)
    canvas.height = box.bottom + (46 if x_label else 28)
    frame.y_axis(rows, y_label)
    step = rows[1][0] - rows[0][0]
    count = np.arange(np.ceil(limits[0] / step - 1e-9), limits[1] / step + 1e-9)
    digits = max(len(name.partition(".")[2]) for _, name in rows)
    frame.x_axis([(k * step, number(k * step, digits)) for k in count], x_label, lines=True)
    if bottom <= 0 <= top:
        canvas.path(frame([(limits[0], 0), (limits[1], 0)]), "axis")
    if limits[0] <= 0 <= limits[1]:
        canvas.path(frame([(0, bottom), (0, top)]), "axis")
    return frame


def _chart(
    canvas: Canvas, part: Chart, corner: Pair, size: Pair, x_label: str, log: tuple[bool, bool]
) -> Frame:
    """Draw one chart from its upper left corner; `size` is its width and the height of its axis."""
    (x, y), (across, tall), (log_x, log_y) = corner, size, log
    heights = [line for _, line, _ in part.lines]
    heights += [middle + sign * half for _, middle, half, _ in part.points for sign in (1, -1)]
    heights += [np.array([level]) for level, _ in part.levels]
    every = np.concatenate(heights)
    low, high = part.y_limits or (float(every.min()), float(every.max()))
    rows = _log_ticks(low, high) if log_y else _ticks(low, high, 5)
    start = x + max(text_width(name, NUMBER) for _, name in rows) + 9
    head = y + (24 if part.title else 0) + (24 if part.y_label else 10)
    xs = np.asarray(part.x, dtype=float)
    box = Box(start, head, x + across - 16, head + tall)
    span = (float(xs[0]), float(xs[-1]))
    if part.points:  # those at the ends stand free, on a log axis
        by = (span[1] / span[0]) ** (14 / (box.right - box.left))
        span = (span[0] / by, span[1] * by)
    frame = Frame(canvas, box, (*span, low, high), log)
    if part.title:
        canvas.text(x, y + 10, part.title, bold=True)
    frame.y_axis(rows, part.y_label)
    columns = _log_ticks(*span) if log_x else _ticks(*span, 5 if across > 300 else 4)
    if part.x_ticks:
        columns = [(at, number(at, 0)) for at in part.x_ticks]
    elif log_x and len(xs) <= 8:
        columns = [(float(at), f"{at:g}") for at in xs]
    frame.x_axis(columns, x_label)
    canvas.path([(box.left, box.bottom), (box.right, box.bottom)], "axis", keep_off=0)
    canvas.height = max(canvas.height, box.bottom + (46 if x_label else 28))

    named: list[tuple[str, Array, str]] = []
    for level, name in part.levels:
        named.append((name, frame([(span[0], level), (span[1], level)]), "soft dashed"))
    for name, line, look in part.lines:
        named.append((name, frame(np.stack([xs, line], -1)), look))
    for _, line, look in named:
        canvas.path(line, look)
    for name, middle, half, look in part.points:
        line = frame(np.stack([xs, middle], -1))
        named.append((name, line, look))
        for at, value, reach in zip(xs, middle, half, strict=True):
            if reach:
                canvas.path(frame([(at, value - reach), (at, value + reach)]), look)
            canvas.dot(frame((at, value)), look, 3.5)
    for at, note in part.marks:
        top = frame((at, high))
        canvas.path([top, frame((at, low))], "soft thin dotted")
        canvas.note(top[0] + 6, top[1] + 8, note)
    _name_curves(canvas, named, box)
    return frame


def _name_curves(canvas: Canvas, named: Sequence[tuple[str, Array, str]], frame: Box) -> None:
    """Write the names of curves, (name, points, look), each where it is nearest to its own alone.

    A name that comes first takes a place from others: the best of 720 orders is taken, which of
    six names are all.
    """
    points = [sampled(line, 4) for _, line, _ in named]
    offers = {}
    for i, (name, _, _) in enumerate(named):
        rest = np.concatenate([NOWHERE, *points[:i], *points[i + 1 :]])
        if name:
            offers[i] = _offers(canvas, name, points[i], rest, frame)
    best: dict[int, tuple[float, Spot, Box]] = {}
    most = (-np.inf, -np.inf)
    for order in itertools.islice(itertools.permutations(offers), 720):
        taken: dict[int, tuple[float, Spot, Box]] = {}
        for i in order:
            free = (o for o in offers[i] if not any(o[2].overlaps(t[2], 6) for t in taken.values()))
            if offer := next(free, None):
                taken[i] = offer
        scores = [score for score, _, _ in taken.values()]
        merit = (min(scores, default=0), sum(scores))
        if len(taken) == len(offers) and merit > most:
            most, best = merit, taken
    if len(best) < len(offers):
        raise ValueError(f"no room for the names {[name for name, _, _ in named]}")
    for i in offers:
        (name, _, look), (_, spot, _) = named[i], best[i]
        canvas.text(*spot[:2], name, look.split()[0], anchor=spot.anchor, bold=True)


def _offers(
    canvas: Canvas, name: str, points: Array, rest: Array, frame: Box
) -> list[tuple[float, Spot, Box]]:
    """Return the free places for the name of a curve, the best first, each with its score."""
    spots, places = [], []
    for place in range(0, len(points), 3):
        x, y = points[place]
        around = [Spot(x, y + away, "middle") for d in (12, 15, 19, 26) for away in (-d, d)]
        for d, up in itertools.product((8, 16), (0, -9, 9)):
            around += [Spot(x + d, y + up, "start"), Spot(x - d, y + up, "end")]
        for spot in around:
            box = canvas.box(spot, name, bold=True)
            beside = frame.left <= box.left and box.right <= frame.right + 14
            if beside and frame.top - 6 <= box.top and box.bottom <= frame.bottom:
                spots.append((spot, box))
                places.append(place)
    if not spots:
        return []
    boxes = [box for _, box in spots]
    letters = [ink(box) for box in boxes]
    to_own = distances(letters, points)
    own = to_own.min(axis=1)
    # What is farther along the curve than the name is long counts as another curve.
    reach = 15 + text_width(name) / 4
    to_own[np.abs(np.arange(len(points)) - np.array(places)[:, np.newaxis]) < reach] = np.inf
    alone = np.minimum(np.minimum(to_own.min(axis=1), distances(letters, rest).min(axis=1)), 60)
    room = canvas.rooms(boxes)
    aside = np.abs(points[places, 0] - (frame.left + frame.right) / 2)
    score = alone - 3 * own - 10 * np.clip(own + 4 - alone, 0, 5) - 0.02 * aside
    score -= 200 * np.maximum(2 - room, 0)
    order = [int(k) for k in np.argsort(-score, kind="stable") if room[k] >= 0]
    return [(float(score[k]), *spots[k]) for k in order]


def _name_tip(canvas: Canvas, name: str, start: Array, end: Array, role: str) -> None:
    right, down = (float(v) for v in end - start)
    first = float(np.degrees(np.arctan2(-down, right)))
    canvas.label(name, end, role, first=first, away=7)


def _clipped(line: Array, limits: Limits) -> Array | None:
    """Return the part of a segment that lies within limits (Liang and Barsky)."""
    a, way = line[0], line[1] - line[0]
    first, last = 0.0, 1.0
    for axis in (0, 1):
        low, high = limits[2 * axis], limits[2 * axis + 1]
        if way[axis] == 0:
            if not low <= a[axis] <= high:
                return None
            continue
        enter, leave = sorted([(low - a[axis]) / way[axis], (high - a[axis]) / way[axis]])
        first, last = max(first, enter), min(last, leave)
    return np.array([a + first * way, a + last * way]) if first < last else None


def _ticks(low: float, high: float, count: int) -> list[tuple[float, str]]:
    """Return about as many round numbers between two, as they are written."""
    rough = (high - low) / count
    power = 10.0 ** np.floor(np.log10(rough))
    step = min((m * power for m in (1, 2, 2.5, 5, 10)), key=lambda s: abs(np.log(s / rough)))
    digits = next(d for d in range(9) if np.isclose(step, round(float(step), d), rtol=1e-9))
    first = int(np.ceil(low / step - 1e-9))
    last = int(np.floor(high / step + 1e-9))
    return [(k * step, number(k * step, digits)) for k in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return powers of ten, or 1, 2, 5 and so on where these are few."""
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    step = 2 if high / low > 1e6 else 1
    factors = (1, 2, 5) if high / low < 300 else (1,)
    values = [f * 10.0**p for p in powers if p % step == 0 for f in factors]
    return [(v, _in_words(v)) for v in values if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]


def _in_words(value: float) -> str:
    for unit, name in ((1e9, "billion"), (1e6, "million")):
        if value >= unit:
            return f"{value / unit:g} {name}"
    return f"{value:,.0f}" if value >= 1e4 else f"{value:g}"
