"""A lesson of the first reading is also a lecture, of its own figures, formulas and question.

An author marks a further slide: a cell with the tag `slide`, another block with `rst-class`.
"""

import re
from itertools import pairwise

import pytest

from press.build.book import SITE
from press.measure.access import broken_rules
from tests.site.conftest import until

LESSONS = sorted(
    path.relative_to(SITE).with_suffix("").as_posix()
    for folder in ("concepts", "causal", "beyond", "scaling", "analogies")
    for path in (SITE / folder).glob("*.html")
    if 'class="lecture"' in path.read_text("utf-8")
)
SHOWN = "dialog.lecture[open] .stage > *"
# What stands where: the elements of the text, each by its tag and its id. What is said of a number
# stands below the array that was pointed at last.
ORDER = """[...document.querySelectorAll('main :not(.trace, .trace *)')]
  .map((one) => one.localName + one.id).join()"""
TWICE = """() => {
    const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
    return ids.filter((id, place) => ids.indexOf(id) !== place);
}"""
SCREENS = [{"width": 1920, "height": 1080}, {"width": 1280, "height": 720}]
OVER = "(box) => [box.scrollHeight - box.clientHeight, box.scrollWidth - box.clientWidth]"
PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}


@pytest.fixture
def lecture(visit):
    """Yield a function that opens the lecture of a lesson, as its button does."""

    def start(name, **reader):
        page = visit(SITE / f"{name}.html", **reader)
        assert page.locator("script[src*=lecture]").count() == 0  # before one asks for it
        page.locator("button.lecture").click()
        page.locator(SHOWN).wait_for()
        return page

    return start


def position(page):
    return page.locator(".lecture header [role=status]").inner_text().partition(":")[0]


def test_each_lesson_of_the_first_reading_has_one_and_no_other():
    assert len(LESSONS) == 12


@pytest.mark.parametrize("name", LESSONS)
def test_it_shows_what_the_page_has_in_order_and_puts_it_back(lecture, name):
    page = lecture(name)
    count = int(position(page).partition(" of ")[2])
    seen = []
    for number in range(1, count + 1):
        assert position(page) == f"{number} of {count}"
        assert page.locator(SHOWN).count() == 1
        assert page.evaluate("document.activeElement.className") == "stage"
        assert page.evaluate(TWICE) == []
        ids = "(box) => [box, ...box.querySelectorAll('*')].map((one) => one.id).filter(Boolean)"
        seen += page.locator(SHOWN).evaluate(ids)
        page.keyboard.press(["ArrowRight", "Space", "PageDown"][number % 3])
    page.keyboard.press("Escape")
    page.locator(".lecture .stage:empty").wait_for(state="attached")  # a dialog closes later
    after = page.evaluate(ORDER)
    page.reload()
    assert after == page.evaluate(ORDER)
    wanted = "[...document.querySelectorAll('main :is(figure, .math, .room, .statement)[id]')]"
    unfolded = page.evaluate(f"{wanted}.filter((a) => !a.closest('details')).map((a) => a.id)")
    assert [one for one in seen if one in unfolded] == unfolded
    assert any(one.startswith("fig-") for one in unfolded)
    assert f"{name.partition('/')[2]}-room" in unfolded


@pytest.mark.parametrize("screen", SCREENS, ids=["1080p", "720p"])
@pytest.mark.parametrize("name", LESSONS)
def test_every_slide_fits_the_screen_and_a_drawing_fills_it(lecture, name, screen):
    page = lecture(name, viewport=screen)
    page.evaluate("document.fonts.ready")
    for number in range(int(position(page).partition(" of ")[2])):
        if number:
            page.keyboard.press("ArrowRight")
        if page.locator(f"{SHOWN}.room").count():
            page.keyboard.press("Enter")
        assert max(page.locator(".stage").evaluate(OVER)) <= 0, position(page)
        for drawing in page.locator(".stage .drawing svg:visible").all():
            assert drawing.bounding_box()["height"] > 0.7 * screen["height"], position(page)


def test_what_explains_is_a_slide_before_the_question(lecture):
    page = lecture("concepts/mixing-words")
    seen = []
    for _ in range(int(position(page).partition(" of ")[2])):
        seen.append(page.locator(SHOWN).evaluate("(box) => box.id + box.textContent"))
        page.keyboard.press("ArrowRight")
    order = ["powers.sum()", "eq-context", "mixing-words-room", "X + heard", "holds out longer"]
    places = [next(i for i, text in enumerate(seen) if one in text) for one in order]
    assert places == sorted(set(places))


def test_a_number_of_a_cell_says_there_how_it_was_computed(lecture):
    page = lecture("concepts/mixing-words")
    page.keyboard.press("ArrowRight")
    page.locator(f"{SHOWN} td", has_text="7.3891").first.click()
    panel = page.locator(".lecture .trace")
    panel.wait_for()
    assert page.evaluate("document.activeElement.className") == "stage"
    assert panel.is_visible()
    page.keyboard.press("Escape")
    panel.wait_for(state="hidden")
    assert page.locator(SHOWN).is_visible()  # the lecture stays
    page.keyboard.press("ArrowRight")
    assert position(page).startswith("3 of")


