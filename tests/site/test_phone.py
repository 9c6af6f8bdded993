"""What a reader in a hurry meets on a phone: the bar that returns, lines that fit, a way home."""

import pytest
from playwright.sync_api import expect

from press.build.book import SITE
from press.build.server import serving
from press.measure.visit import script
from tests.site.test_frame import LESSON, PHONE

# One page of each kind.
KINDS = (
    *("index", "beyond/learning", "causal/padding-and-empty-rows", "SA016/index", "404"),
    *("examples/index", "examples/slips", "reference/api/attention", "reference/theorems"),
    *("genindex", "search", "derivations/beyond", "_modules/selfattn_ref/gradients"),
)


@pytest.fixture
def phone(visit):
    def open_page(path, after="", **reader):
        return visit(
            path, after, **PHONE | {"permissions": ["clipboard-read", "clipboard-write"]} | reader
        )

    return open_page


def scroll(page, to):
    page.evaluate(f"scrollTo({{ top: {to}, behavior: 'instant' }})")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


class TestTheBar:
    def test_it_leaves_as_one_reads_on_and_returns_slim_as_one_scrolls_up(self, phone):
        page = phone(LESSON)
        bar = page.locator(".bar")
        top = page.locator("h1").evaluate("one => one.getBoundingClientRect().top + scrollY")
        scroll(page, 3000)
        expect(bar).not_to_be_in_viewport()
        scroll(page, 2900)
        expect(bar).to_be_in_viewport(ratio=0.99)
        assert bar.bounding_box()["height"] <= 50
        shown = bar.locator("> *:visible").all_inner_texts()
        assert len(shown) == 4
        assert shown[2:] == ["Contents", "Search"]
        assert page.locator("h1").evaluate(
            "one => one.getBoundingClientRect().top + scrollY"
        ) == pytest.approx(top, abs=0.1)
        read = float(bar.evaluate("one => getComputedStyle(one, '::after').scale.split(' ')[0]"))
        height = page.evaluate("document.documentElement.scrollHeight - innerHeight")
        assert read == pytest.approx(2900 / height, abs=0.01)
        scroll(page, 0)
        expect(bar.get_by_text("Theme")).to_be_visible()

    def test_it_names_the_section_silently_and_leads_to_the_others(self, phone):
        page = phone(LESSON, "#exercises")
        scroll(page, page.evaluate("scrollY") - 20)
        name = page.locator(".now summary")
        heading = page.locator("#exercises").evaluate("one => one.getBoundingClientRect().top")
        scroll(page, page.evaluate("scrollY") + heading - 50)
        scroll(page, page.evaluate("scrollY") - 20)
        expect(name).to_have_text("Exercises")
        assert name.evaluate("one => !one.closest('[aria-live], [role=status]')")
        name.tap()
        expect(page.locator(".now [aria-current]")).to_have_text("Exercises")
        page.locator(".now a").nth(1).tap()
        expect(page.locator(".now nav")).not_to_be_visible()
        first = page.locator("main section section h2").first
        expect(first).to_be_in_viewport()
        box = page.locator(".bar").bounding_box()
        assert first.bounding_box()["y"] >= box["y"] + box["height"]  # not below the bar
        expect(name).to_have_text(first.evaluate("one => one.firstChild.textContent"))

    def test_the_keyboard_brings_it_back(self, phone):
        page = phone(LESSON)
        page.keyboard.press("Tab")  # from here on the focus is the keyboard's
        scroll(page, 3000)
        expect(page.locator(".bar")).not_to_be_in_viewport()
        page.locator(".find").evaluate("one => one.focus({ preventScroll: true })")
        expect(page.locator(".find")).to_be_in_viewport(ratio=0.99)

    def test_without_script_it_stays_where_it_was(self, phone):
        page = phone(LESSON, java_script_enabled=False)
        assert page.locator(".bar").evaluate("one => getComputedStyle(one).position") == "static"

    def test_it_does_not_slide_where_less_motion_is_asked_for(self, phone):
        moves = "one => getComputedStyle(one).transitionDuration"
        assert phone(LESSON, reduced_motion="reduce").locator(".bar").evaluate(moves) == "0s"
        assert (
            phone(LESSON, reduced_motion="no-preference").locator(".bar").evaluate(moves) == "0.2s"
        )


def test_a_heading_has_no_sign_and_copies_its_address(phone):
    page = phone(LESSON)
    signs = page.locator(".headerlink")
    assert signs.count() > 10
    assert not any(signs.evaluate_all("all => all.map((one) => +getComputedStyle(one).opacity)"))
    heading, sign = page.locator("#the-rule h2"), page.locator("#the-rule > .headerlink")
    heading.tap()
    assert page.evaluate("navigator.clipboard.readText()") == f"{LESSON.as_uri()}#the-rule"
    assert sign.evaluate("one => getComputedStyle(one).opacity") == "1"
    assert 0 <= sign.bounding_box()["y"] - heading.bounding_box()["y"] < 60
    expect(sign).to_have_css("opacity", "0")  # though a tap may hover


@pytest.mark.parametrize("name", KINDS)
def test_all_can_be_read_and_pressed(name, phone):
    page = phone(SITE / f"{name}.html")
    assert [box for box in page.evaluate(script("code"), {}) if box["value"] > 1] == []
    assert page.evaluate(script("small"), {}) == []
    assert page.evaluate(script("targets"), {}) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_long_line_hangs_and_is_copied_as_it_was(phone):
    page = phone(SITE / "causal" / "masking.html")
    line = page.locator(".cell_input .long").first
    text = line.text_content()
    assert len(text) > 37
    assert text.endswith("\n")
    assert text in page.evaluate("document.querySelector('.cell_input:has(.long) pre').textContent")


