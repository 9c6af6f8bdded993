"""The Sheet, in the built book: drawn by Python, and then pressed, changed and broken.

Its arithmetic is compared with the library's, and each slip with the wrong attention of its name.
`make check-site`.
"""

import gzip
import json
import re
from typing import Any

import numpy as np
import pytest

from press.build.book import SITE
from press.measure.access import broken_rules
from selfattn_ref import multi_head_attention, scaled_dot_product_attention
from selfattn_ref.worked_examples import load
from selfattn_ref.worked_examples.slips import SLIPS, matrix
from tests.site.conftest import until

CELL = re.compile(
    r'<td data-array="(\w+)" data-at="([\d,]+)"(?: class="(\w+)")?(?: style="([^"]*)")?>(.*?)</td>'
)
DRAWN = """() => [...document.querySelectorAll("td[data-array]")].map((td) => [td.dataset.array,
    td.dataset.at, td.className, td.getAttribute("style") || "", td.textContent])"""
PAGES = sorted(p for p in SITE.rglob("*.html") if "data-sheet=" in p.read_text("utf-8"))
LESSON = SITE / "concepts" / "queries-keys-values.html"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest.fixture
def opened(visit: Any) -> Any:
    """Return a function that opens the page of an example."""
    return lambda name, after="", **reader: visit(SITE / name / "index.html", after, **reader)


def press(page: Any, array: str, at: str) -> Any:
    page.locator(f'td[data-array="{array}"][data-at="{at}"]').first.click()
    return page.locator(".said").first.inner_text()


@pytest.mark.parametrize("name", ["SA047", "SA084"])
def test_long_numbers_fit_their_cells(browser, name):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((SITE / name / "index.html").as_uri())
    for shown in (".whole", ".whole:fullscreen"):
        cells = page.locator(shown).first.locator("td[data-at]")
        wide = cells.evaluate_all(
            "all => all.map((one) => [one.textContent, one.scrollWidth - one.clientWidth])"
        )
        assert max(len(text) for text, _ in wide) > 5
        assert not [text for text, over in wide if over > 0]
        if shown == ".whole":
            page.get_by_role("button", name="Full screen").first.click()
    page.close()


def test_the_drawings_of_an_example_have_names_of_their_own():
    names = {
        path.parent.name: re.findall(r'class="one"[^>]*><summary>(.*?)</', path.read_text("utf-8"))
        for path in SITE.glob("SA*/index.html")
    }
    assert max(map(len, names.values())) > 4
    assert not [one for one, found in names.items() if len(set(found)) < len(found)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.parent.name)
def test_the_script_starts_with_what_python_drew(visit: Any, path: Any) -> None:
    written = CELL.findall(path.read_text("utf-8"))
    assert len(written) > 9
    assert visit(path).evaluate(DRAWN) == [list(cell) for cell in written]


def random_state(rng: np.random.Generator) -> dict[str, Any]:
    """Return inputs and options of a call of attention, of one head."""
    queries, keys, width, wide = rng.integers(1, 6, 4)
    given: dict[str, Any] = {
        "query": rng.normal(size=(queries, width)),
        "key": rng.normal(size=(keys, width)),
    }
    if rng.random() < 0.5:
        x = rng.normal(size=(queries, wide))
        given = {"x": x} | {f"w_{r}": rng.normal(size=(wide, width)) for r in ("query", "key")}
        given["w_value"] = rng.normal(size=(wide, rng.integers(1, 6)))
        keys = queries
    else:
        given["value"] = rng.normal(size=(keys, wide))
    if rng.random() < 0.5:
        given["mask"] = rng.random((queries, keys)) < 0.7
    if rng.random() < 0.5:
        given["bias"] = rng.normal(size=(queries, keys))
    if rng.random() < 0.3:
        given["w_output"] = rng.normal(
            size=(np.shape(given.get("value", given.get("w_value")))[1], 3)
        )
    if rng.random() < 0.25:  # scores so large that exponentials of them would overflow
        given["query" if "query" in given else "w_query"] *= 3e5
    options: dict[str, Any] = {}
    if rng.random() < 0.4:
        options |= {"causal": True, "offset": int(rng.integers(-1, 3))}
    if rng.random() < 0.3:
        options["soft_cap"] = 1.5
    if rng.random() < 0.3:
        options["scale"] = 0.75
    return {"given": given, "options": options, "slip": ""}


