"""The field guide to slips in the built book: its table of dots, filters and cards."""

import re
from typing import Any

import pytest

from press.build.book import SITE
from selfattn_ref.worked_examples.slips import SLIPS, matrix

GUIDE = SITE / "examples" / "slips.html"


@pytest.fixture
def page(visit: Any) -> Any:
    return visit(GUIDE)


def caught(name: str) -> set[str]:
    return {call.example for call in matrix()[name]}


def test_every_dot_is_an_example_that_catches_a_slip(page: Any) -> None:
    drawn = page.evaluate("""() => {
        const svg = document.querySelector(".dots svg"), rows = svg.dataset.rows.split(" ");
        const high = Number(svg.dataset.at.split(" ")[3]);
        const of = (one) => [...one.innerHTML.matchAll(/M0 ([0-9]+)/g)];
        return Object.fromEntries([...svg.querySelectorAll("[data-slip]")].map((one) => [
            one.dataset.slip, of(one).map((match) => rows[match[1] / high])]));
    }""")
    assert {name: set(found) for name, found in drawn.items()} == {n: caught(n) for n in SLIPS}


def test_the_arrow_keys_say_what_is_at_a_place(page: Any) -> None:
    dots, told = page.locator(".dots svg"), page.locator(".pointed")
    dots.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
        example, slip = told.locator("a").all_inner_texts()
        assert (f"{example} catches {slip}" in told.inner_text()) == (example in caught(slip))
    page.keyboard.press("Enter")
    assert page.url.endswith(f"#{slip}")
    assert page.evaluate("document.activeElement.closest('article').id") == slip


def test_under_a_filter_the_arrow_keys_go_to_what_is_left(page: Any) -> None:
    page.get_by_label("Part of attention").select_option("cap")
    left = page.locator(".slip h3").filter(visible=True).all_inner_texts()
    page.locator(".dots svg").focus()
    slip = page.locator(".pointed a").last
    for key, name in {"Home": left[0], "ArrowRight": left[1], "End": left[-1]}.items():
        page.keyboard.press(key)
        assert slip.inner_text() == name
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.closest('article').id") == left[-1]
    assert page.locator(".slip h3").filter(visible=True).all_inner_texts() == left


def test_a_filter_leaves_the_slips_of_a_part(page: Any) -> None:
    page.get_by_label("Part of attention").select_option("cap")
    left = page.locator(".slip h3").filter(visible=True).all_inner_texts()
    assert left == [name for name in SLIPS if name.startswith("cap-")]
    assert page.locator(".dots [data-slip]:not(.out)").count() == len(left)
    assert (
        page.locator(".filters [role=status]").inner_text() == f"{len(left)} of {len(SLIPS)} slips"
    )


def test_a_card_opens_a_sheet_that_the_slip_breaks(page: Any) -> None:
    links = page.locator(".slip .go").evaluate_all("(all) => all.map((one) => one.href)")
    assert len(links) > len(SLIPS) / 2
    page.locator("#not-scaled .go").click()
    assert page.locator("[data-slip=not-scaled]").first.get_attribute("aria-pressed") == "true"


def test_without_script_every_card_is_there(browser: Any) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(GUIDE.as_uri())
    assert page.locator(".slip").filter(visible=True).count() == len(SLIPS)
    page.close()


def test_the_table_of_dots_says_how_many_examples_catch_slips(page: Any) -> None:
    label = page.locator(".dots svg").get_attribute("aria-label")
    assert sum(map(int, re.findall(r"each of the (\d+)", label))) == sum(
        map(len, map(caught, SLIPS))
    )
