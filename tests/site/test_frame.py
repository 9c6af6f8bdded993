"""What stands around the text: where the contents open, what they mark, what a thumb can reach."""

import re

from playwright.sync_api import expect

from press.build.book import ROOT, SITE
from press.build.check_html import html_files, parsed
from press.site import moved

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
# Where the last line of an element ends.
END = """(element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    return Math.max(...[...range.getClientRects()].map((line) => line.bottom));
}"""
LESSON = SITE / "scaling" / "variance-of-a-dot-product.html"


def test_the_contents_open_where_the_reader_is(visit):
    page = visit(LESSON)
    page.locator(".bar summary", has_text="Contents").click()
    expect(page.locator(".menu [aria-current=page]")).to_be_in_viewport()


def test_the_section_that_is_read_is_marked(visit):
    page = visit(LESSON)
    links = page.locator(".part ol ol a")
    for link in (links.nth(2), links.nth(0)):
        link.click()
        expect(link).to_have_attribute("aria-current", "true")
        expect(page.locator(".part ol ol [aria-current]")).to_have_count(1)


def test_the_button_that_copies_lies_on_no_code_where_nothing_hovers(visit):
    page = visit(LESSON, **PHONE)
    buttons = page.locator("main .cell_input .copy:visible")
    assert buttons.count() > 3
    for button in buttons.all():
        code = button.locator("xpath=preceding-sibling::pre").evaluate(END)
        assert button.evaluate("one => one.getBoundingClientRect().top") >= code - 1


def test_each_page_says_where_it_is():
    own = {"index", "404", "search", *moved.PAGES}
    for path in html_files(SITE):
        name, page = path.relative_to(SITE).with_suffix("").as_posix(), parsed(path)
        trail = [one.text_content() for one in page.xpath("//nav[@class='trail']//li")]
        here = page.xpath("//nav[@class='strip']//*[@aria-current]/text()")
        if page.xpath("//body[@class='example']"):
            assert here == ["Worked examples"], name
            assert page.xpath("//span[@class='beside']/a[1]/text()") == ["All examples"], name
        elif name in own:
            assert trail == [], name
        else:
            assert trail, name
            assert here == trail[:1], name
    page = parsed(SITE / "reference" / "api" / "masks.html")
    groups = page.xpath("//nav[@class='part']/p[@class='group']/text()")
    assert groups == ["look up", "library", "teach", "project"]
    assert "The reference has four groups" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert page.xpath("//nav[@class='trail']//li//text()") == [
        "Reference",
        "library",
        "The library",
    ]


def test_the_arrow_follows_the_path_that_was_chosen(visit):
    page = visit(SITE / "index.html")
    chosen = page.locator("ul.paths a")
    for number in range(chosen.count()):
        page.goto((SITE / "index.html").as_uri())
        name = chosen.nth(number).inner_text()
        chosen.nth(number).click()
        places, arrow = [], page.locator(".next:visible [rel=next]")
        while not places or arrow.count():
            if places:
                arrow.click()
            said = page.locator(".on-path:visible").inner_text()
            places.append(said.removeprefix(f"{name}, page "))
            expect(page.locator(".next:visible")).to_have_count(1)
        assert places == [f"{place + 1} of {len(places)}" for place in range(len(places))]
        assert len(places) > 1


def test_without_a_path_the_arrow_leads_through_the_book(visit):
    for address in (LESSON.as_uri(), f"{LESSON.as_uri()}?path=none"):
        page = visit(LESSON)
        page.goto(address)
        expect(page.locator(".on-path:visible")).to_have_count(0)
        expect(page.locator(".next:visible")).not_to_have_attribute("data-path", "first")


def test_the_test_of_a_theorem_leads_back_to_it():
    pages = [page.read_text("utf-8") for page in (SITE / "tests/theorems").glob("*.html")]
    links = re.compile(r'"used" href="[^"]*#(thm-[^"]+)')
    back = {label for page in pages for label in links.findall(page)}
    theorems = (SITE / "reference/theorems.html").read_text("utf-8")
    listed = set(re.findall(r'href="[^"]*#(thm-[a-z-]+)"', theorems))
    assert back == {label for label in listed if not label.endswith("-proof")}
