"""Draw in SVG at the size at which it is read: a unit is a pixel of the page.

A drawing holds shapes and texts only: their colors, strokes and the face are those of
`figures.css`, by class. Texts are measured in the book's label face, so that a label can be
put where nothing stands, and a drawing whose texts overlap is refused.
"""

import itertools
import json
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from fontTools.ttLib import TTFont

Array = npt.NDArray[Any]
Pair = Array | Sequence[float]  # a place: (x, y)

NAME, NUMBER = 14, 13  # sizes of type in pixels: names and titles; numbers and axes
ANCHORS = {"start": 0.0, "middle": 0.5, "end": 1.0}
NOWHERE = np.full((1, 2), -1e6)


class Box(NamedTuple):
    """A rectangle, y downward."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box", gap: float = 0) -> bool:
        """Say whether the two come nearer than the gap."""
        return (
            self.left < other.right + gap
            and other.left < self.right + gap
            and self.top < other.bottom + gap
            and other.top < self.bottom + gap
        )

    @property
    def middle(self) -> tuple[float, float]:
        """Its middle, (x, y)."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def inset(self, by: float) -> "Box":
        """Return the rectangle that lies within this one, as far from all its sides."""
        return Box(self.left + by, self.top + by, self.right - by, self.bottom - by)

    def cell(self, row: int, column: int) -> "Box":
        """Return a cell of the table whose first cell this is."""
        x, y = column * (self.right - self.left), row * (self.bottom - self.top)
        return Box(self.left + x, self.top + y, self.right + x, self.bottom + y)


class Spot(NamedTuple):
    """A place for a label: where its anchor and the middle of its small letters stand."""

    x: float
    y: float
    anchor: str = "start"


def distances(boxes: Array | Sequence[Box], points: Array) -> Array:
    """Return how far each point, (m, 2), lies outside of each box, (n, 4), to a side: (n, m)."""
    left, top, right, bottom = np.asarray(boxes, dtype=np.float32).T[:, :, np.newaxis]
    x, y = points.T.astype(np.float32)
    off: Array = np.maximum(left - x, x - right)
    for side in (top - y, y - bottom, np.float32(0)):
        np.maximum(off, side, out=off)
    return off


@cache
def _face(bold: bool) -> tuple[dict[int, str], dict[str, tuple[int, int]], int]:
    name = "SourceSansPro-Semibold.otf" if bold else "SourceSansPro-Regular.otf"
    with TTFont(str(files("font_source_sans_pro") / "files" / name), lazy=True) as font:
        return font.getBestCmap(), dict(font["hmtx"].metrics), font["head"].unitsPerEm


@cache
def text_width(text: str, size: float = NAME, bold: bool = False) -> float:
    """Return the width of a text in pixels; a character that the face lacks is an error."""
    glyphs, advances, em = _face(bold)
    return sum(advances[glyphs[ord(letter)]][0] for letter in text) * size / em


