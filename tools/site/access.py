"""What everybody can use: axe's rules, the focus, forced colors, less motion."""

import functools
from collections.abc import Iterator
from pathlib import Path

import axe_playwright_python

from tools.site.budgets import Reading, budget, counted
from tools.site.visit import Visit

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]
COLORS = ["color-contrast", "link-in-text-block"]
# Most of axe's time. `text_contrast` measures formulas and code, too, and its like the figures.
COLOR_RULES = {
    "runOnly": {"type": "rule", "values": COLORS},
    "exclude": [["math"], ["svg"], ["pre"]],
}
OTHER_RULES = {
    "runOnly": TAGS,
    "rules": {rule: {"enabled": False} for rule in COLORS},
    "exclude": [],
}
RUN_AXE = """async ({ exclude, ...options }) => {
    const found = await axe.run({ include: [["html"]], exclude }, {
        ...options, resultTypes: ["violations"], preload: false, iframes: false });
    return found.violations.flatMap((rule) => rule.nodes.map((node) =>
        `${rule.id}: ${node.target.join(" ")}: ` + [...node.any, ...node.all, ...node.none]
            .map((check) => check.message).join(" ").slice(0, 160)));
}"""


@functools.cache
def axe() -> str:
    """Return the script of axe."""
    assert axe_playwright_python.__file__
    return Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text("utf-8")


@budget("axe: violations", "0")
def axe_violations(visit: Visit) -> Iterator[Reading]:
    """List the elements that break a rule of WCAG 2.2 A or AA, or of best practice.

    The themes differ in colors alone, and a phone has the colors of the wide page: what cannot
    differ is not measured twice.
    """
    visit.page.evaluate(axe())
    for width, scheme, kinds in (
        (1280, "light", (COLOR_RULES, OTHER_RULES)),
        (1280, "dark", (COLOR_RULES,)),
        (390, "light", (OTHER_RULES,)),
    ):
        mode = visit.mode(width, scheme, still=True)
        found = [fault for rules in kinds for fault in visit.page.evaluate(RUN_AXE, rules)]
        yield counted(found, mode)


@budget("contrast of text", "≥ 4.5", badness=lambda value: -value)
def text_contrast(visit: Visit) -> Iterator[Reading]:
    """Measure the contrast of all text, also in a palette of the reader's own."""
    for width, scheme, forced in (
        (390, "light", False),
        (390, "dark", False),
        (1280, "light", True),
        (1280, "dark", True),
    ):
        yield contrast_reading(visit, visit.mode(width, scheme, forced=forced, still=True))


@budget("focus that cannot be seen", "0")
def focus(visit: Visit) -> Iterator[Reading]:
    """List the elements that take the keyboard and do not show it."""
    for width, scheme, forced in (1280, "light", False), (390, "dark", False), (1280, "dark", True):
        mode = visit.mode(width, scheme, forced=forced, still=True)
        visit.page.keyboard.press("Tab")  # from here on the focus is the keyboard's
        yield counted(visit.measure("focus"), mode)


def contrast_reading(visit: Visit, mode: str, on_white: bool = False) -> Reading:
    """Return the least contrast of text with what is behind it, and each one below 4.5."""
    texts = visit.measure("contrast", onWhite=on_white)
    faults = [f"{t['element']}: contrast {t['value']:.2f}" for t in texts if t["value"] < 4.5]
    return Reading(min((t["value"] for t in texts), default=21), faults, mode)


@budget("motion where less is asked for", "≤ 0.01 s")
def motion(visit: Visit) -> Iterator[Reading]:
    """Measure the longest transition or animation."""
    mode = visit.mode(still=True)
    moves = visit.measure("motion")
    faults = [f"{m['element']}: {m['value']:g} s" for m in moves if m["value"] > 0.01]
    yield Reading(max((m["value"] for m in moves), default=0), faults, mode)
