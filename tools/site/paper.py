"""What comes out on paper: dark on white, no controls, nothing folded, nothing cut."""

from collections.abc import Iterator

from tools.site.access import contrast_reading
from tools.site.budgets import Reading, budget, counted
from tools.site.visit import Visit

WIDTH = 718  # pixels of A4 within margins of a centimeter


@budget("contrast on paper", "≥ 4.5", badness=lambda value: -value)
def print_contrast(visit: Visit) -> Iterator[Reading]:
    """Measure the contrast of all text with white paper, from either theme."""
    for scheme in ("light", "dark"):
        mode = visit.mode(WIDTH, scheme, media="print")
        yield contrast_reading(visit, mode, on_white=True)


@budget("flaws on paper", "0")
def print_flaws(visit: Visit) -> Iterator[Reading]:
    """List controls that are printed, folded text that is not, and code that is cut."""
    mode = visit.mode(WIDTH, media="print")
    cut = [f"{b['element']}: {b['value']} px cut" for b in visit.measure("code") if b["value"] > 0]
    yield counted(visit.measure("paper") + cut, mode)
