"""What opens beside a statement, by keyboard, by pointer, without a script. `make check-site`."""

import pytest

from press.build.book import SITE
from press.build.server import serving
from press.measure.visit import LISTEN

LABEL = "thm-dot-product-variance"
ADDRESS = "scaling/variance-of-a-dot-product.html"


@pytest.fixture(scope="module", params=[True, False], ids=["script", "no script"])
def page(browser, request):
    with serving(SITE, "/") as address:
        context = browser.new_context(java_script_enabled=request.param)
        if request.param:
            context.grant_permissions(["clipboard-read", "clipboard-write"])
            context.add_init_script(LISTEN)
        page = context.new_page()
        page.goto(f"{address}{ADDRESS}")
        yield page
        assert not request.param or page.evaluate("window.violations") == []
        context.close()


def test_it_opens_and_closes_by_keyboard(page):
    button, formats = (
        page.locator(f"#{LABEL} button:has-text('cite')"),
        page.locator(f"#cite-{LABEL}"),
    )
    assert not formats.is_visible()
    button.focus()
    page.keyboard.press("Enter")
    formats.wait_for(state="visible")
    text = formats.inner_text()
    assert (
        f"(Variance of a dot product), {LABEL}.” In “The variance of a dot product”, Self-" in text
    )
    page.keyboard.press("Escape")
    formats.wait_for(state="hidden")


def test_a_format_is_one_click_to_see_and_one_to_copy(page):
    formats = page.locator(f"#cite-{LABEL}")
    page.locator(f"#{LABEL} button:has-text('cite')").click()
    formats.get_by_text("BibTeX").click()
    entry = formats.locator("details[open] pre")
    assert entry.inner_text().startswith(f"@misc{{selfattn-ref-{LABEL},")
    copy = formats.locator("details[open] .copy")
    if copy.count():  # it needs the script
        copy.click()
        formats.get_by_text("Copied").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == entry.inner_text()
    page.mouse.click(2, 2)
    formats.wait_for(state="hidden")


@pytest.mark.parametrize("height", [500, 900])
def test_the_last_page_of_a_long_part_is_seen_in_the_list(page, height):
    page.set_viewport_size({"width": 1280, "height": height})
    page.goto(page.url.replace(ADDRESS, "reference/changes-and-errata.html"))
    seen = page.locator(".part [aria-current]").evaluate(
        "e => e.getBoundingClientRect().bottom <= innerHeight"
    )
    assert seen or not page.locator(".theme").is_visible()  # the script shows it
    page.go_back()


def test_it_stays_inside_a_small_window(page):
    page.set_viewport_size({"width": 320, "height": 480})
    page.locator(f"#{LABEL} button:has-text('cite')").click()
    box = page.locator(f"#cite-{LABEL}").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 320
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 480
    page.keyboard.press("Escape")


def test_paper_shows_no_button(page):
    page.emulate_media(media="print")
    assert not page.locator(f"#{LABEL} p.head button").is_visible()
    assert page.locator(f"#{LABEL} .tested a").is_visible()
    page.emulate_media(media="screen")
