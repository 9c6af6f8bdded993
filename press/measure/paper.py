"""What comes out on paper: dark on white, no controls, nothing folded, nothing cut."""

from press.measure.access import least_contrast
from press.measure.budgets import Reading, budget, counted
from press.measure.visit import PRINTED_DARK, Visit


@budget("contrast on paper", "≥ 4.5", PRINTED_DARK, badness=lambda value: -value)
def print_contrast(visit: Visit) -> Reading:
    """Measure the contrast of all text with white paper, from the theme that is far from it."""
    return least_contrast(visit.measure("contrast", onWhite=True))


@budget("flaws on paper", "0", PRINTED_DARK)
def print_flaws(visit: Visit) -> Reading:
    """List controls that are printed, folded text that is not, and code that is cut."""
    cut = [f"{b['element']}: {b['value']} px cut" for b in visit.measure("code") if b["value"] > 0]
    return counted(visit.measure("paper") + cut)
