"""Trace a number, in the built book: by pointer, by finger, by keyboard. `make check-site`.

What is said is computed by the build and compared in tests/pages/test_tracing.py; here it is shown.
"""

import json
import re
from typing import Any

import pytest

from press.build.book import SITE
from press.measure.access import TAGS, axe

TRACED = re.compile(r'<script type="application/json" id="traced">(.*?)</script>')


@pytest.fixture
def opened(visit: Any) -> Any:
    """Return a function that opens a page by its name."""
    return lambda name, **reader: visit(SITE / name, **reader)


def told(example: str) -> Any:
    """Return what the script of an example holds."""
    text = (SITE / "_static/traces" / f"{example}.js").read_text("utf-8")
    return json.loads(text.removeprefix(f'bookTrace.take("{example}",').removesuffix(");\n"))


def test_a_pointer_lights_up_what_made_a_number(opened: Any) -> None:
    page = opened("SA036/index.html")
    facts = told("SA036")
    cell = page.locator("table[data-array=weights_money] tbody td").nth(5)
    cell.hover()
    panel = page.locator(".trace")
    panel.wait_for()
    value, lines, *_ = facts["entries"][str(facts["names"].index("weights_money"))][1][2]
    assert f"weights_money[1, 2] = {value}" in panel.inner_text()
    assert panel.locator(".made").count() == len(lines) == 3
    lit = page.locator("table[data-array=scores_money] .lit")
    assert [one.inner_text() for one in lit.all()] == ["2", "2", "1"]
    used = page.locator("table[data-array=context_money] .after")
    assert used.count() == 2
    page.mouse.move(2, 2)
    panel.wait_for(state="hidden")
    assert not page.locator(".lit").count()


def test_what_is_not_listed_is_said_and_its_sources_light_up(opened: Any) -> None:
    page = opened("SA028/index.html")
    page.locator("table[data-array=weights_encoded] tbody td").nth(5).hover()
    panel = page.locator(".trace")
    panel.wait_for()
    lines = panel.locator(".made").all_inner_texts()
    assert [line.partition(":")[0] for line in lines] == ["score", "scaled", "exponential", "share"]
    for array, count in (("embeddings", 12), ("encoding", 12), ("w_query", 8), ("w_value", 0)):
        assert page.locator(f"table[data-array={array}] .lit").count() == count


def test_the_arrow_keys_go_from_entry_to_entry(opened: Any) -> None:
    page = opened("SA036/index.html")
    table, panel = page.locator("table[data-array=context_money]"), page.locator(".trace")
    table.focus()
    seen = []
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        panel.wait_for()
        seen.append(re.search(r"\[\d, \d\]", panel.inner_text())[0])
    assert seen == ["[0, 0]", "[0, 1]", "[1, 1]", "[1, 1]", "[1, 0]", "[0, 0]"]
    page.keyboard.press("Escape")
    panel.wait_for(state="hidden")
    assert panel.get_attribute("role") == "status"


def test_a_finger_on_a_phone(opened: Any) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = opened("causal/masking.html", **phone)
    entry, panel = page.locator("pre .entry:visible").first, page.locator(".trace")
    entry.tap()
    panel.wait_for()
    box = panel.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert box["y"] + box["height"] <= 844
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    seen = entry.bounding_box()
    assert seen["y"] + seen["height"] <= box["y"] or seen["y"] >= box["y"] + box["height"]
    page.mouse.wheel(0, 60)  # to scroll is not to leave
    assert panel.is_visible()
    page.locator(".trace .close").tap()
    panel.wait_for(state="hidden")


def test_printed_numbers_are_those_of_the_example(opened: Any) -> None:
    """What is said of a printed number is said of that number, on every page."""
    count = 0
    for path in sorted(SITE.rglob("*.html")):
        if not TRACED.search(path.read_text("utf-8")):
            continue
        page = opened(path.relative_to(SITE).as_posix())
        boxes = page.evaluate(
            """bookTrace.boxes.map((box) => ({ example: box.example, of: box.of, rows: box.rows,
                cells: box.cells.map((row) => row.map((cell) => cell.textContent)),
                drawn: box.element.localName === "g" }))"""
        )
        count += len(boxes)
        for box in boxes:
            if box["drawn"]:
                continue
            entries = told(box["example"])["entries"][str(box["of"])]
            for row, at in zip(box["cells"], box["rows"], strict=True):
                known = entries[at]
                for text, (value, *_) in zip(row, known, strict=True):
                    plain = re.sub(r" × 10<sup>(.*?)</sup>", r"e\1", value).replace("−", "-")
                    assert float(text) == pytest.approx(float(plain), abs=6e-5, rel=6e-3)
    assert count > 250


def test_a_drawing_is_traced_in_both_layouts(opened: Any) -> None:
    for width in (1280, 390):
        page = opened("causal/masking.html", viewport={"width": width, "height": 844})
        cell = page.locator("#fig-masking-steps rect.entry:visible").nth(5)
        cell.scroll_into_view_if_needed()
        cell.click()
        page.locator(".trace").wait_for()
        assert "[1, 1]" in page.locator(".trace").inner_text()
        assert page.locator("rect.entry.here").count() == 1


def test_without_script_a_table_says_the_steps(opened: Any) -> None:
    page = opened("SA016/index.html", java_script_enabled=False)
    steps = page.locator("#steps")
    assert "softmax of each row of scaled_scores under the mask" in steps.inner_text()
    assert not page.locator("table[tabindex]").count()
    assert not page.locator(".scripted:visible").count()


def test_axe_has_nothing_to_say(opened: Any) -> None:
    for name in ("SA036/index.html", "causal/masking.html"):
        page = opened(name)
        page.locator(".traces:visible").first.focus()
        page.keyboard.press("ArrowRight")
        page.locator(".trace").wait_for()
        page.evaluate(axe())
        found = page.evaluate(
            """async (tags) => (await axe.run({ include: [".traces", ".trace"] }, {
                runOnly: tags, resultTypes: ["violations"], preload: false }))
                .violations.map((rule) => [rule.id, rule.nodes.map((node) => node.html)])""",
            TAGS,
        )
        assert found == []