def short(value: float) -> str:
    """Write a coordinate to a tenth of a pixel."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text.replace("0.", ".", 1) if abs(value) < 1 else text


class Canvas:
    """A drawing of a given width; its height is set when it is done."""

    def __init__(self, width: float) -> None:
        self.width = width
        self.height = 0.0
        self.left = 0.0  # where labels may begin
        self._shapes: list[str] = []
        self._texts: list[str] = []
        self._boxes: list[tuple[Box, str]] = []
        self._marks: list[Array] = [NOWHERE]
        self._quiet: list[Array] = [NOWHERE]
        self._dots: list[tuple[float, float]] = []
        self._part = ""
        # For scripts, where data has its place: the origin, x and y, and the pixels of a unit.
        self.frames: dict[str, list[float]] = {}

    def part(self, name: str, at: Pair | None = None) -> "Canvas":
        """Return this canvas under a name: a script finds what is drawn with it by that name.

        `at` is the point that the part moves with. The size is that of the canvas itself.
        """
        place = "" if at is None else f' data-at="{short(at[0])} {short(at[1])}"'
        named = copy(self)
        named._part = f' data-part="{name}"{place}'
        return named

    def path(
        self,
        points: Array | Sequence[Pair],
        look: str,
        *,
        closed: bool = False,
        keep_off: float = 1,
    ) -> None:
        """Draw a line through points, (n, 2).

        Labels keep off it if `keep_off` is 1, where they easily can if it is less, not if it is 0.
        """
        line = np.asarray(points, dtype=float)
        if keep_off:
            (self._marks if keep_off == 1 else self._quiet).append(sampled(line))
        self._shapes.append(
            f'<path{self._part} class="{look}" d="{_steps(line)}{"z" if closed else ""}"/>'
        )

    def walks(self, steps: Array, origin: Pair, unit: Pair, look: str) -> None:
        """Draw walks, one a row, of steps of one unit up or down; labels may stand on them.

        Seen from a corner, where up is h and down is v, a walk is short to write.
        """
        paths = []
        for row in steps:
            runs = ((up, len(list(run))) for up, run in itertools.groupby(row > 0))
            way = "".join(f"{'h' if up else 'v'}{length}" for up, length in runs)
            paths.append(f'<path d="M0 0{way}"/>')
        a, b = (f"{size:.4f}" for size in unit)
        place = f"matrix({a} -{b} {a} {b} {short(origin[0])} {short(origin[1])})"
        self._shapes.append(
            f'<g{self._part} class="{look}" transform="{place}">{"".join(paths)}</g>'
        )

    def outline(self, box: Box, look: str) -> None:
        """Draw the edge of a rectangle."""
        left, top, right, bottom = box
        corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
        self.path(corners, look, closed=True)

    def segments(
        self, lines: Array | Sequence[Array] | Sequence[Sequence[Pair]], look: str
    ) -> None:
        """Draw segments, (n, 2, 2), as one line of many pieces; labels may stand on it."""
        pieces = [_steps(np.asarray(line, dtype=float)) for line in lines]
        self._shapes.append(f'<path{self._part} class="{look}" d="{"".join(pieces)}"/>')

    def ribbon(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        wide: float,
        look: str,
        *,
        down: bool = False,
    ) -> None:
        """Draw a band that leaves and arrives level, or upright if it runs `down`.

        Labels may stand on it.
        """
        (a, y), (b, z) = (start[::-1], end[::-1]) if down else (start, end)
        middle, half = (a + b) / 2, wide / 2

        def place(along: float, across: float) -> str:
            at = (f"{short(along)}", f"{across:.2f}")
            return " ".join(at[::-1] if down else at)

        def bend(y: float, z: float, to: float) -> str:
            return f"C{place(middle, y)} {place(middle, z)} {place(to, z)}"

        there, back = bend(y - half, z - half, b), bend(z + half, y + half, a)
        d = f"M{place(a, y - half)}{there}{'h' if down else 'v'}{wide:.2f}{back}z"
        self._shapes.append(f'<path{self._part} class="{look} fill" d="{d}"/>')

    def rectangle(self, box: Box, look: str, strength: float = 1) -> None:
        """Fill a rectangle, as strongly as said; labels may stand on it."""
        x, y, w, h = box.left, box.top, box.right - box.left, box.bottom - box.top
        shade = "" if strength == 1 else f' fill-opacity="{f"{strength:.2f}".lstrip("0")}"'
        self._shapes.append(
            f'<rect{self._part} class="{look}" x="{short(x)}" y="{short(y)}" width="{short(w)}" '
            f'height="{short(h)}"{shade}/>'
        )

    def ticks(self, box: Box) -> None:
        """Mark the cell that was drawn last, wherever it is negative, by more than its color."""
        line = _steps(np.array([(box.left, box.bottom - 2), (box.right, box.bottom - 2)]))
        self._shapes.append(f'<path class="negative ticks" d="{line}"/>')

    def dot(self, at: Pair, look: str, radius: float = 4.5) -> None:
        """Draw a disk."""
        x, y = at
        turn = np.linspace(0, 2 * np.pi, 12)
        self._dots.append((x, y))
        self._marks.append(np.array([x, y]) + radius * np.stack([np.cos(turn), np.sin(turn)], -1))
        self._shapes.append(
            f'<circle{self._part} class="{look}" '
            f'cx="{short(x)}" cy="{short(y)}" r="{short(radius)}"/>'
        )

    def arrow(self, start: Pair, end: Pair, look: str) -> None:
        """Draw an arrow; all arrows of the book are alike."""
        a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
        along = (b - a) / np.linalg.norm(b - a)
        across = np.array([-along[1], along[0]])
        neck = b - 10 * along
        self.path([a, neck + along], look)
        self.path([neck + 4.5 * across, b, neck - 4.5 * across], f"{look} fill", closed=True)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        look: str = "",
        *,
        anchor: str = "start",
        size: float = NAME,
        bold: bool = False,
    ) -> None:
        """Write a text; y is the middle of its small letters."""
        if not text:
            return
        self._boxes.append((self.box(Spot(x, y, anchor), text, size, bold), text))
        attributes = [f'x="{short(x)}" y="{short(y + 0.32 * size)}"']
        attributes += [f'class="{look}"'] if look else []
        attributes += [f'text-anchor="{anchor}"'] if anchor != "start" else []
        attributes += [f'font-size="{short(size)}"'] if size != NAME else []
        attributes += ['font-weight="600"'] if bold else []
        self._texts.append(
            f"<text{self._part} {' '.join(attributes)}>{escape(text, quote=False)}</text>"
        )

    def note(
        self, x: float, y: float, text: str, look: str = "soft", anchor: str = "start"
    ) -> None:
        """Write a number or a note, in the smaller size."""
        self.text(x, y, text, look, anchor=anchor, size=NUMBER)

    def columns(self, names: Sequence[str], x: float, y: float, pitch: float) -> None:
        """Write the names of the columns of a table; the first column begins at x."""
        for j, name in enumerate(names):
            self.note(x + (j + 0.5) * pitch, y, name, anchor="middle")

    def rows(self, names: Sequence[str], x: float, y: float, pitch: float) -> None:
        """Write the names of the rows of a table, which end at x; y is the middle of the first."""
        for i, name in enumerate(names):
            self.note(x, y + i * pitch, name, anchor="end")

    def cell(
        self, box: Box, text: str, look: str, strength: float, also: str = "", size: float = NUMBER
    ) -> None:
        """Fill a cell of a table and write its number; `also` is a class of both."""
        self.rectangle(box, f"{look} {also}".rstrip(), strength)
        self.text(*box.middle, text, f"cell {also}".rstrip(), anchor="middle", size=size)

    def cells(self, strengths: Array, place: Callable[[Any], Array], look: str) -> None:
        """Fill the cells of a matrix, as strongly as its numbers from 0 to 1 say, in steps of .04.

        `place` takes (column, row) to where that corner is, and keeps rows level. Cells of one
        strength are one path, and so are neighbors in a row; those of strength 0 stay empty.
        """
        (left, top), (right, bottom) = place([(0, 0), (1, 1)])
        runs: dict[int, list[str]] = {}
        for i, row in enumerate(np.round(25 * strengths).astype(int).tolist()):
            j = 0
            for strength, run in itertools.groupby(row):
                first, j = j, j + len(list(run))
                runs.setdefault(strength, []).append(f"M{first} {i}h{j - first}v1h{first - j}z")
        runs.pop(0, None)
        self._shapes.append(
            f'<g transform="translate({left:g} {top:g}) scale({right - left:g} {bottom - top:g})">'
        )
        for strength, steps in sorted(runs.items()):
            self._shapes.append(
                f'<path class="{look} cells" fill-opacity="{strength / 25:g}" '
                f'd="{"".join(steps)}"/>'
            )
        self._shapes.append("</g>")

    def box(self, spot: Spot, text: str, size: float = NAME, bold: bool = False) -> Box:
        """Return the room that a text takes, as a browser counts it: from ascender to descender."""
        wide = text_width(text, size, bold)
        left = spot.x - ANCHORS[spot.anchor] * wide
        return Box(left, spot.y - 0.66 * size, left + wide, spot.y + 0.6 * size)

    def rooms(self, boxes: Sequence[Box], quiet: bool = False) -> Array:
        """Return how far boxes of text are from all marks, or all quiet ones; -1 for no place."""
        marks = self._quiet if quiet else self._marks
        marks[:] = [np.concatenate(marks)]
        rooms: Array = distances([ink(box) for box in boxes], marks[0]).min(axis=1)
        for place, box in enumerate(boxes):
            inside = box.left >= self.left and box.right <= self.width and box.top >= 0
            if not inside or any(box.overlaps(other, 1) for other, _ in self._boxes):
                rooms[place] = -1
        return rooms

    def label(
        self, text: str, at: Array, look: str = "", *, first: float = 0, away: float = 9
    ) -> None:
        """Write a name beside a point, where it is clear of the rest and nearest to that point.

        It would rather stand in the direction `first`, in degrees, and `away` from the point.
        """
        if not text:
            return
        x, y = float(at[0]), float(at[1])
        others = [dot for dot in self._dots if np.hypot(dot[0] - x, dot[1] - y) > 1]
        spots = around(x, y, away, first)
        boxes = [self.box(spot, text, bold=True) for spot in spots]
        room, quiet = self.rooms(boxes), self.rooms(boxes, quiet=True)
        own = distances(boxes, np.array([[x, y]]))[:, 0]
        strange = distances(boxes, np.array([*others, NOWHERE[0]])).min(axis=1)
        cost = 30 * np.maximum(3 - room, 0) + np.maximum(3 - quiet, 0)
        cost += 20 * (strange < own + 2) + 0.6 * np.arange(len(spots))
        cost[room < 0] = np.inf
        best = int(cost.argmin())
        if cost[best] == np.inf:
            raise ValueError(f"no room for the label {text!r}")
        spot, box = spots[best], boxes[best]
        if own[best] > 16:  # a thread shows whose name it is
            near = np.clip((x, y), (box.left, box.top + 4), (box.right, box.bottom - 4))
            self.path([(x, y), near], "soft thread")
        self.text(*spot[:2], text, look, anchor=spot.anchor, bold=True)

    def svg(self, look: str) -> str:
        """Return the drawing as an element, unless its texts overlap or leave it."""
        for place, (box, text) in enumerate(self._boxes):
            if (
                box.left < -0.5
                or box.right > self.width + 0.5
                or not 0 <= box.top < box.bottom <= self.height
            ):
                raise ValueError(f"the text {text!r} leaves the drawing of {self.width} pixels")
            for other, its in self._boxes[:place]:
                if box.overlaps(other):
                    raise ValueError(
                        f"the texts {its!r} and {text!r} overlap at {self.width} pixels"
                    )
        w, h = short(self.width), short(self.height)
        inside = "".join(self._shapes + self._texts)
        places = f' data-frames="{escape(json.dumps(self.frames))}"' if self.frames else ""
        return (
            f'<svg class="{look}" viewBox="0 0 {w} {h}" width="{w}" height="{h}" '
            f'font-size="{NAME}" aria-hidden="true"{places}>{inside}</svg>'
        )


def ink(box: Box) -> Box:
    """Return the part of a text's room that its letters take."""
    return box._replace(top=box.top + 0.16 * (box.bottom - box.top))


