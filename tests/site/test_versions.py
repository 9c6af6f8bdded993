"""Versions side by side, as `python -m press publish` arranges them. `make check-site`."""

import shutil

import pytest

from press.build.book import SITE
from press.build.server import serving
from press.edition.publish import publish
from press.edition.release import release

KEPT, NEW, GONE = "causal/masking.html", "concepts/similarity.html", "beyond/gradients.html"
PAGES = {"index.html", "404.html", "SA016/index.html", KEPT}
PLACE = "#what-can-go-wrong"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Publish versions 1.0 and 1.1, which have a few pages, and yield their address."""
    folder = tmp_path_factory.mktemp("versions")
    archives = []
    for version, pages in (("1.0.0", PAGES | {GONE}), ("1.1.0", PAGES | {NEW})):
        site = folder / version
        for page in pages:
            (site / page).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SITE / page, site / page)
        traces = shutil.ignore_patterns("traces", "checks", "search-index.js")
        shutil.copytree(SITE / "_static", site / "_static", ignore=traces)
        (site / "examples").mkdir()
        archives += release(site, folder / f"release {version}", version)[:1]
    publish(archives, folder / "public")
    # Where it is published, its address may have a path of its own.
    with serving(folder / "public", "/book/") as address:
        yield address


def links(page, place):
    """Return where the links in a place lead, by what they say."""
    found = page.locator(f"{place} a").evaluate_all("all => all.map(a => [a.textContent, a.href])")
    return dict(found)


FOOT = ".foot p:nth-child(2)"


class TestAnOldVersion:
    def test_it_says_so_and_leads_to_the_same_place_of_the_newest(self, page, published):
        page.goto(f"{published}v1.0/{KEPT}{PLACE}")
        notice = page.get_by_role("note")
        assert notice.inner_text() == (
            "This is version 1.0, and there is a newer one: this page in version 1.1."
        )
        assert page.locator(".outdated ~ h1, .outdated ~ section h1").count() == 1
        notice.get_by_role("link").focus()
        page.keyboard.press("Enter")
        page.wait_for_url(f"{published}latest/{KEPT}{PLACE}")
        assert page.get_by_role("note").count() == 0

    def test_a_page_that_the_newest_lacks_leads_to_its_front_page(self, page, published):
        page.goto(f"{published}v1.0/{GONE}")
        assert links(page, ".outdated") == {"version 1.1, without this page": f"{published}latest/"}
        page.get_by_role("note").get_by_role("link").click()
        page.wait_for_url(f"{published}latest/")
        assert page.locator("h1").count() == 1


class TestTheNewest:
    @pytest.mark.parametrize("path", ["", "SA016/", "SA016/index.html", KEPT])
    def test_its_foot_leads_to_the_same_page_of_the_others(self, path, page, published):
        page.goto(f"{published}latest/{path}")
        assert page.get_by_role("note").count() == 0
        assert links(page, FOOT) == {
            "1.0": f"{published}v1.0/{path}",
            "1.1": f"{published}v1.1/{path}",  # to cite
        }
        page.locator(FOOT).get_by_text("1.0", exact=True).click()
        page.wait_for_url(f"{published}v1.0/{path}")
        assert links(page, FOOT) == {"1.1": f"{published}latest/{path}"}

    def test_by_its_number_it_is_not_old(self, page, published):
        page.goto(f"{published}v1.1/{NEW}")
        assert page.get_by_role("note").count() == 0
        assert links(page, FOOT) == {"1.0 (without this page)": f"{published}v1.0/"}


class TestAnAddressWithoutAVersion:
    @pytest.mark.parametrize("path", ["", "SA016/", f"{KEPT}?from=elsewhere{PLACE}"])
    def test_it_leads_to_the_newest(self, path, page, published):
        page.goto(f"{published}{path}")
        page.wait_for_url(f"{published}latest/{path}")
        page.go_back()
        assert page.url == "about:blank"  # and is not in the way of who goes back

    def test_where_there_is_no_page_one_is_told_however_deep(self, page, published):
        for path in ("nowhere.html", "no/where/", "latest/no/where.html"):
            page.goto(f"{published}{path}")
            assert page.locator("h1").inner_text() == "No page has this address"


@pytest.mark.parametrize("width, scheme", [(390, "dark"), (1280, "light")])
def test_nothing_is_too_wide_and_the_notice_is_read(width, scheme, browser, published):
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    for path in ("v1.0/", f"v1.0/{GONE}"):
        page.goto(f"{published}{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for place in (page.get_by_role("note"), page.locator(FOOT)):
            box = place.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
    context.close()


def test_without_a_script_every_address_leads_to_its_page(browser, published):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{published}{KEPT}")
    page.wait_for_url(f"{published}latest/{KEPT}")
    page.goto(f"{published}v1.0/{KEPT}")
    assert page.get_by_role("note").count() == 0
    assert "Version" in page.locator(".foot").inner_text()
    context.close()
