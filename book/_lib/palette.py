"""The colors of the book: one role, one color, on every page and in both themes.

The hues are those of Okabe and Ito, which color-blind readers can tell apart, darkened for
white paper and lightened for a dark screen.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Color(NamedTuple):
    """A color on light and on dark ground."""

    light: str
    dark: str


INK = Color("#1f2733", "#e7eaf0")  # text, axes, words
MUTED = Color("#5c6675", "#a7b0be")  # ticks, notes
FAINT = Color("#d5dae2", "#3c4454")  # grid, frames
SURFACE = Color("#fdfdfe", "#14181e")  # the ground itself
QUERY = Color("#0b66a8", "#62b5ec")  # blue
KEY = Color("#b8500a", "#f2a15c")  # vermilion
VALUE = Color("#0a7d5d", "#45c9a1")  # green
CONTEXT = Color("#96457f", "#e08fc6")  # purple: what attention returns
WEIGHT = Color("#0a5c97", "#5fb2ea")  # shares, always blue
SCORE = Color("#8a6a00", "#e0bd4a")  # positive scores, ochre
NEGATIVE = Color("#a83f2d", "#f08c76")  # negative scores, red

# Numbers on colored cells: in the theme's own way round, dark in both, or the other way round.
PLAIN = Color("#010203", "#ffffff")
PITCH = Color("#020304", "#020304")
REVERSE = Color("#fefefe", "#030405")

NAMES = {
    "ink": INK,
    "muted": MUTED,
    "faint": FAINT,
    "surface": SURFACE,
    "query": QUERY,
    "key": KEY,
    "value": VALUE,
    "context": CONTEXT,
    "weight": WEIGHT,
    "score": SCORE,
    "negative": NEGATIVE,
    "plain": PLAIN,
    "pitch": PITCH,
    "reverse": REVERSE,
}


def luminance(color: Sequence[float]) -> float:
    """Return the relative luminance of an sRGB color, by the definition of WCAG 2.2."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(text: str, hue: str, alpha: float, surface: str) -> float:
    """Return the contrast of a text on a surface that is covered with a hue of some opacity."""

    def rgb(code: str) -> list[float]:
        return [int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)]

    covered = [alpha * h + (1 - alpha) * s for h, s in zip(rgb(hue), rgb(surface), strict=True)]
    darker, brighter = sorted((luminance(rgb(text)), luminance(covered)))
    return (brighter + 0.05) / (darker + 0.05)


def text_on(hue: Color, alpha: float) -> Color:
    """Return the text color that reads best, in the worse theme, on a hue of some opacity."""

    def worse(text: Color) -> float:
        return min(contrast(text[t], hue[t], alpha, SURFACE[t]) for t in (0, 1))

    return max((PLAIN, PITCH, REVERSE), key=worse)


def css_variables() -> str:
    """Return the style sheet that gives every role its color in both themes."""

    def block(selector: str, theme: int) -> str:
        lines = (f"  --figure-{name}: {color[theme]};" for name, color in NAMES.items())
        return f"{selector} {{\n" + "\n".join(lines) + "\n}\n"

    return block(":root", 0) + block('html[data-theme="dark"]', 1)


def with_variables(svg: str) -> str:
    """Replace each color of the light theme by its variable."""
    for name, color in NAMES.items():
        svg = svg.replace(color.light, f"var(--figure-{name}, {color.light})")
    return svg
