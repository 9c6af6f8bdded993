"""The colors of the book, in the light and the dark theme: the only place that names any.

One role, one color, in formulas, tables and figures alike, and nothing else has it. The roles
differ from each other in lightness as well as in hue, so that a reader with any of the common
color-vision deficiencies can tell them apart.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple


class Color(NamedTuple):
    """A color on light and on dark paper."""

    light: str
    dark: str


GROUNDS = {
    "paper": Color("#fcfbf8", "#14181e"),
    "raised": Color("#f5f3ee", "#1b2027"),  # the ground of code
}
TEXT = {  # what is not colored: links and marks of agreement are ink
    "ink": Color("#1d2430", "#dfe3e8"),
    "soft": Color("#5a6372", "#98a2b0"),  # notes, axes
    "error": Color("#b73739", "#f47776"),  # what is wrong
}
LINES = {"rule": Color("#dcd8ce", "#323a45"), "faint": Color("#858a93", "#727c8a")}
ROLES = {
    "query": Color("#0e71b5", "#82c4fe"),
    "key": Color("#852e02", "#db8e5e"),
    "value": Color("#1c6b34", "#79bf8c"),
    "score": Color("#8f6302", "#dec065"),
    "weight": Color("#3941a4", "#758bfe"),
    "context": Color("#8e568e", "#c68ac8"),
    "negative": Color("#80314c", "#fca9c0"),  # below zero, and ticks along the edge say so, too
}
PAPER, INK, SOFT = GROUNDS["paper"], TEXT["ink"], TEXT["soft"]


def css_variables() -> str:
    """Return one block of tokens, each with its color in both themes."""
    colors = GROUNDS | TEXT | LINES | ROLES
    lines = (
        f"  --{name}: light-dark({light}, {dark});\n" for name, (light, dark) in colors.items()
    )
    return f":root {{\n{''.join(lines)}}}\n"


def contrast(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the contrast of two sRGB colors, by the definition of WCAG 2.2."""
    darker, brighter = sorted((_luminance(one), _luminance(other)))
    return (brighter + 0.05) / (darker + 0.05)


def rgb(code: str) -> list[float]:
    """Return the three parts of a color, from 0 to 1."""
    return [int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def mixed(role: str, opacity: float, theme: int) -> list[float]:
    """Return the color of paper that is covered with the color of a role or of text."""
    over, under = rgb((TEXT | ROLES)[role][theme]), rgb(GROUNDS["paper"][theme])
    return [opacity * a + (1 - opacity) * b for a, b in zip(over, under, strict=True)]


@cache
def strongest(role: str) -> float:
    """Return the opacity up to which a role's color lets ink be read on it, in both themes."""
    steps = [step / 100 for step in range(80, 0, -1)]
    return next(
        step
        for step in steps
        if all(contrast(rgb(TEXT["ink"][t]), mixed(role, step, t)) >= 4.6 for t in (0, 1))
    )


def _luminance(color: Sequence[float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
