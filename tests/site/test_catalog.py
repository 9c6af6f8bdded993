"""The catalog of the examples, filtered by hand, by keyboard and by address. `make check-site`."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from press.build.book import SITE

CATALOG = f"{Path(SITE).as_uri()}/examples/index.html"
ROOT = Path(__file__).resolve().parents[2]
DATA = (ROOT / "selfattn_ref" / "worked_examples" / "data").glob("SA*.json")
EXAMPLES = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(DATA)}
MASKING = [name for name, data in EXAMPLES.items() if "masking" in data["topics"]]


def with_call(key, value):
    """Return the examples with a call of a function, or of a kind."""
    calls = {name: data["calls"] for name, data in EXAMPLES.items()}
    return [name for name in calls if any(call[key] == value for call in calls[name])]


CALLING = sorted({*MASKING} & {*with_call("function", "causal_mask")})


@pytest.fixture
def page(page):
    page.goto(CATALOG)
    return page


def shown(page):
    """Return the ids that a reader sees, in order."""
    return page.locator(".example-card b").filter(visible=True).all_inner_texts()


def told(page):
    return page.locator(".filters [role=status]").inner_text()


def test_two_choices_leave_what_is_both_and_the_address_says_so(page):
    assert sorted(shown(page)) == list(EXAMPLES)
    page.get_by_label("Topic").select_option("masking")
    assert sorted(shown(page)) == MASKING
    page.get_by_label("Function").select_option("causal_mask")
    assert sorted(shown(page)) == CALLING != []
    assert told(page) == f"{len(CALLING)} of {len(EXAMPLES)} examples"
    expect(page).to_have_url(f"{CATALOG}#topic=masking&function=causal_mask")
    parts = page.locator(".catalog h2")
    assert 0 < parts.filter(visible=True).count() < parts.count()


def test_an_address_shows_what_it_says(page):
    page.goto("about:blank")
    page.goto(f"{CATALOG}#topic=masking&function=causal_mask")
    assert sorted(shown(page)) == CALLING
    assert page.get_by_label("Topic").input_value() == "masking"
    page.evaluate("location.hash = 'kind=must_raise'")
    expect(page.get_by_label("Topic")).to_have_value("")
    assert sorted(shown(page)) == with_call("kind", "must_raise")
    page.evaluate("location.hash = 'topic=what-nobody-has'")
    expect(page.get_by_label("Result")).to_have_value("")
    assert sorted(shown(page)) == list(EXAMPLES)


def test_what_would_leave_nothing_is_not_offered(page):
    page.get_by_label("Topic").select_option("perplexity")
    options = page.get_by_label("Function").locator("option:not([value=''])")
    offered = {option.get_attribute("value") for option in options.all() if option.is_enabled()}
    there = [data for data in EXAMPLES.values() if "perplexity" in data["topics"]]
    assert offered == {call["function"] for data in there for call in data["calls"]}
    assert 0 < len(offered) < options.count()
    assert page.get_by_label("Topic").locator("option:disabled").count() == 0  # it can be changed


def test_where_nothing_is_found_one_press_shows_all(page):
    page.evaluate("location.hash = 'topic=perplexity&function=padding_mask'")
    expect(page.get_by_role("status")).to_have_text("No example is all of this.")
    assert sorted(shown(page)) == []
    page.get_by_role("button", name="Show all").press("Enter")
    expect(page).to_have_url(CATALOG)
    assert sorted(shown(page)) == list(EXAMPLES)
    assert told(page) == f"{len(EXAMPLES)} examples"
    assert not page.get_by_role("button", name="Show all").is_visible()


def test_the_keyboard_alone_chooses(page):
    page.get_by_label("Result").focus()
    page.keyboard.type("conv")
    expect(page).to_have_url(f"{CATALOG}#kind=convention")
    assert sorted(shown(page)) == with_call("kind", "convention")


def test_without_script_everything_is_there(browser):
    page = browser.new_page(java_script_enabled=False)
    page.goto(CATALOG)
    assert sorted(shown(page)) == list(EXAMPLES)
    assert not page.locator(".filters").is_visible()
    page.close()


def test_the_first_card_stands_in_the_first_screen_of_a_phone(browser):
    page = browser.new_page(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    page.goto(CATALOG)
    box = page.locator(".example-card").first.bounding_box()
    assert box["y"] + box["height"] <= 844
    page.locator(".example-card").nth(20).scroll_into_view_if_needed()
    assert page.locator(".filters").bounding_box()["y"] == 0
    page.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_who_tabs_back_sees_each_card_below_the_filters(visit, width):
    page = visit(SITE / "examples/index.html", viewport={"width": width, "height": 800})
    page.locator(".example-card a").nth(60).focus()
    for _ in range(50):
        page.keyboard.press("Shift+Tab")
        page.evaluate("new Promise(requestAnimationFrame)")
        assert page.evaluate(
            """() => {
            const link = document.activeElement, at = link.getBoundingClientRect();
            const seen = document.elementFromPoint(at.left + 5, at.top + at.height / 2);
            return seen?.closest("a") === link;
        }"""
        ), page.evaluate("document.activeElement.textContent")