def around(x: float, y: float, away: float = 8, first: float = 0) -> list[Spot]:
    """Return the places around a point for a label, that in the direction `first` (degrees) first.

    Directions are as on paper: 0 is right, 90 is up.
    """
    spots = []
    for reach in (away, away + 6, away + 14, away + 24, away + 36):
        for turn in (0, 30, -30, 60, -60, 90, -90, 120, -120, 150, -150, 180):
            angle = np.radians(first + turn)
            right, up = float(np.cos(angle)), float(np.sin(angle))
            anchor = "middle" if abs(right) < 0.4 else "start" if right > 0 else "end"
            spots.append(Spot(x + reach * right, y - (reach + 4) * up, anchor))
    return spots


def sampled(line: Array, step: float = 3) -> Array:
    """Return points on a line, no two neighbors farther apart than the step."""
    parts = [line[:1]]
    for a, b in itertools.pairwise(line):
        count = max(1, int(np.ceil(np.linalg.norm(b - a) / step)))
        parts.append(a + (b - a) * np.linspace(0, 1, count + 1)[1:, np.newaxis])
    return np.concatenate(parts)


def _simple(line: Array, tolerance: float = 0.15) -> Array:
    """Leave out the points of a line that stand on it anyhow (Ramer, Douglas, Peucker)."""
    if len(line) < 3:
        return line
    way = line[-1] - line[0]
    size = float(np.hypot(*way))
    gap = line[1:-1] - line[0]
    off = np.abs(gap @ np.array([-way[1], way[0]])) / size if size else np.hypot(*gap.T)
    far = int(off.argmax()) + 1
    if off[far - 1] <= tolerance:
        return line[[0, -1]]
    return np.concatenate(
        [_simple(line[: far + 1], tolerance)[:-1], _simple(line[far:], tolerance)]
    )


def _steps(line: Array) -> str:
    """Write a line as SVG does, in steps from point to point."""
    tenths = np.round(_simple(line) * 10).astype(int)
    start, steps = tenths[0], np.diff(tenths, axis=0)
    pairs = [f"{short(x / 10)} {short(y / 10)}" for x, y in [start, *steps]]
    return f"M{pairs[0]}" + (f"l{' '.join(pairs[1:])}".replace(" -", "-") if len(steps) else "")
