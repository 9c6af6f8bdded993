"""The colors of the book: one role, one color, on every page and in both themes.

The hues are those of Okabe and Ito, which color-blind readers can tell apart, darkened for
white paper and lightened for a dark screen.
"""

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
}


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
