"""The card beside the id of an example or a name, by pointer and keyboard. `make check-site`."""

from pathlib import Path

import pytest

from press.build.book import SITE


@pytest.fixture
def link(page):
    page.emulate_media(reduced_motion="reduce")  # there at once: a page that scrolls hides the card
    page.goto(f"{Path(SITE).as_uri()}/concepts/embeddings.html")
    link = page.locator(".id-link").first
    link.scroll_into_view_if_needed()
    return link


@pytest.fixture
def card(page):
    return page.locator("#about-SA058")


def test_a_pointer_shows_it_and_may_go_on_to_it(page, link, card):
    assert not card.is_visible()
    link.hover()
    card.wait_for(state="visible")
    assert "Which word told you?" in card.inner_text()
    card.hover()
    page.wait_for_timeout(400)
    assert card.is_visible()
    page.mouse.move(0, 0)
    card.wait_for(state="hidden")


def test_the_keyboard_shows_it_and_escape_sends_it_away(page, link, card):
    page.evaluate("scrollTo(0, 0)")
    link.evaluate("node => node.focus({ focusVisible: true })")  # the browser scrolls to it
    page.evaluate(  # and says so with the next frame
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    assert page.evaluate("scrollY") > 100
    assert card.is_visible()
    at, below = link.bounding_box(), card.bounding_box()
    assert 0 <= below["y"] - at["y"] - at["height"] < 10
    described = (link.get_attribute("aria-describedby") or "").split()
    assert described == ["about-SA058-0", "about-SA058-1"]
    assert all(card.locator(f"#{name}").count() == 1 for name in described)
    page.keyboard.press("Escape")
    assert not card.is_visible()


def test_it_stays_inside_a_small_window(page, link, card):
    page.set_viewport_size({"width": 320, "height": 480})
    link.hover()
    card.wait_for(state="visible")
    box = card.bounding_box()
    assert box["x"] >= 0 <= box["y"]
    assert box["x"] + box["width"] <= 320


@pytest.mark.parametrize(
    "to, said",
    [("#thm-dot-product-variance", "are uncorrelated"), ("#equation-eq-score-variance", "Var")],
)
def test_a_statement_and_an_equation_are_shown_beside_a_link_to_them(page, to, said):
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{Path(SITE).as_uri()}/scaling/variance-of-a-dot-product.html")
    link, card = page.locator(f"main a.reference[href='{to}']").first, page.locator(".preview")
    link.evaluate(
        "one => { for (let up; up = one.closest('details:not([open])');) up.open = true }"
    )
    link.evaluate("node => node.focus({ focusVisible: true })")
    card.wait_for(state="visible")
    page.wait_for_timeout(200)  # what scrolls has scrolled
    assert card.is_visible()
    assert said in card.text_content()
    assert page.evaluate("document.querySelectorAll('[id]').length") == page.evaluate(
        "new Set([...document.querySelectorAll('[id]')].map((one) => one.id)).size"
    )
    page.keyboard.press("Escape")
    assert not card.is_visible()
    page.mouse.move(0, 0)
    link.hover()
    card.wait_for(state="visible")
    assert card.count() == 1
