"""What can be read in a figure: the size of its text, its contrast, and what runs into what."""

import functools
from typing import Any

from press.measure.access import least_contrast
from press.measure.budgets import Reading, budget, counted
from press.measure.visit import PHONE_DARK, WIDE, Mode, Visit

SMALLEST = 12  # px, as rendered
DRAWING = "main svg"


@functools.lru_cache(1)  # two budgets ask for it, one after the other
def pieces(visit: Visit, mode: Mode) -> list[dict[str, Any]]:
    """Return the texts of the figures as they are in the mode of the visit."""
    found: list[dict[str, Any]] = []
    if visit.has(DRAWING):
        found = visit.measure("drawing", "figure_text")
    return found


@budget("px of text in figures", f"≥ {SMALLEST}", WIDE, PHONE_DARK, badness=lambda value: -value)
def text_size(visit: Visit) -> Reading | None:
    """Measure the smallest text of the figures, as rendered."""
    texts = pieces(visit, visit.tab.mode)
    faults = [f"{t['element']}: {t['size']:.1f} px" for t in texts if t["size"] < SMALLEST - 0.05]
    return Reading(min(t["size"] for t in texts), faults) if texts else None


@budget("contrast in figures", "≥ 4.5", WIDE, PHONE_DARK, badness=lambda value: -value)
def text_contrast(visit: Visit) -> Reading | None:
    """Measure the contrast of each text of a figure with the shape behind it, or the page."""
    texts = pieces(visit, visit.tab.mode)
    return least_contrast(texts) if texts else None


@budget("collisions in figures", "0", WIDE, PHONE_DARK)
def collisions(visit: Visit) -> Reading | None:
    """List texts that overlap another text or a mark."""
    return counted(visit.measure("drawing", "collisions")) if visit.has(DRAWING) else None
