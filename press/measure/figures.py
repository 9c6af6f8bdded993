"""What can be read in a figure: the size of its text, its contrast, and what runs into what."""

from press.measure.access import least_contrast
from press.measure.budgets import Reading, budget, counted
from press.measure.visit import PHONE_DARK, WIDE, Visit

SMALLEST = 12  # px, as rendered


@budget("px of text in figures", f"≥ {SMALLEST}", WIDE, PHONE_DARK, badness=lambda value: -value)
def text_size(visit: Visit) -> Reading | None:
    """Measure the smallest text of the figures, as rendered."""
    texts = visit.measure("drawing", "figure_text")
    faults = [f"{t['element']}: {t['size']:.1f} px" for t in texts if t["size"] < SMALLEST - 0.05]
    return Reading(min(t["size"] for t in texts), faults) if texts else None


@budget("contrast in figures", "≥ 4.5", WIDE, PHONE_DARK, badness=lambda value: -value)
def text_contrast(visit: Visit) -> Reading | None:
    """Measure the contrast of each text of a figure with the shape behind it, or the page."""
    texts = visit.measure("drawing", "figure_text")
    return least_contrast(texts) if texts else None


@budget("collisions in figures", "0", WIDE, PHONE_DARK)
def collisions(visit: Visit) -> Reading:
    """List texts that overlap another text or a mark."""
    return counted(visit.measure("drawing", "collisions"))