def test_who_points_at_a_figure_goes_on_with_the_keys_of_the_lecture(lecture):
    page = lecture("concepts/mixing-words")
    says = page.locator(f"{SHOWN} .says")
    before = says.inner_text()
    slider = page.locator(f"{SHOWN} input")
    slider.click()
    assert says.inner_text() != before
    until(page, "document.activeElement.className === 'stage'")
    slider.focus()  # as by keyboard, where it stays
    page.keyboard.press("ArrowRight")
    assert position(page).startswith("1 of")
    page.locator(f"{SHOWN} .reset").click()
    until(page, "document.activeElement.className === 'stage'")
    page.keyboard.press("ArrowRight")
    assert position(page).startswith("2 of")


def test_who_types_goes_on_typing(lecture):
    page = lecture("concepts/queries-keys-values")
    while not page.locator(f"{SHOWN} .whole").count():
        page.keyboard.press("ArrowRight")
    page.locator(f"{SHOWN} [data-word]").first.click()  # whom it listens to
    page.locator(f"{SHOWN} td[data-array=x]").first.click()
    entry = page.locator(f"{SHOWN} .steps input").first
    entry.click()
    page.evaluate("new Promise((done) => setTimeout(done, 50))")
    assert entry.evaluate("(box) => box === document.activeElement")


def test_keys_lead_to_the_ends_and_open_the_answers(lecture):
    page = lecture("concepts/embeddings")
    count = int(position(page).partition(" of ")[2])
    tells = page.locator(".lecture header small")
    assert tells.is_visible()
    page.keyboard.press("ArrowLeft")
    assert position(page) == f"1 of {count}"
    page.keyboard.press("End")
    assert position(page) == f"{count} of {count}"
    assert not tells.is_visible()
    answers = page.locator(f"{SHOWN} details")
    assert answers.get_attribute("open") is None
    page.keyboard.press("Enter")
    assert answers.get_attribute("open") == ""
    assert answers.locator("summary").evaluate("one => one === document.activeElement")
    page.keyboard.press("Home")
    assert position(page) == f"1 of {count}"
    page.keyboard.press("End")
    assert answers.get_attribute("open") is None
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.className") == "lecture"


def test_a_figure_answers_there_and_keeps_its_keys(lecture):
    page = lecture("concepts/embeddings")
    says = page.locator(f"{SHOWN} .says")
    before = says.inner_text()
    page.locator(f"{SHOWN} [role=slider]:visible").first.press("ArrowRight")
    assert says.inner_text() != before
    assert position(page).startswith("1 of")
    page.keyboard.press("PageDown")  # of a presenter
    assert position(page).startswith("2 of")


def test_it_fills_the_screen_and_the_way_back_leads_to_the_page(lecture):
    page = lecture("concepts/embeddings")
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.className === 'frame'")
    page.keyboard.press("F")
    until(page, "!document.fullscreenElement")
    assert page.locator(SHOWN).is_visible()


@pytest.mark.parametrize("reader", [{}, PHONE], ids=["wide", "phone"])
def test_everybody_can_use_it(lecture, reader):
    page = lecture("concepts/queries-keys-values", **reader)
    for _ in range(4):
        assert broken_rules(page) == []
        assert page.locator(".stage").evaluate("(box) => box.scrollWidth - box.clientWidth") <= 0
        page.keyboard.press("ArrowRight")


PLANNED = re.findall(
    r'"\.\./([\w/-]+\.html)(\?lecture(?:=(\d+))?)"',
    (SITE / "reference/for-teachers.html").read_text("utf-8"),
)


@pytest.mark.parametrize("path, address, number", dict.fromkeys(PLANNED))
def test_an_address_in_a_plan_opens_it_at_its_slide(visit, path, address, number):
    page = visit(SITE / path, address)
    page.locator(SHOWN).wait_for()
    assert position(page).startswith(f"{number or 1} of ")


def test_who_leaves_one_that_an_address_opened_is_at_its_button(visit):
    page = visit(SITE / "causal/masking.html", "?lecture=3")
    page.locator(SHOWN).wait_for()
    page.keyboard.press("Escape")
    until(page, "document.activeElement.className === 'lecture'")


def test_without_script_nobody_is_offered_it(visit):
    page = visit(SITE / "concepts/embeddings.html", java_script_enabled=False)
    assert not page.locator("button.lecture").is_visible()


def test_a_slide_is_called_by_its_place_and_its_number_or_its_section(lecture):
    page = lecture("concepts/mixing-words")
    names = []
    for _ in range(int(position(page).partition(" of ")[2])):
        names.append(page.locator(".lecture header [role=status]").inner_text())
        page.keyboard.press("ArrowRight")
    assert names[0].startswith(f"1 of {len(names)}: ")
    assert any(name.endswith(": Ask the room") for name in names)
    assert any(re.search(r": Fig\. \d+$", name) for name in names)
    assert all(one != other for one, other in pairwise(name.partition(": ")[2] for name in names))
