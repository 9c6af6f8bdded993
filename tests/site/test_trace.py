"""Trace a number, in the built book: by pointer, by finger, by keyboard. `make check-site`.

What is said is computed by the build and compared in tests/pages/test_tracing.py; here it is shown.
"""

import json
import re
from typing import Any

import pytest

from press.build.book import SITE
from press.measure.access import TAGS, axe

# How many arrays answer on a page, at least.
ANSWERS = {
    "analogies/party": 10, "analogies/retrieval": 5,
    "analogies/stretching-space": 14, "analogies/which-analogy-when": 5, "beyond/gradients": 11,
    "beyond/long-sequences": 4, "beyond/many-heads": 26, "beyond/two-layers": 11,
    "beyond/word-order": 18, "causal/generating": 5, "causal/masking": 20,
    "causal/padding-and-empty-rows": 10, "causal/perplexity": 3,
    "causal/what-the-mask-guarantees": 7, "causal/windows-and-sinks": 9, "concepts/all-at-once": 17,
    "concepts/attention-equation": 11, "concepts/embeddings": 4, "concepts/mixing-words": 14,
    "concepts/queries-keys-values": 21, "concepts/similarity": 7, "concepts/why-parameters": 4,
    "concepts/why-softmax": 3, "index": 2, "reference/misconceptions": 1,
    "scaling/other-scalings": 2, "scaling/saturation": 7,
    "scaling/variance-of-a-dot-product": 14,
}  # fmt: skip
BOXES = """() => {
  const inside = (text, rect) => ["x", "y"].every((axis, k) => {
    const from = Number(rect.getAttribute(axis)), at = Number(text.getAttribute(axis));
    return from <= at && at <= from + Number(rect.getAttribute(["width", "height"][k]));
  });
  const drawn = (cell) => [...cell.closest("svg").querySelectorAll("text.cell")];
  const text = (cell) => (cell.localName === "td" ? cell
    : drawn(cell).find((one) => inside(one, cell))).innerHTML;
  return bookTrace.boxes.map(({ example, of, at, cells, element }) => ({
    example, of, at, cells: cells.map((row) => row.map(text)), drawn: element.localName === "g" }));
}"""


@pytest.fixture
def opened(visit: Any) -> Any:
    """Return a function that opens a page by its name."""
    return lambda name, after="", **reader: visit(SITE / name, after, **reader)


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
    panel = page.locator(".trace")
    page.locator("table[data-array=context_money] td.entry").first.focus()
    seen = []
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        panel.wait_for()
        seen.append(re.search(r"\[\d, \d\]", panel.inner_text())[0])
    assert seen == ["[0, 0]", "[0, 1]", "[1, 1]", "[1, 1]", "[1, 0]", "[0, 0]"]
    page.keyboard.press("Escape")
    panel.wait_for(state="hidden")


def test_an_entry_that_a_key_leads_to_is_in_sight(opened: Any) -> None:
    page = opened("SA016/index.html", viewport={"width": 390, "height": 844})
    page.locator("table[data-array=output] td.entry").first.focus()
    for key in ("Enter", "ArrowRight", "End", "Home"):
        page.keyboard.press(key)
        page.locator(".trace").wait_for()
        seen = page.locator(".entry.here").bounding_box()
        assert 0 <= seen["x"] <= 390 - seen["width"], key


@pytest.mark.parametrize("name", ["SA036/index.html", "causal/masking.html"])
def test_the_keys_go_from_a_number_into_what_is_said_of_it_and_back(opened: Any, name: str) -> None:
    page = opened(name)
    panel, focus = page.locator(".trace"), "document.activeElement"
    stops = page.locator(".traces [tabindex='0']:visible, .traces[tabindex='0']:visible")
    for stop in (stops.first, stops.last):
        stop.focus()
        page.keyboard.press("Enter")
        panel.wait_for()
        page.keyboard.press("Tab")
        assert page.evaluate(f"{focus}.matches('.trace .close')")
        assert panel.is_visible()
        page.keyboard.press("Escape")
        assert panel.is_hidden()
        assert stop.evaluate(f"one => one === {focus}")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.press("Shift+Tab")
        assert panel.is_visible()
        page.keyboard.press("Tab")
        while page.evaluate(f"{focus}.matches('.trace *')"):
            page.keyboard.press("Tab")
        assert panel.is_hidden()