def asked(page: Any, state: dict[str, Any]) -> dict[str, Any]:
    """Return what the script computes; a number that is none comes as a word."""
    plain = {name: array.astype(float).tolist() for name, array in state["given"].items()}
    text = page.evaluate(
        """(state) => JSON.stringify(bookSheet.compute(state), (key, value) =>
            typeof value === "number" && !isFinite(value) ? String(value) : value)""",
        state | {"given": plain},
    )
    return json.loads(text)


def roles(given: dict[str, Any]) -> list[Any]:
    names = ("query", "key", "value")
    return [given[n] if n in given else given["x"] @ given[f"w_{n}"] for n in names]


def numbers(rows: Any) -> Any:
    return np.array(
        [[0.0 if x is None else float(str(x).replace("Infinity", "inf")) for x in r] for r in rows]
    )


def test_two_hundred_random_states_agree_with_the_library(opened: Any) -> None:
    page, rng = opened("SA037"), np.random.default_rng(37)
    for _ in range(200):
        state = random_state(rng)
        query, key, value = roles(state["given"])
        options = {n: state["given"][n] for n in ("mask", "bias") if n in state["given"]}
        found = asked(page, state)
        output = scaled_dot_product_attention(query, key, value, **options, **state["options"])
        weights = scaled_dot_product_attention(
            query, key, np.eye(len(key)), **options, **state["options"]
        )
        np.testing.assert_allclose(numbers(found["output"]), output, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(numbers(found["weights"]), weights, rtol=1e-9, atol=1e-12)
        if "w_output" in state["given"]:
            adds = output @ state["given"]["w_output"]
            np.testing.assert_allclose(numbers(found["adds"]), adds, rtol=1e-9, atol=1e-9)


def test_every_slip_of_the_script_is_the_wrong_attention_of_its_name(opened: Any) -> None:
    page, rng = opened("SA037"), np.random.default_rng(16)
    names = page.evaluate("Object.keys(bookSheet.SLIPS)")
    differ = dict.fromkeys(names, 0)
    for _ in range(200):
        state = random_state(rng)
        query, key, value = roles(state["given"])
        options = {n: state["given"][n] for n in ("mask", "bias") if n in state["given"]}
        right = scaled_dot_product_attention(query, key, value, **options, **state["options"])
        for name in names:
            try:
                wrong = SLIPS[name](query, key, value, **options, **state["options"])
            except ValueError:  # the shapes do not allow it, and the sheet does not offer it
                continue
            if wrong.shape != right.shape:
                continue
            found = numbers(asked(page, state | {"slip": name})["output"])
            np.testing.assert_allclose(found, wrong, rtol=1e-9, atol=1e-12, err_msg=name)
            differ[name] += not np.allclose(wrong, right, rtol=1e-9, equal_nan=True)
    assert min(differ.values()) > 5, differ
    several = {
        name
        for name, calls in matrix().items()
        if all(max(x.ndim for x in call.args) > 2 for call in calls)
    }
    assert {*SLIPS} - {*names} == several  # heads or sequences, of which a sheet has one


BROKEN = """() => { const one = bookSheet.sheets[0], found = [];
    for (const slip of one.slipButtons.map((button) => button.dataset.slip)) {
        one.change({ slip });
        for (const array of ["scores", "weights", "output"]) {
            const cell = one.cells.find((td) => td.dataset.array === array && td.matches(".bad"));
            if (!cell) continue;
            one.press(cell);
            const [name, i, j] = one.at;
            found.push([slip, array, one.said.innerHTML, String(one.result[name][i][j])]);
        }
    }
    return found; }"""
SIGNS = {"−": "-", "×": "*", "·": "*", "÷": "/", "∞": "inf"}


def sums(line: str) -> list[float]:
    """Return what each sum of a line of arithmetic comes to; one that is cut short is left out."""
    line = re.sub(r"<small>.*?</small>|\(right: .*|^<b[^>]*>.*?</b>: ", "", line)
    line = re.sub(r"(e|2)<sup>(.*?)</sup>", r"(\1 ** (\2))", line).replace("<b>", "")
    line = re.sub(r"√(\d+)", r"sqrt(\1)", line.replace("</b>", ""))
    for sign, plain in SIGNS.items():
        line = line.replace(sign, plain)
    line = re.sub(r"(?<![\w.])(\d+(\.\d+)?(e-?\d+)?)", r"F(\1)", line)  # which 0 divides
    names = {
        "F": np.float64,
        "NaN": np.nan,
        "e": np.e,
        "sqrt": np.sqrt,
        "tanh": np.tanh,
        "inf": np.inf,
        "min": min,
        "max": max,
    }
    parts = [part for part in re.split("[≈=]", line) if "…" not in part]
    with np.errstate(all="ignore"):
        return [float(eval(part, names)) for part in parts]


@pytest.mark.parametrize("name", ["SA016", "SA037", "SA039", "SA058"])
def test_the_line_of_a_broken_rule_comes_to_the_entry_that_is_shown(opened: Any, name: str) -> None:
    lines = opened(name).evaluate(BROKEN)
    assert len(lines) > 30
    for slip, array, line, value in lines:
        if line.partition("</b>: ")[2].startswith(("hidden", "no key")) or " is " in line:
            continue  # nothing is computed
        computed = sums(line)
        assert len(computed) > 1, (slip, array, line)
        np.testing.assert_allclose(
            computed, float(value), rtol=2e-3, atol=2e-3, err_msg=f"{slip}: {line}"
        )


CHANGE = """([place, patch]) => { const one = bookSheet.sheets[place];
    one.change({ given: { ...one.state.given, ...patch } }); }"""


def test_heads_have_one_input_and_their_outputs_are_added_up(opened: Any) -> None:
    page, rng = opened("SA027"), np.random.default_rng(27)
    start = page.evaluate(DRAWN)
    for slip in ("", "not-scaled", "softmax-over-queries"):
        page.evaluate("(slip) => bookSheet.sheets[3].change({ slip })", slip)
        x, query, out = (
            rng.normal(size=(3, 4)),
            rng.normal(size=(4, 4, 2)),
            rng.normal(size=(4, 1, 4)),
        )
        key, value = rng.normal(size=(2, 4, 2)), rng.normal(size=(2, 4, 1))  # of two heads each
        page.evaluate(CHANGE, [2, {"x": x.tolist()}])
        for head in range(4):
            own = {"w_query": query[head].tolist(), "w_output": out[head].tolist()}
            page.evaluate(CHANGE, [head, own])
        for place, head in enumerate((1, 2)):
            both = {"w_key": key[place].tolist(), "w_value": value[place].tolist()}
            page.evaluate(CHANGE, [head, both])
        attend = SLIPS[slip] if slip else scaled_dot_product_attention
        output = sum(
            attend(x @ query[h], x @ key[h // 2], x @ value[h // 2]) @ out[h] for h in range(4)
        )
        for found in page.evaluate("bookSheet.sheets.map((one) => one.result.sum)"):
            np.testing.assert_allclose(found, output, rtol=1e-9, atol=1e-12)
        if not slip:
            joined = [np.hstack(list(w)) for w in (query, key, value)]
            whole = multi_head_attention(
                x, x, *joined, np.vstack(list(out)), num_heads=4, num_key_value_heads=2
            )
            np.testing.assert_allclose(output, whole, rtol=1e-9, atol=1e-12)
    assert page.evaluate("bookSheet.sheets[0].past.length") == 24
    page.evaluate("for (let k = 0; k < 24; k += 1) bookSheet.sheets[k % 4].back()")
    assert [row[-1] for row in page.evaluate(DRAWN)] == [row[-1] for row in start]


def test_of_two_equal_words_the_pressed_one_is_marked_and_said(opened: Any) -> None:
    page = opened("SA058")  # the bank of the river
    for array, at in (("weights", "3,1"), ("x", "3,0"), ("weights", "0,1")):
        press(page, array, at)
        marked = page.locator("[data-sheet]").first.locator("tr.me td[data-at]")
        places = marked.evaluate_all("cells => cells.map((cell) => cell.dataset.at)")
        assert {place[0] for place in places} == {at[0]}


@pytest.mark.parametrize("scripted", [True, False])
def test_heads_stand_behind_tabs(opened: Any, scripted: bool) -> None:
    page = opened("SA053", java_script_enabled=scripted)
    for head, other in ((1, 0), (0, 1)):
        page.locator(".tabs summary", has_text=f"head {head}").first.click()
        assert page.locator(".tabs .whole").nth(head).is_visible()
        assert page.locator(".tabs .whole").nth(other).is_hidden()
    total = load("SA053").expected["output_money"][1, 3]
    assert page.locator("#sheet td[data-array=sum][data-at='1,3']").inner_text() == f"{total:.2f}"
    if scripted:
        first, second = load("SA053").expected["contributions_money"][:, 1, 0]
        said = f"Sum of the heads for bank, money: {first:.4f} + {second:.4g} "
        assert press(page, "sum", "1,0").startswith(said)


def test_an_address_opens_the_tab_of_its_head(opened: Any) -> None:
    page = opened("SA053", "#sheet-5?at=adds.1.2&slip=not-scaled")
    assert page.locator("#sheet-5 .whole").is_visible()
    assert page.locator("#sheet-4 .whole").is_hidden()
    assert page.locator("#sheet-4 .bad").count() > 0  # the same rule holds for all heads


@pytest.mark.parametrize("reader", [{}, PHONE], ids=["wide", "phone"])
def test_one_press_shows_the_arithmetic_where_one_looks(opened: Any, reader: Any) -> None:
    page = opened("SA037", "#on-one-sheet", **reader)
    cell = page.locator('td[data-array="weights"][data-at="1,0"]').first
    cell.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    cell.click()
    said = page.locator(".said").first
    assert "16.9188 ÷ 22.0321 ≈ 0.7679" in said.inner_text()
    box, height = said.bounding_box(), page.viewport_size["height"]
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= height
    assert page.evaluate("scrollY") == before


@pytest.mark.parametrize(
    ("reader", "array", "says"),
    [({}, "weights", "16.9188 ÷ 22.0321 ≈ 0.7679"), (PHONE, "query", "1 × 1 + 1 × 0 + 1 × 1 = 2")],
    ids=["wide", "phone"],
)
def test_it_answers_in_the_first_window_of_its_page(
    opened: Any, reader: Any, array: str, says: str
) -> None:
    page = opened("SA037", **reader)
    cell = page.locator(f'td[data-array="{array}"][data-at="1,0"]').first
    box = cell.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)  # does not scroll
    assert says in page.locator(".said").first.inner_text()
    told, height = page.locator(".told").first.bounding_box(), page.viewport_size["height"]
    assert box["y"] + box["height"] <= told["y"]
    assert told["y"] + told["height"] <= height
    assert page.evaluate("scrollY") == 0


def test_escape_leads_from_a_field_back_to_its_number(opened: Any) -> None:
    page = opened("SA036")
    cell = page.locator("td[data-array=x][data-at='0,1']").first
    cell.focus()
    cell.press("Enter")
    assert page.evaluate("document.activeElement.localName") == "input"
    page.keyboard.type("7")
    page.keyboard.press("Escape")
    assert cell.evaluate("one => one === document.activeElement")
    assert page.evaluate("bookSheet.sheets[0].past.length") == 0
    assert page.locator(".steps input").input_value() == cell.inner_text()
    computed = page.locator("td[data-array=scores][data-at='0,1']").first
    computed.focus()
    computed.press("Enter")
    assert computed.evaluate("one => one === document.activeElement")


@pytest.mark.parametrize(("array", "key"), [("x", "Tab"), ("x", "Shift+Tab"), ("scores", "Tab")])
def test_tab_takes_the_number_and_goes_to_the_next_control(
    opened: Any, array: str, key: str
) -> None:
    page = opened("SA036")
    press(page, array, "0,1")
    entry = page.locator(".steps input").first
    entry.focus()
    page.keyboard.type("5")
    page.keyboard.press(key)
    until(page, "bookSheet.sheets[0].past.length === 1")
    assert page.evaluate("document.activeElement.matches('.steps button')")


def test_the_name_of_a_number_that_has_the_focus_is_not_said_again(opened: Any) -> None:
    page, said = opened("SA016"), '.said [aria-hidden="true"]'
    line = press(page, "weights", "1,0")
    assert line.startswith("How closely ")
    assert page.locator(said).inner_text() == line.partition(":")[0]
    page = opened("SA036")
    assert press(page, "x", "0,1").startswith("Money, water")
    page.locator(".steps button").first.click()  # the focus is there: the line has to say it all
    assert page.locator(said).count() == 0
    assert press(page, "output", "1,0").startswith("Output of bank, money")


def test_a_number_leads_back_to_the_inputs_and_on_to_the_output(opened: Any) -> None:
    page = opened("SA037")
    lines = [press(page, "output", "1,0")]
    for _ in range(2):
        page.locator(".steps button", has_text="←").first.click()
        lines.append(page.locator(".said").first.inner_text())
    assert [line.partition(":")[0] for line in lines] == [
        "Output of bank, column 0",
        "How closely bank listens to money",
        "Score of bank for money",
    ]
    for array in ("weights", "output"):
        page.locator(".steps button", has_text="→").first.click()
        assert page.locator("td.here").first.get_attribute("data-array") == array


def test_the_keys_go_from_matrix_to_matrix(opened: Any) -> None:
    page = opened("SA016")
    page.locator('td[data-array="query"][data-at="1,7"]').click()
    page.keyboard.press("ArrowRight")
    seen = [
        page.evaluate("[document.activeElement.dataset.array, document.activeElement.dataset.at]")
    ]
    page.keyboard.press("ArrowDown")
    seen.append(
        page.evaluate("[document.activeElement.dataset.array, document.activeElement.dataset.at]")
    )
    assert seen == [["scores", "1,0"], ["scores", "2,0"]]


def test_with_keys_alone_a_sheet_is_broken_and_the_tree_says_so(opened: Any) -> None:
    page = opened("SA037")

    def walk_to(found: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate(f"document.activeElement.matches({found!r})"):
                return
        raise AssertionError(f"60 presses of Tab reach nothing like {found}")

    def differing() -> set[str]:
        tree = page.locator(".whole").first.aria_snapshot()
        return set(re.findall(r"- 'gridcell \"(.*?): [^\"]*, differs\"'", tree))

    walk_to(".whole td")
    assert differing() == set()
    walk_to(".break > summary")
    page.keyboard.press("Enter")
    walk_to("[data-slip='not-scaled']")
    page.keyboard.press("Enter")
    tree = page.locator(".whole").first.aria_snapshot()
    assert '- button "not-scaled" [pressed]' in tree
    (count,) = re.findall(r"the scores are not scaled\. (\d+) numbers differ", tree)
    assert len(differing()) == int(count) == page.locator(".whole .bad").count()
    assert "how closely bank listens to money" in differing()
    page.keyboard.press("Enter")
    assert differing() == set()
    assert '- button "the right rule" [pressed]' in page.locator(".whole").first.aria_snapshot()


def test_weights_are_covered_until_the_reader_has_pressed_a_word(visit: Any) -> None:
    page = visit(LESSON)
    seen = page.locator(".covered td[data-at]:visible")
    before = page.locator(".bands").evaluate("box => [box.offsetWidth, box.offsetHeight]")
    press(page, "value", "1,1")
    page.keyboard.press("ArrowRight")  # a key leads to no number that is covered
    assert page.locator("td.here").first.get_attribute("data-array") == "value"
    assert seen.count() == 0
    page.emulate_media(media="print")
    assert seen.count() == 27
    page.emulate_media(media="screen")
    page.locator("[data-word='1']").click()
    said = page.locator(".told .said").inner_text()  # the verdict first, in one piece with the rest
    verdict, _, rest = said.partition(" with 0.77. ")
    assert verdict == "You pressed raised, but bank listens most to rates,"
    assert rest.startswith("How closely bank listens to raised: ")
    assert page.locator(".told .now").inner_text() == ""
    assert page.locator("td.here").first.get_attribute("data-at") == "0,1"
    assert seen.count() == 27
    after = page.locator(".bands").evaluate("box => [box.offsetWidth, box.offsetHeight]")
    assert after == before


def test_in_a_lesson_it_fits_its_column_and_the_question_covers_nothing(visit: Any) -> None:
    page = visit(LESSON)
    page.mouse.wheel(0, page.locator(".bands").bounding_box()["y"] - 500)  # cut by the window
    boxes = [band.bounding_box() for band in page.locator(".bands .band").all()]
    assert len({round(box["y"] + box["height"]) for box in boxes}) == 1
    whole, told = (page.locator(name).first.bounding_box() for name in (".bands", ".told"))
    assert boxes[-1]["x"] + boxes[-1]["width"] <= whole["x"] + whole["width"]
    assert told["y"] >= whole["y"] + whole["height"]


@pytest.mark.parametrize(
    ("after", "reader"),
    [("#fig-queries-keys-values-sheet?at=weights.1.0", {}), ("", {"java_script_enabled": False})],
)
def test_an_address_and_a_page_without_script_show_all(
    visit: Any, after: str, reader: dict[str, Any]
) -> None:
    assert visit(LESSON, after, **reader).locator(".covered td[data-at]:visible").count() == 27


def test_a_change_is_followed_marked_said_and_undone(opened: Any) -> None:
    page = opened("SA037")
    start = page.evaluate(DRAWN)
    press(page, "x", "1,2")
    page.get_by_label("more").first.click()
    assert page.locator("td.moved").count() > 5
    assert "bank listens to money" in page.locator(".told .now").first.inner_text()
    assert "x.1.2=2" in page.url
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "more"
    assert page.get_by_role("button", name="Reset").first.inner_text() == "Reset (1 changed)"
    again = page.url
    page.get_by_role("button", name="Undo").first.click()
    assert page.get_by_role("button", name="Reset").first.is_disabled()
    assert [row[-1] for row in page.evaluate(DRAWN)] == [row[-1] for row in start]
    page.goto("about:blank")
    page.goto(again)
    assert page.locator('td[data-array="x"][data-at="1,2"]').first.inner_text() == "2"
    assert "bank listens to money" in page.locator(".told .now").first.inner_text()


def test_a_change_that_reaches_no_weight_says_those_of_its_row(opened: Any) -> None:
    page = opened("SA016")  # query 0 hears key 0 alone
    press(page, "query", "0,0")
    page.get_by_label("more").first.click()
    now = page.locator(".told .now").first
    assert now.inner_text().startswith("query 0 listens to key 0 1, key 1 hidden, ")
    press(page, "query", "2,0")
    page.get_by_label("more").first.click()
    assert now.inner_text().startswith("query 2 listens to key 0 ")


def test_a_change_names_every_row_that_it_reaches(opened: Any) -> None:
    page = opened("SA016")
    now = page.locator(".told .now").first
    press(page, "key", "1,0")  # causal: query 0 does not see it
    page.get_by_label("more").first.click()
    before, after = page.evaluate("[bookSheet.sheets[0].before, bookSheet.sheets[0].result]")
    rows = zip(before["weights"], after["weights"], strict=True)
    changed = [f"query {i}" for i, (old, new) in enumerate(rows) if old != new]
    assert 0 < len(changed) < 4
    assert now.inner_text().endswith(f" Changed rows: {', '.join(changed)}.")
    press(page, "query", "0,0")  # it sees one key alone
    page.get_by_label("more").first.click()
    assert now.inner_text().endswith(" Changed rows: none.")


def test_what_a_slip_does_is_spoken_once(opened: Any) -> None:
    page = opened("SA016", "#not-scaled")
    page.evaluate(
        """() => {
            window.spoken = 0;
            new MutationObserver(() => spoken++).observe(document.querySelector(".wrong"),
                { childList: true, subtree: true, characterData: true });
        }"""
    )
    press(page, "weights", "1,0")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("spoken") == 0
    press(page, "query", "2,0")
    page.locator(".steps input").first.fill("50")
    page.keyboard.press("Tab")  # now the numbers differ by more
    until(page, "spoken === 1")
    assert "numbers differ" in page.locator(".wrong").first.inner_text()


def test_a_slip_in_the_address_opens_the_sheet_broken(opened: Any) -> None:
    page = opened("SA016", "#not-scaled")
    assert page.locator('[data-slip="not-scaled"]').first.get_attribute("aria-pressed") == "true"
    said = page.locator(".wrong").first.inner_text()
    assert "not-scaled: the scores are not scaled." in said
    assert page.locator("table[data-matrix=scores] small").first.inner_text() == "Q Kᵀ"
    assert f"{page.locator('td.bad').count()} numbers differ" in said
    assert "Every row of weights still adds up to 1." in said


def framed(page: Any, matrix: str) -> list[str]:
    """Return which entries of the first table of a matrix are framed as what made another."""
    cells = page.locator(f".bands {matrix}").first.locator("td.from")
    return [cell.get_attribute("data-at") for cell in cells.all()]


def test_what_a_broken_rule_reads_is_framed(opened: Any) -> None:
    page = opened("SA037", "#sheet?at=weights.1.0")
    assert framed(page, "[data-matrix=scores]") == ["1,0", "1,1", "1,2"]
    page = opened("SA037", "#sheet?slip=softmax-over-queries&at=weights.1.0")
    assert framed(page, "[data-matrix=scores]") == ["0,0", "1,0", "2,0"]
    # Key of bank, and the query of money: it stands where keys stand.
    page = opened("SA037", "#sheet?slip=queries-and-keys-swapped&at=scores.1.0")
    assert sorted(framed(page, "[data-matrix=key]:not(:last-child)")) == ["0,0", "0,1"]


def test_a_hidden_score_that_takes_part_differs(opened: Any) -> None:
    page = opened("SA016", "#hidden-scores-are-zero")
    assert page.locator("table[data-matrix=scores] td.bad").count() == 6
    said = page.locator(".wrong").first.inner_text()
    widest = float(re.search(r"by up to (\d+\.\d+)", said)[1])
    broken = page.evaluate("bookSheet.sheets[0].plain()")
    start = opened("SA016").evaluate("bookSheet.sheets[0].plain()")
    apart = [
        abs((x or 0) - (y or 0))
        for name in ("weights", "output")
        for rows, right in zip(broken[name], start[name], strict=True)
        for x, y in zip(rows, right, strict=True)
    ]
    assert widest == pytest.approx(max(apart), abs=5e-5)


@pytest.mark.parametrize(
    "after",
    ["#%", "#sheet?%", "#sheet?at=9.9", "#sheet?at=weights.9.9&slip=none", "#sheet?x.0.0=1%2",
     "#sheet?query.9.9=1&query.0.0=&scale=x", "#toString", "#sheet?constructor.0.0=1"],
)  # fmt: skip
def test_a_malformed_address_changes_nothing(opened: Any, after: str) -> None:
    page = opened("SA016")
    start = page.evaluate(DRAWN)
    assert opened("SA016", after).evaluate(DRAWN) == start


def test_what_is_copied_prints_the_numbers_that_one_sees(opened: Any) -> None:
    page = opened("SA037", "#sheet?slip=keys-as-values&x.0.0=1.5")
    code = page.evaluate("bookSheet.sheets[0].numpy()")
    printed: list[Any] = []
    exec(code, {"print": printed.append})
    shown = page.evaluate("bookSheet.sheets[0].result.output")
    np.testing.assert_allclose(printed[0], shown, rtol=1e-12)
    assert page.evaluate("JSON.stringify(bookSheet.sheets[0].plain())").startswith('{"x":[[1.5')
    assert page.evaluate("bookSheet.sheets[0].svg()").count("<rect") == 81


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_bars_a_screen_reader(opened: Any, theme: str) -> None:
    page = opened("SA037", "#sheet?slip=softmax-over-queries&at=weights.1.0", color_scheme=theme)
    label = page.locator('td[data-array="weights"][data-at="1,0"]').first.get_attribute(
        "aria-label"
    )
    assert label == "how closely bank listens to money: 0.45, differs"
    assert broken_rules(page) == []


def test_no_id_is_the_name_of_a_slip() -> None:
    for path in PAGES:
        assert not set(re.findall(r'id="([^"]+)"', path.read_text("utf-8"))) & set(SLIPS)


def test_the_scripts_of_a_sheet_weigh_at_most_15_kilobytes() -> None:
    scripts = [(SITE / "_static" / name).read_bytes() for name in ("sheet.js", "page.js")]
    assert sum(len(gzip.compress(script, 9)) for script in scripts) <= 15_000
