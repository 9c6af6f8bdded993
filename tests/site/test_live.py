"""The figures that answer back: complete without script, then moved by every kind of hand.

What is asked of all of them stands here; what the numbers of one have to be, in tests/site/live.
`make check-site`.
"""

import functools
import importlib
import json
import re
import time
from pathlib import Path

import numpy as np
import pytest

from press.build.book import SITE
from press.build.check_html import parsed
from press.build.server import transfer_size
from press.measure.access import TAGS, axe

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(
    path.stem for path in (ROOT / "book/figures/live").glob("*.js") if path.stem != "live"
)
ON_PAGES = {
    path: re.findall(r'data-live="(\w+)"', path.read_text("utf-8")) for path in SITE.rglob("*.html")
}
# What a drawing shows: for each part its look, its words and its place, of a path five points.
SHOWN = """(root) => [...root.querySelectorAll("[data-part]")].map((one) => [
    one.dataset.part, one.localName, one.textContent, one.getAttribute("class") || "",
    one.style.display,
    ...["x", "y", "cx", "cy", "width", "height"].map((name) => one.getAttribute(name) || ""),
    one.getAttribute("transform") || "translate(0 0)",
    ...(one.localName === "path" && one.getAttribute("d") ? [0, .25, .5, .75, 1] : [])
        .map((share) => one.getPointAtLength(share * one.getTotalLength()))
        .map((at) => `${at.x} ${at.y}`)])"""
AXE = """async (root, tags) => (await axe.run(root, {
        runOnly: tags, resultTypes: ["violations"], preload: false }))
    .violations.map((rule) => [rule.id, rule.nodes.map((node) => node.html)])"""
# What may stand in an address behind a key.
MALFORMED = [
    *(
        "",
        "%",
        "%2",
        "%25",
        "100%",
        "%00",
        "%F0",
        "%FF%FE",
        "nonsense",
        "null",
        "undefined",
        "true",
    ),
    *("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e-999", "1e", "0x10", "--1", "1 2"),
    *("1.5", "-1", "-0", "0.1", "99", "1e9", "-1e9", "1,2", "1,2,3", ",", "1,", ",1", "1,,2"),
    *("½", "１", "<b>", "'", '"', "[]", "{}", "a" * 5000, "1," * 500),
]
STATES = 200  # random ones, of each figure
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
# Run, and return the losses at the start and after each of three steps, none of which is missed.
RUN = """new Promise((done) => {
    const losses = [f.result.loss];
    f.root.querySelector("[data-act=run]").click();
    (function look() {
        losses[f.state.steps] = f.result.loss;
        f.state.steps < 3 ? setTimeout(look) : done(losses);
    })();
})"""
NUMBER = re.compile(r"-?\d*\.?\d+(?:e-?\d+)?")


@pytest.fixture
def opened(visit):
    """Return a function that opens a page with a figure, the first of them if none is named."""

    def page(name, path=None, **how):
        page = visit(path or everywhere(name)[0][0], **how)
        fold = page.locator(f'details:not([open]):has([data-live="{name}"]) > summary')
        if fold.count():  # an address has opened it already
            fold.press("Enter")
        return page

    return page


def everywhere(name):
    """Return the pages on which a figure stands, and its place among its like there."""
    found = [
        (path, i) for path, names in sorted(ON_PAGES.items()) for i in range(names.count(name))
    ]
    assert found, f"no page has the figure {name}"
    return found


def root_of(page, name, place=0):
    return page.locator(f'[data-live="{name}"]').nth(place)


# Press each button that is not pressed; return what is said then, and in each frame of the way.
WHILE_IT_GLIDES = """(async () => {
  const looks = () => [...f.root.querySelectorAll("text")].map((one) => one.className.baseVal);
  const said = [], text = () => { // but not what is spoken half a second later
    const copy = f.root.cloneNode(true);
    copy.querySelectorAll(".unseen").forEach((one) => one.remove());
    return copy.textContent + looks();
  };
  for (const button of f.root.querySelectorAll("[data-put][aria-pressed=false]")) {
    button.click();
    const way = [text(), []];
    do {
      await new Promise(requestAnimationFrame);
      way[1].push(text());
    } while (f.shown !== f.state);
    said.push(way);
  }
  return said;
})()"""


