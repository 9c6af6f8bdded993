"""What can be read in a figure: the size of its text, its contrast, and what runs into what."""

from collections.abc import Iterator

from tools.site.budgets import Reading, budget, counted
from tools.site.visit import Visit

SMALLEST = 12  # px, as rendered
WIDTHS = (1280, 390)


@budget("px of text in figures", f"≥ {SMALLEST}", badness=lambda value: -value)
def text_size(visit: Visit) -> Iterator[Reading]:
    """Measure the smallest text of the figures, as rendered."""
    for width in WIDTHS:
        mode = visit.mode(width)
        texts = visit.measure("drawing", "figure_text")
        faults = [
            f"{t['element']}: {t['size']:.1f} px" for t in texts if t["size"] < SMALLEST - 0.05
        ]
        if texts:
            yield Reading(min(t["size"] for t in texts), faults, mode)


@budget("contrast in figures", "≥ 4.5", badness=lambda value: -value)
def text_contrast(visit: Visit) -> Iterator[Reading]:
    """Measure the contrast of each text of a figure with the shape behind it, or the page."""
    for scheme in ("light", "dark"):
        mode = visit.mode(scheme=scheme)
        texts = visit.measure("drawing", "figure_text")
        faults = [
            f"{t['element']}: contrast {t['contrast']:.2f}" for t in texts if t["contrast"] < 4.5
        ]
        if texts:
            yield Reading(min(t["contrast"] for t in texts), faults, mode)


@budget("collisions in figures", "0")
def collisions(visit: Visit) -> Iterator[Reading]:
    """List texts that overlap another text or a mark."""
    for width in WIDTHS:
        mode = visit.mode(width)
        yield counted(visit.measure("drawing", "collisions"), mode)