def test_a_finger_on_a_phone(opened: Any) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = opened("causal/masking.html", **phone)
    entry, panel = page.locator(".arrays .entry:visible").first, page.locator(".trace")
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


def number(text: str) -> float:
    """Return a number as a page writes it."""
    return float(re.sub(r" ?× ?10<sup>(.*?)</sup>", r"e\1", text).replace("−", "-"))


@pytest.mark.parametrize("page", ANSWERS)
def test_the_arrays_of_a_lesson_answer(opened: Any, page: str) -> None:
    """What is said of a number is said of that number, which is shown rounded."""
    boxes = opened(f"{page}.html").evaluate(BOXES)
    assert sum(0.5 if box["drawn"] else 1 for box in boxes) >= ANSWERS[page]  # drawn in two layouts
    for box in boxes:
        facts = told(box["example"])
        entries = facts["entries"][str(facts["names"].index(box["of"]))]
        places = [place for row in box["at"] for place in row]
        texts = [text for row in box["cells"] for text in row]
        assert len(texts) == len(places)
        for text, (i, j) in zip(texts, places, strict=True):
            mantissa, _, exponent = text.replace("−", "-").partition("e")
            unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
            assert number(text) == pytest.approx(number(entries[i][j][0]), abs=0.51 * unit + 6e-5)


@pytest.mark.parametrize(
    "example, at", [("SA016", "weights.2.1"), ("SA026", "weights.1.2.0"), ("SA008", "query.1")]
)
def test_a_step_has_an_address(opened: Any, example: str, at: str) -> None:
    page, name = opened(f"{example}/index.html", f"#{at}"), at.partition(".")[0]
    page.locator(".trace").wait_for()
    assert page.locator(".entry.here").get_attribute("id") == at
    assert page.evaluate("document.activeElement.matches('.entry.here')")
    assert (
        page.locator(".trace b").inner_text()
        in page.locator("[role=status]", has_text=" = ").first.text_content()
    )
    index = re.sub(r"\W", "", page.locator(".trace b").inner_text().partition(" =")[0])
    assert index == at.replace(".", "")
    page.keyboard.press("Escape")
    page.locator(f"[id='{name}{'.0' * at.count('.')}']").click()
    assert page.url.endswith(f"#{name}{'.0' * at.count('.')}")
    assert (
        page.locator(".trace small").first.inner_text() == f"{example}#{name}{'.0' * at.count('.')}"
    )


def test_a_number_of_a_lesson_leads_to_its_step(opened: Any) -> None:
    page = opened("concepts/queries-keys-values.html")
    page.locator("table[data-array=added_rates] .entry").nth(3).click()
    page.locator(".trace small a").click()
    page.wait_for_url("**/SA063/index.html#added_rates.1.0")
    page.locator(".trace").wait_for()
    assert "added_rates[1, 0] = 2.6208" in page.locator(".trace").inner_text()


@pytest.mark.parametrize("after", ["#weights.9.9", "#weights.1", "#%", "#.1.1", "#weights[1,2]"])
def test_an_address_of_no_step_opens_nothing(opened: Any, after: str) -> None:
    page = opened("SA016/index.html", after)
    assert page.locator(".trace").is_hidden()
    assert page.url.endswith(after)


def test_without_script_an_address_leads_to_the_number(opened: Any) -> None:
    page = opened("SA016/index.html", "#weights.2.1", java_script_enabled=False)
    at = page.locator("td:target").bounding_box()
    assert 0 < at["y"] < 900


def test_a_drawing_is_traced_in_both_layouts(opened: Any) -> None:
    for width in (1280, 390):
        size = {"width": width, "height": 844}
        page = opened("causal/masking.html", "#fig-masking-steps", viewport=size)
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
        page.locator(".traces td[tabindex='0']:visible").first.focus()
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