def ask(page, name, what, place=0):
    """Evaluate an expression of the figure `f`."""
    found = f"bookFigures.figures.filter((one) => one.name === '{name}')[{place}]"
    return page.evaluate(f"((f) => {what})({found})")


def put(page, name, state):
    """Put the figure into a state."""
    ask(page, name, f"f.put({json.dumps(state)})")


def facts(page, name, place=0):
    return json.loads(root_of(page, name, place).locator("script").text_content() or "")


def random_state(rng, start, limits):
    """Return a state within the limits; what has none stays."""

    def one(value, limit):
        if isinstance(value, bool):
            return bool(rng.integers(2))
        if limit is None:
            return value
        if isinstance(value, str) and isinstance(limit, str):
            letters = list(limit)
            return "".join(str(rng.choice(letters)) if c in limit else c for c in value)
        if isinstance(value, str):
            return limit[rng.integers(len(limit))]
        if isinstance(value, list):
            return [one(v, limit) for v in value]
        number = rng.uniform(*limit)
        return round(number) if isinstance(value, int) else round(number, 4)

    return {key: one(value, limits.get(key)) for key, value in start.items()}


def close(found, expected, where):
    """Compare nested numbers within 1e-12 of the largest, or within the rounding of 1."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for key, value in expected.items():
            close(found[key], value, f"{where}.{key}")
        return
    if isinstance(expected, tuple):  # of different shapes
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            close(one, other, f"{where}.{i}")
        return
    if isinstance(expected, str):
        assert found == expected, where
        return
    numbers = np.asarray(expected, dtype=float)
    largest = float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0)) or 1.0
    np.testing.assert_allclose(
        np.asarray(found, dtype=float), numbers, 0, max(1e-12 * largest, 1e-15), err_msg=where
    )


def alike(before, after):
    """Compare what two drawings show: their words exactly, their places to a fifth of a pixel."""
    assert len(before) == len(after)
    for one, other in zip(before, after, strict=True):
        for a, b in zip(one, other, strict=True):
            if a != b:
                mine, yours = ([float(n) for n in NUMBER.findall(text)] for text in (a, b))
                assert len(mine) == len(yours), (one, other)
                np.testing.assert_allclose(mine, yours, rtol=0, atol=0.2, err_msg=f"{one}\n{other}")


def until(holds):
    """Wait until something holds, twenty seconds at most."""
    for _ in range(400):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("what was waited for did not happen")


# Put the figure into a state, and return the numbers that changed in sight of the reader, those
# that stand there, what is spoken and what is written for the ear.
HEARD = """new Promise((done) => {
  const texts = () => [...f.root.querySelectorAll("text[data-part]")].map((one) =>
    (one.getClientRects().length && getComputedStyle(one).visibility === "visible"
      ? one.textContent : ""));
  const numbers = (all) => all.flatMap((text) => text.match(/−?\\d+([.]\\d+)?|∞|NaN/g) || []);
  const before = texts(), spoken = () => f.status?.textContent;
  if (spoken()) f.status.textContent = "";
  new MutationObserver(() => spoken() && setTimeout(() => done({
    changed: numbers(texts().filter((text, i) => text !== before[i])), all: numbers(texts()),
    spoken: spoken(), written: f.drawn.textContent,
  }))).observe(f.root, { childList: true, subtree: true });
  f.put(STATE);
})"""


def hear(page, name, state, place=0):
    """Return what who hears the page is told when the figure comes to rest in a state."""
    return ask(page, name, HEARD.replace("STATE", json.dumps(state)), place)


def rest(page, name, place=0):
    """Wait until the figure has said where it stands."""
    says = "f.root.querySelector('.says')"
    until(
        lambda: ask(
            page,
            name,
            f"f.before?.get && f.before.get({says}) === {says}.textContent.trim()",
            place,
        )
    )


def test_a_page_loads_the_scripts_of_its_figures_and_no_others():
    for path, names in ON_PAGES.items():
        loaded = re.findall(
            r'<script defer src="[^"]*_static/live/(\w+)\.js', path.read_text("utf-8")
        )
        assert loaded == (["live", *sorted(set(names))] if names else []), path


def test_the_scripts_of_a_page_weigh_at_most_12_kb():
    for path in ON_PAGES:
        scripts = re.findall(r'<script defer src="([^"?]*)', path.read_text("utf-8"))
        own = [name for name in scripts if "/live/" in name or name.endswith("trace.js")]
        assert sum(transfer_size(path.parent / name) for name in own) <= 12_000, path
    assert "weigh 12 kB at most" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def test_as_many_states_are_tried_as_contributors_are_told():
    told = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert f"the numbers of {STATES} random\nstates" in told


@pytest.mark.parametrize("name", NAMES)
class TestFigure:
    """What every figure does."""

    def test_its_numbers_are_those_of_the_library(self, name, opened):
        rng = np.random.default_rng(12)
        expected = importlib.import_module(f"tests.site.live.{name}").expected
        for path, place in everywhere(name):
            page = opened(name, path=path)
            known = facts(page, name, place)
            states = [random_state(rng, known["start"], known["limits"]) for _ in range(STATES)]
            found = page.evaluate(
                "([states, data]) => states.map((state) => kind.compute(state, data))".replace(
                    "kind", f"bookFigures.kinds.{name}"
                ),
                [states, known["data"]],
            )
            for state, result in zip(states, found, strict=True):
                close(result, expected(state, known["data"]), f"{name} at {state}")

    def test_the_script_draws_the_start_as_python_does(self, name, opened):
        for path, place in everywhere(name):
            page = opened(name, path=path)
            root = root_of(page, name, place)
            before, said = root.evaluate(SHOWN), root.locator(".says").inner_html()
            ask(page, name, "f.draw(f.state, f.result)", place)
            alike(before, root.evaluate(SHOWN))
            assert root.locator(".says").inner_html() == said

    def test_without_script_it_is_a_picture_with_words(self, name, opened):
        page = opened(name, java_script_enabled=False)
        root = root_of(page, name)
        assert root.locator(".picture[role=img]").is_visible()
        assert root.locator(".says").is_visible()
        assert not root.locator(".controls").is_visible()
        assert not root.locator("[tabindex]").count()

    def test_a_grip_is_heard_without_the_whole_description(self, name, opened):
        for path, place in everywhere(name):
            alt = parsed(path).xpath(f"(//*[@data-live='{name}'])[{place + 1}]//*[@role='img']")
            picture = root_of(opened(name, path=path), name, place).locator(".picture")
            assert picture.get_attribute("role") is picture.get_attribute("aria-label") is None
            tree = picture.aria_snapshot()
            assert "- img" not in tree  # whose parts would be none
            if name != "which_word":  # where it would tell the answer
                whole = picture.locator("p.unseen").inner_text()
                assert whole == "At the start: " + alt[0].get("aria-label")

    def test_the_arrow_keys_move_it(self, name, opened):
        for path, place in everywhere(name):
            page = opened(name, path=path)
            root = root_of(page, name, place)
            for grip in root.locator(".grip:visible").all():
                texts = [grip.get_attribute("aria-valuetext")]
                label, picture = grip.get_attribute("aria-label"), root.locator(".picture:visible")
                before = picture.screenshot()
                grip.focus()
                assert picture.screenshot() != before, f"{label}: no ring tells where the focus is"
                for key in ("ArrowRight", "ArrowUp", "ArrowLeft"):
                    grip.press(key)
                grip.press("Shift+ArrowDown")
                texts.append(grip.get_attribute("aria-valuetext"))
                grip.press("Home")
                texts.append(grip.get_attribute("aria-valuetext"))
                assert texts[0] == texts[2] != texts[1], label
            for dial in root.locator("input[type=range]").all():
                assert dial.get_attribute("aria-label")
                before = dial.get_attribute("aria-valuetext")
                dial.press("End")
                dial.press("ArrowLeft")
                assert dial.get_attribute("aria-valuetext") != before
            if root.locator(".grip:visible, input[type=range]").count():
                rest(page, name, place)

    def test_every_button_works_and_start_again_undoes_it(self, name, opened):
        for path, place in everywhere(name):
            page = opened(name, path=path)
            root = root_of(page, name, place)
            before = root.evaluate(SHOWN)
            for button in root.locator(".controls button:not(.reset)").all():
                button.press("Enter")
                if button.get_attribute("data-put"):
                    assert button.get_attribute("aria-pressed") == "true", button.inner_text()
            root.locator(".reset").press("Enter")
            assert ask(page, name, "f.state", place) == facts(page, name, place)["start"]
            alike(before, root.evaluate(SHOWN))
            until(lambda page=page: not page.evaluate("location.hash.includes('?')"))

    def test_every_number_that_changes_is_heard(self, name, opened):
        rng = np.random.default_rng(17)
        for path, place in everywhere(name):
            page = opened(name, path=path)
            known, moved = facts(page, name, place), 0
            for _ in range(3):
                state = random_state(rng, known["start"], known["limits"])
                heard = hear(page, name, state, place)
                moved += len(heard["changed"])
                for number in heard["changed"]:
                    assert number in heard["spoken"], (state, heard)
                for number in heard["all"]:
                    assert number in heard["written"], (state, heard)
            assert moved or name == "one_place", path  # which draws no number

    def test_a_pointer_drags_it(self, name, opened):
        page = opened(name)
        root = root_of(page, name)
        root.scroll_into_view_if_needed()
        for grip in root.locator(".grip:visible").all():
            box = grip.bounding_box()
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            before = grip.get_attribute("aria-valuetext")
            page.mouse.move(x, y)
            page.mouse.down()
            page.mouse.move(x + 12, y - 25, steps=3)
            page.mouse.move(x - 9, y - 17, steps=2)
            page.mouse.up()
            page.mouse.move(x, y)
            assert grip.get_attribute("aria-valuetext") != before
            root.locator(".reset").click()

    def test_the_keys_go_through_its_switches_and_press_them(self, name, opened):
        page = opened(name)
        for group in root_of(page, name).locator("g:has(> .switch):visible").all():
            cells = group.locator(".switch")
            assert group.locator("[tabindex='0']").count() == 1
            first, below = cells.first, page.locator(".switch:focus")
            first.focus()
            first.press("ArrowUp")
            first.press("ArrowRight")
            below.press("ArrowDown")
            assert below.get_attribute("tabindex") == "0"
            assert group.locator("[tabindex='0']").count() == 1
            for key in ("Space", "Enter"):
                before = ask(page, name, "f.state")
                checked = below.get_attribute("aria-checked")
                below.press(key)
                assert below.get_attribute("aria-checked") != checked
                assert ask(page, name, "f.state") != before
            names = cells.evaluate_all("(all) => all.map((one) => one.ariaLabel)")
            assert len(set(names)) == len(names)

    def test_its_switches_are_pressed_by_pointer_and_thumb(self, name, opened):
        for reader in ({}, PHONE):
            page = opened(name, **reader)
            for cell in root_of(page, name).locator(".switch:visible").all():
                box, checked = cell.bounding_box(), cell.get_attribute("aria-checked")
                assert min(box["width"], box["height"]) >= 24
                cell.tap() if reader else cell.click()
                assert cell.get_attribute("aria-checked") == {"true": "false"}.get(checked, "true")

    def test_a_finger_drags_it_on_a_phone_and_the_page_stays(self, name, opened):
        page = opened(name, **PHONE)
        root = root_of(page, name)
        fingers = page.context.new_cdp_session(page)
        for grip in root.locator(".grip:visible").all():
            grip.scroll_into_view_if_needed()
            box, top = grip.bounding_box(), page.evaluate("scrollY")
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            before = grip.get_attribute("aria-valuetext")
            for kind, points in (
                ("touchStart", [{"x": x, "y": y}]),
                ("touchMove", [{"x": x + 14, "y": y - 22}]),
                ("touchEnd", []),
            ):
                fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
            assert grip.get_attribute("aria-valuetext") != before
            assert page.evaluate("scrollY") == top
            root.locator(".reset").tap()
        for button in root.locator(".controls button:visible").all():
            button.tap()

    def test_an_address_restores_a_state(self, name, opened):
        page, rng = opened(name), np.random.default_rng(3)
        known, id_ = facts(page, name), ask(page, name, "f.id")
        assert id_
        state = random_state(rng, known["start"], known["limits"])
        put(page, name, state)
        state = ask(page, name, "f.state")
        rest(page, name)
        address = page.evaluate("location.hash")
        shown = root_of(page, name).evaluate(SHOWN)
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        root_of(page, name).get_by_role("button", name="Copy link").click()
        assert page.evaluate("navigator.clipboard.readText()") == page.url
        page = opened(name, after=address)
        assert ask(page, name, "f.state") == state
        alike(shown, root_of(page, name).evaluate(SHOWN))
        assert root_of(page, name).evaluate("(one) => one.getBoundingClientRect().top") < 900

    def test_a_wrong_address_changes_nothing(self, name, opened):
        page = opened(name)
        known, id_ = facts(page, name), ask(page, name, "f.id")
        wrong = "&".join(f"{key}=nonsense,NaN" for key in known["start"] if key in known["limits"])
        page = opened(name, after=f"#{id_}?{wrong}&unknown=1")
        assert ask(page, name, "f.state") == known["start"]
        for bad in MALFORMED:
            query = "&".join(f"{key}={bad}" for key in known["start"])
            page.evaluate("(hash) => { location.hash = hash; }", f"#{id_}?{query}")
            assert ask(page, name, "f.shown === f.state"), bad
            for key, value in ask(page, name, "f.state").items():
                if known["limits"].get(key) and not isinstance(value, str):
                    assert np.isfinite(np.asarray(value, float)).all(), (bad, key)
        page = opened(name, after="#100%")
        assert ask(page, name, "f.state") == known["start"]

    def test_it_moves_only_for_those_who_want_motion(self, name, opened):
        for motion in ("reduce", "no-preference"):
            page = opened(name, reduced_motion=motion)
            button = 'f.root.querySelector("[data-put][aria-pressed=false]")'
            if ask(page, name, f"Boolean({button})"):  # no time goes by between the two
                at_once = ask(page, name, f"({button}.click(), f.shown === f.state)")
                assert at_once == (motion == "reduce")
            until(functools.partial(ask, page, name, "f.shown === f.state"))
        known, rng = facts(page, name), np.random.default_rng(7)
        for _ in range(5):  # whatever lies on the way, no step of it fails
            state = random_state(rng, known["start"], known["limits"])
            ask(page, name, f"f.put({json.dumps(state)}, true)")
            until(functools.partial(ask, page, name, "f.shown === f.state"))

    def test_what_is_said_does_not_glide(self, name, opened):
        page = opened(name, reduced_motion="no-preference")
        said = ask(page, name, WHILE_IT_GLIDES)
        for at_once, later in said:
            assert set(later) == {at_once}
        assert said or not root_of(page, name).locator("[data-put]").count()

    def test_axe_has_nothing_to_say_when_it_has_moved(self, name, opened):
        page, rng = opened(name), np.random.default_rng(5)
        known = facts(page, name)
        state = random_state(rng, known["start"], known["limits"])
        put(page, name, state)
        page.evaluate(axe())
        found = root_of(page, name).evaluate(AXE, TAGS)
        assert found == []

    def test_on_paper_there_is_nothing_to_press(self, name, opened):
        page = opened(name)
        page.emulate_media(media="print")
        root = root_of(page, name)
        assert root.locator(".says").is_visible()
        assert not root.locator("button:visible, input:visible").count()


def test_a_number_is_heard_with_the_names_of_its_row_and_column(opened):
    page = opened("three_measures")
    spoken = hear(page, "three_measures", {"bank": [2, 0]})["spoken"]
    assert spoken.split("raised. ", 1)[1].strip() == (  # beside (1, 0) and (0, 2)
        "dot product: raised 2.00, river 0.00. cosine: raised 1.00, river 0.00. "
        "distance: river 2.83."
    )


def test_a_number_is_heard_with_the_title_of_its_panel(opened):
    page = opened("mask")
    spoken = hear(page, "mask", {"mask": "110/110/111"})["spoken"]
    assert spoken.split(" into the future. ")[1].strip() == (  # 0.88 and 0.12: of scores 4 and 2
        "scores, money: bank 2. weights, money: money 0.88, bank 0.12. "
        "output, by axis, money: money 1.88, water 0.12."
    )
    page = opened("drowning")
    parts = hear(page, "drowning", {"silent": 9})["spoken"].split("as far. ")[1].split(". ")
    assert [part.split()[0] for part in parts if part] == ["plain", "attention:"]
    page = opened("three_planes")  # where words stand above planes, and numbers below them
    assert "bank asks" not in hear(page, "three_planes", {"query": [1, 0]})["spoken"]


def test_a_short_number_is_heard_with_the_head_of_its_column(opened):
    page = opened("walk")
    written = hear(page, "walk", {"d": 23})["written"].split("scores as they are: ")[1]
    assert re.match(r"(score −?\d+, share [.\d]+(, |\. )){4}divided by √23", written)


def test_of_numbers_without_a_name_all_are_heard(opened):
    page = opened("walk")
    for d in (23, 64):  # some shares are 0.00 and stay so
        heard = hear(page, "walk", {"d": d})
        sets = heard["spoken"].split("scores as they are: ")[1].split(f". divided by √{d}: ")
        assert [one.count("score ") for one in sets] == [one.count("share ") for one in sets]
        assert sets[0].count("share ") == 4


def test_two_groups_of_bars_are_heard_with_their_names(opened):
    page = opened("temperature", path=SITE / "analogies/retrieval.html")
    spoken = hear(page, "temperature", {"at": 4.5})["spoken"]
    groups = re.search(r"looking for alex: (.*?)\. looking for alec: (.*?)\. ", spoken).groups()
    for group in groups:
        assert sorted(re.findall(r"[a-z]+", group)) == ["alex", "alexa", "max", "zoe"]
        assert sum(map(float, re.findall(r"0\.\d\d", group))) == pytest.approx(1, abs=0.021)
    assert groups[0] != groups[1]


def test_that_nothing_changes_is_heard_and_then_no_more(opened):
    page = opened("three_measures")
    spoken = hear(page, "three_measures", {"measure": "dot"})["spoken"]
    assert spoken.startswith("farther in bank’s direction. Still: The dot product says river")
    spoken = hear(page, "three_measures", {})["spoken"]
    assert spoken == "Still: " + root_of(page, "three_measures").locator(".says").inner_text()
    status = root_of(page, "three_measures").locator("[role=status]")
    until(lambda: status.text_content() == "")  # or the sentence would stand there twice


def test_nobody_hears_the_answer_before_a_word_is_pressed(opened):
    page = opened("which_word")
    assert "0.42" in hear(page, "which_word", {"guess": 0})["spoken"]
    heard = hear(page, "which_word", {"guess": -1, "sentence": "river"})
    assert not re.search(r"0\.(42|83)", heard["spoken"] + heard["written"])


class TestRun:
    """Training that runs by itself, where that is wanted."""

    def test_it_runs_step_by_step_and_pauses(self, opened):
        page = opened("nudge", reduced_motion="no-preference")
        run = root_of(page, "nudge").locator("[data-act=run]")
        losses = ask(page, "nudge", RUN)
        assert run.inner_text() == "Pause"
        run.click()
        assert run.inner_text() == "Run"
        assert losses == sorted(losses, reverse=True)
        assert len(set(losses)) == 4
        taken = ask(page, "nudge", "f.state.steps")
        page.wait_for_timeout(700)
        assert ask(page, "nudge", "f.state.steps") == taken

    def test_reset_stops_it(self, opened):
        page = opened("nudge", reduced_motion="no-preference")
        root = root_of(page, "nudge")
        root.locator("[data-act=run]").click()
        root.locator(".reset").click()
        page.wait_for_timeout(700)
        assert ask(page, "nudge", "f.state.steps") == 0
        assert root.locator("[data-act=run]").inner_text() == "Run"

    def test_with_less_motion_it_is_there_at_once(self, opened):
        page = opened("nudge")
        root_of(page, "nudge").locator("[data-act=run]").click()
        assert ask(page, "nudge", "f.shown.steps") == ask(page, "nudge", "f.state.steps") == 12


def test_the_answer_is_covered_until_a_word_is_pressed(opened):
    page = opened("which_word")
    root = root_of(page, "which_word")
    answer = root.locator(
        ".says, [data-part=heard]:visible, [data-part=bar-attention]:visible, "
        "[data-part^=ribbon]:visible, [data-part^=share]:visible"
    )
    even = root.locator("[data-part^=even]:visible")
    assert (answer.locator("visible=true").count(), even.count()) == (0, 5)
    words = {"river": "attention agrees", "of": "the weight 0.06", "rates": "attention agrees"}
    for word, said in words.items():
        root.get_by_role("button", name=word, exact=True).click()
        assert said in root.locator(".says").inner_text()
        assert (answer.locator("visible=true").count(), even.count()) == (13, 0)
    root.locator(".reset").click()
    assert (answer.locator("visible=true").count(), even.count()) == (0, 5)
    page.emulate_media(media="print")
    assert (answer.locator("visible=true").count(), even.count()) == (13, 0)
