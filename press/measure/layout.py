"""What fits, in a figure, in the window, on paper."""

import statistics

from press.measure.access import least_contrast
from press.measure.budgets import Reading, budget, counted
from press.measure.visit import (
    FORCED_DARK,
    HEIGHTS,
    PHONE_DARK,
    PLAIN_PHONE_DARK,
    PLAIN_WIDE,
    PRINTED_DARK,
    WIDE,
    Mode,
    Visit,
    Way,
)

SMALLEST = 12  # px of text in a figure, as rendered
MOST_SHIFT = 0.01  # of the window, times how far
MEASURE = (62, 74)  # characters per line
ENOUGH = 10  # full lines that a page must have to tell its measure


@budget("layout shift while a page loads", f"≤ {MOST_SHIFT}", Way.SERVER, Way.DISK)
def shift(visit: Visit) -> Reading:
    """Measure how far what was already shown has moved, as browsers count it."""
    faults = [f"moved by {visit.moved:.3f}"] if visit.moved > MOST_SHIFT else []
    return Reading(visit.moved, faults)


@budget("px of text in figures", f"≥ {SMALLEST}", WIDE, PHONE_DARK, badness=lambda value: -value)
def text_size(visit: Visit) -> Reading | None:
    """Measure the smallest text of the figures, as rendered."""
    texts = visit.measure("drawing", "figure_text")
    faults = [f"{t['element']}: {t['size']:.1f} px" for t in texts if t["size"] < SMALLEST - 0.05]
    return Reading(min(t["size"] for t in texts), faults) if texts else None


@budget("contrast in figures", "≥ 4.5", WIDE, PHONE_DARK, badness=lambda value: -value)
def figure_contrast(visit: Visit) -> Reading | None:
    """Measure the contrast of each text of a figure with the shape behind it, or the page."""
    texts = visit.measure("drawing", "figure_text")
    return least_contrast(texts) if texts else None


@budget("collisions in figures", "0", WIDE, PHONE_DARK)
def collisions(visit: Visit) -> Reading:
    """List texts that overlap another text or a mark."""
    return counted(visit.measure("drawing", "collisions"))


@budget(
    "px beyond the window",
    "0",
    *(Mode(320), PHONE_DARK, Mode(768), WIDE, FORCED_DARK, PLAIN_PHONE_DARK, PLAIN_WIDE),
)
def sideways(visit: Visit) -> Reading:
    """Measure how far the page scrolls sideways."""
    found = visit.measure("sideways")
    faults = [f"{found['value']} px too wide: {element}" for element in found["elements"]]
    if found["size"] < 16 * visit.mode.text / 100:
        faults.append(f"the text has {found['size']:g} px, whatever the reader asks for")
    return Reading(found["value"], faults)


@budget("px of code cut", "0", Mode(768), Mode(1100), WIDE)
def code(visit: Visit) -> Reading | None:
    """Measure how much of the widest line of code is cut."""
    boxes = visit.measure("code")
    faults = [f"{b['element']}: {b['value']} px cut" for b in boxes if b["value"] > 0]
    return Reading(max(b["value"] for b in boxes), faults) if boxes else None


@budget(
    "characters per line",
    f"{MEASURE[0]} to {MEASURE[1]}",
    *(Mode(768), Mode(1100), WIDE),  # a wider window leaves the column as it is
    badness=lambda value: abs(value - sum(MEASURE) / 2),
)
def line_length(visit: Visit) -> Reading | None:
    """Count the characters of the full lines of running text, where there are enough of them."""
    lines = visit.measure("lines")
    if len(lines) < ENOUGH:
        return None
    value = statistics.median(lines)
    fits = MEASURE[0] <= value <= MEASURE[1]
    return Reading(value, [] if fits else [f"median of {len(lines)} lines: {value:g}"])


@budget("height of a figure in windows", "≤ 1", WIDE, PHONE_DARK)
def figure_height(visit: Visit) -> Reading | None:
    """Compare the height of each figure, its caption apart, with that of the window."""
    heights = visit.measure("heights")
    window = HEIGHTS[visit.mode.width]
    faults = [f"{h['element']}: {h['value']:.0f} px high" for h in heights if h["value"] > window]
    return Reading(max(h["value"] for h in heights) / window, faults) if heights else None


@budget("contrast on paper", "≥ 4.5", PRINTED_DARK, badness=lambda value: -value)
def print_contrast(visit: Visit) -> Reading:
    """Measure the contrast of all text with white paper, from the theme that is far from it."""
    return least_contrast(visit.measure("contrast", onWhite=True))


@budget("flaws on paper", "0", PRINTED_DARK)
def print_flaws(visit: Visit) -> Reading:
    """List controls that are printed, folded text that is not, and code that is cut."""
    cut = [f"{b['element']}: {b['value']} px cut" for b in visit.measure("code") if b["value"] > 0]
    return counted(visit.measure("paper") + cut)
