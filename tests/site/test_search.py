"""The search of the built book, by keyboard, from a server and from a disk. `make check-site`."""

import json
from contextlib import nullcontext
from pathlib import Path

import pytest
from playwright.sync_api import expect

from press.build.server import serving
from tests.site.conftest import until

SITE = Path(__file__).parents[2] / "_build" / "html"

MISSED = """([index, named]) => {
  const book = bookSearch.prepare(index);
  return named.filter(([name, address, first]) => !bookSearch.find(book, name).pages.slice(0, first)
    .some((page) => page.results.slice(0, first).some((one) => one.entry.address === address)));
}"""
LISTEN = """() => {
  window.heard = [];
  const status = document.querySelector("[role=search] [role=status]");
  new MutationObserver(() => heard.push(status.textContent)).observe(status, { childList: true });
}"""


@pytest.fixture(params=["server", "disk"])
def address(request):
    disk = nullcontext(f"{SITE.as_uri()}/")
    with serving(SITE, "/below/") if request.param == "server" else disk as root:
        yield root


def test_the_index_is_loaded_with_the_first_question(page, address):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}causal/masking.html")
    assert f"{address}_static/search-index.js" not in asked
    page.keyboard.press("/")
    page.locator("dialog input").wait_for()
    assert {url.partition("?")[0] for url in asked if "_static/search" in url} == {
        f"{address}_static/search.js",
        f"{address}_static/search-index.js",
    }


def test_the_keyboard_goes_through_the_results_and_back(page, address):
    def focus():
        return str(page.evaluate("document.activeElement.href || document.activeElement.tagName"))

    page.goto(f"{address}causal/masking.html")
    page.keyboard.press("Control+k")
    page.locator("dialog input").wait_for()
    page.keyboard.type("SA016")
    page.locator(".found a").first.wait_for()
    assert "Found in" in page.locator("[role=search] .told").inner_text()
    page.keyboard.press("ArrowDown")
    assert focus() == f"{address}SA016/index.html"
    page.keyboard.press("End")
    assert focus() not in (f"{address}SA016/index.html", "INPUT")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    assert focus() == "INPUT"
    page.keyboard.press("Enter")
    page.wait_for_url(f"{address}SA016/index.html")


def test_the_last_question_stands_there_on_the_next_page(page, address):
    page.goto(f"{address}index.html")
    page.keyboard.press("/")
    page.locator("dialog input").wait_for()
    page.keyboard.type("entropy")
    page.locator(".found a").first.click()
    page.wait_for_url(lambda url: not url.startswith(f"{address}index.html"))  # and is loaded
    page.bring_to_front()  # a file may open in another process, whose window is not active yet
    page.keyboard.press("/")
    page.locator(".found a").first.wait_for()
    assert page.locator("dialog input").input_value() == "entropy"
    until(page, "document.activeElement.id === 'question'")  # in a window of any state
    page.keyboard.type("rope")  # it is selected: the next one takes its place
    expect(page.locator("dialog input")).to_have_value("rope")


def test_escape_closes_the_search(page, address):
    page.goto(f"{address}index.html")
    page.locator(".find").click()
    page.locator("dialog input").wait_for()
    page.keyboard.press("Escape")
    assert not page.locator("dialog").is_visible()


def test_a_folded_proof_opens_when_one_comes_to_it(page, address):
    page.goto(f"{address}search.html?q=proof+of+theorem+13")
    page.locator(".found a").first.click()
    target = page.locator(":target")
    target.wait_for()
    assert target.evaluate("node => node.closest('details').open")
    assert page.url.endswith("-proof")


def test_a_slip_is_named(page, address):
    page.goto(f"{address}search.html?q=casual")
    page.locator(".found a").first.wait_for()
    assert "Showing results for “causal”" in page.locator("[role=search] .told").inner_text()


def test_what_has_a_name_is_found_by_it(page):
    """A page and a theorem before all others; a term and a function among the first pages."""
    text = (SITE / "_static" / "search-index.js").read_text("utf-8")
    index = json.loads(text.removeprefix("bookSearch.take(").removesuffix(");\n"))
    first = {"page": 1, "theorem": 1, "exercise": 1, "term": 3, "function": 3}
    named = [
        (name, f"{address}#{anchor}".removesuffix("#"), first[kind])
        for address, _, _, places in index["pages"]
        for anchor, of, title, _ in places
        if (kind := index["kinds"][of]) in first
        for name in (title.split(", ") if kind == "term" else [title.partition(". ")[0]])
    ]
    assert len(named) > 500
    page.goto(f"{SITE.as_uri()}/search.html")
    missed = page.evaluate(MISSED, [index, named])
    assert missed == []


@pytest.mark.parametrize(
    "question, found",
    [
        ("online softmax", "reference/glossary.html#term-online-softmax"),
        ("online softmax", "beyond/long-sequences.html"),
        ("kvcache", "reference/glossary.html#term-key-value-cache"),
        ("determinism", "reference/how-the-numbers-are-checked.html"),
        ("reproducible", "reference/how-the-numbers-are-checked.html"),
        ("changelog", "reference/changes-and-errata.html"),
        ("GQA", "SA027/index.html"),
    ],
)
def test_other_words_for_it_lead_there(page, question, found):
    page.goto(f"{SITE.as_uri()}/index.html")
    page.keyboard.press("/")
    page.locator("dialog input").fill(question)
    page.locator(".found a").first.wait_for()
    to = page.locator(".found a").evaluate_all("links => links.map((link) => link.href)")
    assert any(address.startswith(f"{SITE.as_uri()}/{found}") for address in to)


def test_a_result_is_told_with_its_page_and_the_count_when_the_keys_rest(page):
    page.goto(f"{SITE.as_uri()}/index.html")
    page.keyboard.press("/")
    page.locator("dialog input").wait_for()
    page.evaluate(LISTEN)
    page.keyboard.type("mask", delay=30)
    told = page.locator("[role=search] .told")
    assert "Found in" in told.inner_text()
    spoken = f"{told.inner_text()} First: {page.locator('.found b').first.inner_text()}"
    expect(page.locator("[role=search] [role=status]")).to_have_text(spoken)
    assert page.evaluate("heard") == [spoken]
    for link in page.locator(".found li:has(p) a").all():
        expect(link).to_have_accessible_description(link.locator("xpath=../p").inner_text())


def test_what_is_not_there_leads_on(page, address):
    page.goto(f"{address}search.html?q=zzzqq")
    page.get_by_text("Nothing found").wait_for()
    assert page.locator(".found a").count() == 3


@pytest.mark.parametrize("fonts", ["early", "late"])
def test_its_page_begins_in_the_field(page, address, fonts):
    if fonts == "late":  # until then, the page is hidden
        page.add_init_script("document.fonts.load = () => new Promise(() => {})")
    page.goto(f"{address}search.html")
    expect(page.locator("#search input")).to_be_focused()
