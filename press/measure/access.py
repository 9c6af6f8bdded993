"""What everybody can use: axe's rules, the focus, forced colors, less motion."""

import functools
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from press.measure.budgets import Reading, budget, counted
from press.measure.visit import (
    FORCED_DARK,
    PHONE_DARK,
    PLAIN_PHONE_DARK,
    PLAIN_WIDE,
    WIDE,
    Visit,
    Way,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]
# Formulas, drawings, the cells of matrices that take no focus and code that fits are empty while
# axe looks; it takes half the time. `text_contrast` measures the colors within them, its like those
# of figures, and no other rule speaks of parts of them.
RUN_AXE = """async (tags) => {
    const emptied = "math, svg, pre, .matrix td:not([tabindex])";
    const plain = [...document.querySelectorAll(emptied)].map((element) => {
        const content = document.createDocumentFragment();
        const wide = element.localName === "pre" && element.scrollWidth > element.clientWidth;
        const text = wide ? element.textContent : "";
        content.append(...element.childNodes);
        element.textContent = text;
        return [element, content];
    });
    const found = await axe.run(document, {
        runOnly: tags, resultTypes: ["violations"], preload: false, iframes: false });
    for (const [element, content] of plain.reverse()) element.replaceChildren(content);
    return found.violations.flatMap((rule) => rule.nodes.map((node) =>
        `${rule.id}: ${node.target.join(" ")}: ` + [...node.any, ...node.all, ...node.none]
            .map((check) => check.message).join(" ").slice(0, 160)));
}"""


@functools.cache
def axe() -> str:
    """Return the script of axe."""
    return (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")


@budget("axe: violations", "0", WIDE, PHONE_DARK)
def axe_violations(visit: Visit) -> Reading:
    """List the elements that break a rule of WCAG 2.2 A or AA, or of best practice."""
    return counted(broken_rules(visit.page))


def broken_rules(page: "Page") -> list[str]:
    """Return what axe finds."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe())
    found: list[str] = page.evaluate(RUN_AXE, TAGS)
    return found


@budget(
    "contrast of text",
    "≥ 4.5",
    *(WIDE, PHONE_DARK, FORCED_DARK, PLAIN_WIDE, PLAIN_PHONE_DARK),
    badness=lambda value: -value,
)
def text_contrast(visit: Visit) -> Reading:
    """Measure the contrast of all text, also in a palette of the reader's own."""
    return least_contrast(visit.measure("contrast"))


def least_contrast(texts: list[dict[str, Any]]) -> Reading:
    """Return the least contrast of text with what is behind it, and each one below 4.5."""
    faults = [f"{t['element']}: contrast {t['value']:.2f}" for t in texts if t["value"] < 4.5]
    return Reading(min((t["value"] for t in texts), default=21), faults)


@budget("focus that cannot be seen", "0", WIDE, PHONE_DARK, FORCED_DARK)
def focus(visit: Visit) -> Reading:
    """List the elements that take the keyboard and do not show it."""
    visit.page.keyboard.press("Tab")  # from here on the focus is the keyboard's
    return counted(visit.measure("focus"))


@budget("motion where less is asked for", "≤ 0.01 s", WIDE)
def motion(visit: Visit) -> Reading:
    """Measure the longest transition or animation."""
    moves = visit.measure("motion")
    faults = [f"{m['element']}: {m['value']:g} s" for m in moves if m["value"] > 0.01]
    return Reading(max((m["value"] for m in moves), default=0), faults)


@budget("lost without script", "0", Way.PLAIN)
def lost(visit: Visit) -> Reading:
    """List text that is hidden on a phone and on a wide window, and controls that do nothing."""
    found = []
    for mode in (PLAIN_PHONE_DARK, PLAIN_WIDE):
        visit.enter(mode)
        found.append(visit.measure("plain"))
    narrow, wide = found
    texts = [text for place, text in narrow["hidden"].items() if place in wide["hidden"]]
    idle = sorted({*narrow["idle"], *wide["idle"]})
    return counted([f"{text}: is hidden" for text in texts] + [f"{e}: does nothing" for e in idle])
