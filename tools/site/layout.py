"""What fits: the page in its window, code in its box, lines in the text, figures on the screen."""

from collections.abc import Iterator

from tools.site.budgets import Reading, budget, median
from tools.site.visit import HEIGHTS, Visit

MEASURE = (62, 74)  # characters per line
ENOUGH = 10  # full lines that a page must have to tell its measure


@budget("px beyond the window", "0")
def sideways(visit: Visit) -> Iterator[Reading]:
    """Measure how far the page scrolls sideways."""
    for width, text in (320, 100), (390, 100), (768, 100), (1280, 100), (1280, 200):
        mode = visit.mode(width, text=text)
        found = visit.measure("sideways")
        faults = [f"{found['value']} px too wide: {e}" for e in found["elements"]]
        yield Reading(found["value"], faults, mode)


@budget("px of code cut", "0")
def code(visit: Visit) -> Iterator[Reading]:
    """Measure how much of the widest line of code is cut."""
    for width in (768, 1280):
        mode = visit.mode(width)
        boxes = visit.measure("code")
        faults = [f"{b['element']}: {b['value']} px cut" for b in boxes if b["value"] > 0]
        yield Reading(max((b["value"] for b in boxes), default=0), faults, mode)


@budget(
    "characters per line",
    f"{MEASURE[0]} to {MEASURE[1]}",
    badness=lambda value: abs(value - sum(MEASURE) / 2),
)
def line_length(visit: Visit) -> Iterator[Reading]:
    """Count the characters of the full lines of running text, where there are enough of them."""
    for width in (768, 1100, 1280, 1920):
        mode = visit.mode(width)
        lines = visit.measure("lines")
        if len(lines) >= ENOUGH:
            value = median(lines)
            fits = MEASURE[0] <= value <= MEASURE[1]
            yield Reading(value, [] if fits else [f"median of {len(lines)} lines: {value:g}"], mode)


@budget("height of a figure in windows", "≤ 1")
def figure_height(visit: Visit) -> Iterator[Reading]:
    """Compare the height of each figure, its caption apart, with that of the window."""
    for width in (1280, 390):
        mode = visit.mode(width)
        heights = visit.measure("heights")
        window = HEIGHTS[width]
        faults = [
            f"{h['element']}: {h['value']:.0f} px high" for h in heights if h["value"] > window
        ]
        yield Reading(max((h["value"] for h in heights), default=0) / window, faults, mode)