def test_what_does_not_fit_begins_further_in_than_its_line(phone):
    page = phone(SITE / "causal" / "padding-and-empty-rows.html")
    lines = page.locator(".cell_input .long:visible").evaluate_all("""(all) => all.map((line) => {
        const range = document.createRange(), nodes = document.createTreeWalker(line, 4), at = {};
        while (nodes.nextNode()) {
            for (let i = 0; i < nodes.currentNode.length; i++) {
                if (!nodes.currentNode.data[i].trim()) continue;
                range.setStart(nodes.currentNode, i);
                range.setEnd(nodes.currentNode, i + 1);
                const { left, bottom } = range.getBoundingClientRect();
                at[Math.round(bottom)] ??= left;
            }
        }
        return Object.values(at);
    })""")
    broken = [starts for starts in lines if len(starts) > 1]
    assert len(broken) > 3
    assert all(start > first for first, *others in broken for start in others)


@pytest.mark.parametrize("wrong", ["no.html", "causal/no.html", "reference/api/no/where/"])
def test_from_a_wrong_address_one_finds_home(wrong, page):
    with serving(SITE, "/some/where/") as address:
        page.goto(f"{address}{wrong}")
        expect(page.locator(".bar")).to_be_visible()
        assert (
            page.locator("h1")
            .evaluate("one => getComputedStyle(one).fontFamily")
            .startswith('"Computed')
        )
        page.get_by_role("link", name="The front page").click()
        page.wait_for_url(f"{address}index.html")


SHORT = {"width": 390, "height": 664}  # below the bars of a browser
WINDOWS = (SHORT, {"width": 844, "height": 390}, {"width": 1280, "height": 700})
PRESSED = ("index", "causal/generating", "causal/padding-and-empty-rows")


def test_no_line_begins_with_the_comma_after_a_formula(phone):
    page = phone(LESSON)
    parted = """() => [...document.querySelectorAll(".math-word")].filter((word) => {
      const comma = document.createRange(), formulas = word.querySelectorAll("math");
      comma.selectNodeContents(word.lastChild);
      const [at, last] = [comma, [...formulas].at(-1)].map((one) => one.getBoundingClientRect());
      return word.lastChild.nodeType === Node.TEXT_NODE && at.left < last.left;
    }).map((word) => word.textContent)"""
    narrow = "(main, width) => { main.style.width = width; }"
    for width in range(240, 340, 5):
        page.locator("main").evaluate(narrow, f"{width}px")
        assert page.evaluate(parted) == []


class TestAnAnswerIsInSight:
    @pytest.mark.parametrize("window", WINDOWS, ids=["phone", "on its side", "laptop"])
    @pytest.mark.parametrize("name", PRESSED)
    def test_of_a_button_that_is_pressed(self, name, window, phone):
        page = phone(SITE / f"{name}.html", viewport=window)
        figure = page.locator("[data-live]").first
        button = figure.locator("button:not(.reset, .link)").last
        scroll(
            page,
            button.evaluate("one => one.getBoundingClientRect().bottom") - window["height"] + 10,
        )
        button.tap()
        expect(figure.locator(".says")).to_be_in_viewport(ratio=0.99)
        expect(button).to_be_in_viewport(ratio=1)

    def test_of_the_last_slip_that_breaks_a_sheet(self, phone):
        page = phone(SITE / "SA058" / "index.html", viewport=SHORT)
        sheet = page.locator(".whole").first
        sheet.locator(".break summary").tap()
        last = sheet.locator(".break button").last
        last.scroll_into_view_if_needed()
        last.tap()
        for told in ("[data-matrix=weights]", ".said", ".break button[aria-pressed=true]"):
            expect(sheet.locator(told).last).to_be_in_viewport(ratio=0.99)

    def test_a_finger_beside_a_point_holds_it_and_the_page_stands_still(self, phone):
        page = phone(SITE / "concepts" / "embeddings.html")
        grip = page.locator(".grip:visible circle").first
        assert grip.bounding_box()["width"] >= 44


def test_large_text_makes_no_page_wider_than_the_window(phone):
    page = phone(SITE / "SA058" / "index.html")
    page.add_style_tag(content="html { font-size: 212% !important; }")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator(".bar .theme")).to_be_in_viewport(ratio=1)


def test_who_comes_back_goes_on_where_they_were(phone):
    front = SITE / "index.html"
    phone(LESSON).evaluate("localStorage.clear()")
    ways = phone(front).locator(".ways a")
    before = ways.count()
    phone(LESSON)
    page = phone(front)
    assert ways.count() == before + 1
    ways.first.tap()
    expect(page).to_have_url(LESSON.as_uri())
    page.evaluate("localStorage.clear()")


def test_an_example_copies_its_whole_address(phone):
    page = phone(SITE / "SA058" / "index.html", "#steps")
    page.locator(".record .line .copy").first.tap()
    whole = (SITE / "SA058" / "index.html").as_uri()
    assert page.evaluate("navigator.clipboard.readText()") == whole


def test_the_way_past_the_bar_is_seen(phone):
    page = phone(LESSON)
    page.locator(".skip").focus()
    on_top = """(one) => {
        const { left, top, right, bottom } = one.getBoundingClientRect();
        const seen = [[left, top], [right, bottom]]
            .map(([x, y]) => [(x + left + right) / 3, (y + top + bottom) / 3]);
        return left > 2 && top > 2 && seen.every((at) => document.elementFromPoint(...at) === one);
    }"""
    assert page.locator(".skip").evaluate(on_top)


def test_a_part_of_the_strip_is_in_sight_where_the_keys_are(phone):
    page = phone(SITE / "examples" / "index.html")
    for part in page.locator(".strip li > a").all():
        part.focus()
        at = part.bounding_box()
        assert 0 <= at["x"] < at["x"] + at["width"] < 391
