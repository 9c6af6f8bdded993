"""Handouts: each is written twice, to be filled in and filled in, and fits a sheet of paper."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from book.figures.glue import number
from selfattn_ref import __version__

LICENSE = "CC BY 4.0"
SOURCE = f"From “Self-attention, computed”, version {__version__}, {LICENSE}."


class Blank(str):
    """What the reader fills in; the second sheet shows it."""

    __slots__ = ()


def blanks(values: Iterable[float], digits: int = 2) -> list[Blank]:
    """Return numbers to be filled in."""
    return [Blank(number(value, digits)) for value in values]


def given(values: Iterable[float], digits: int = 0) -> list[str]:
    """Return numbers that stand there."""
    return [number(value, digits) for value in values]


class Step(NamedTuple):
    """What to do, the table to do it in, and a plane to draw in."""

    text: str
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()  # the first entry of a row names it
    plane: "Plane | None" = None


class Plane(NamedTuple):
    """Points of a plane: those that stand there, and those that the reader draws."""

    x_label: str
    y_label: str
    points: Sequence[tuple[str, float, float]]
    drawn: Sequence[tuple[str, float, float]]


class Handout:
    """A handout for the page: an empty sheet, then a solved one."""

    def __init__(self, title: str, source: str, *steps: Step) -> None:
        self.title, self.source, self.steps = title, source, steps

    def _repr_html_(self) -> str:
        return self.sheet(solved=False) + self.sheet(solved=True)

    def __repr__(self) -> str:
        return "Handout"

    def sheet(self, solved: bool) -> str:
        """Return one of the two sheets."""
        title = escape(f"{self.title}: solved" if solved else self.title)
        steps = "".join(
            f"<li><div><p>{step.text}</p>"
            f"{table(step, solved)}{plane(step.plane, solved)}</div></li>"
            for step in self.steps
        )
        name = "" if solved else '<p class="name">Name</p>'
        return (
            f'<section class="sheet"><div class="top"><h2>{title}</h2>{name}</div><ol>{steps}</ol>'
            f'<p class="source">{SOURCE} {escape(self.source)}</p></section>'
        )


def table(step: Step, solved: bool) -> str:
    """Return the table of a step, its blanks empty or filled in."""
    if not step.rows:
        return ""
    head = "".join(
        f'<th scope="col">{escape(text)}</th>' if text else "<td></td>" for text in step.head
    )
    body = ""
    for name, *entries in step.rows:
        cells = "".join(cell(entry, solved) for entry in entries)
        body += f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'
    head = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<table>{head}<tbody>{body}</tbody></table>"


def cell(entry: str, solved: bool) -> str:
    """Return a cell of a table."""
    if not isinstance(entry, Blank):
        return f"<td>{escape(entry)}</td>"
    kind = "blank words" if len(entry) > 6 else "blank"
    said = escape(entry) if solved else '<span class="unseen">to fill in</span>'
    return f'<td class="{kind}">{said}</td>'


def plane(shown: Plane | None, solved: bool) -> str:
    """Return a plane with squared paper from 0 to 2."""
    if shown is None:
        return ""
    unit, edge = 90.0, 34.0
    right_name, upward_name = escape(shown.x_label), escape(shown.y_label)
    size = 2 * unit + edge

    def spot(x: float, y: float) -> tuple[float, float]:
        return edge + x * unit, 12 + (2 - y) * unit

    lines = ""
    for k in range(9):
        at = k / 4
        (x, low), (_, high) = spot(at, 0), spot(at, 2)
        (left, y), (right, _) = spot(0, at), spot(2, at)
        lines += f'<path d="M{x} {low}V{high}M{left} {y}H{right}"/>'
    points = [(*point, "value") for point in shown.points]
    points += [(*point, "context") for point in shown.drawn if solved]
    said = [f"{name} at {number(x, 2)}, {number(y, 2)}" for name, x, y, _ in points]
    marks = "".join(mark(name, *spot(x, y), kind) for name, x, y, kind in points)
    axes = f"{shown.x_label} to the right and {shown.y_label} upward"
    label = escape(f"Squared paper, {axes}: {'; '.join(said)}.")
    return (
        f'<figure><svg class="paper" viewBox="0 0 {size + 70} {size + 10}"'
        f' role="img" aria-label="{label}">'
        f'<g class="grid">{lines}</g>{marks}'
        f'<text x="{edge + 2 * unit}" y="{size + 6}" text-anchor="end">{right_name} →</text>'
        f'<text transform="translate(20 {12 + unit * 2})rotate(-90)">{upward_name} →</text>'
        "</svg><figcaption>Each square is a quarter wide.</figcaption></figure>"
    )


def mark(name: str, x: float, y: float, kind: str) -> str:
    """Return a point with its name."""
    return (
        f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
        f'<text x="{x + 7:.1f}" y="{y - 5:.1f}">{escape(name)}</text>'
    )
