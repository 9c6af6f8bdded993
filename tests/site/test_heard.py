"""What who hears a page is told: by the tree that a browser gives to a screen reader.

`make check-site`.
"""

import gzip
import re
from collections import Counter

import pytest

from press.build.book import SITE
from press.build.check_html import html_files, parsed

LESSON = SITE / "concepts" / "queries-keys-values.html"
MIXING = SITE / "concepts" / "mixing-words.html"
FRONT = SITE / "index.html"
KEPT = re.compile(r"<template data-preview=.*?</template>\n", re.S)
LABEL = "one => one.getAttribute('aria-label')"


def headings(page, name="main"):
    """Return level and name of the headings of a page."""
    return re.findall(
        r"- '?heading \"(.*?)\" \[level=(\d)\]", page.locator(name).first.aria_snapshot()
    )


def test_functions_statements_and_exercises_are_headings(visit):
    assert [name for name, level in headings(visit(SITE / "reference/api/masks.html"))[1:]] == [
        *("causal_mask", "padding_mask", "segment_mask", "window_mask")
    ]
    page = visit(MIXING)
    found = headings(page)
    assert ("Theorem 1 Attention holds out longer than the average", "3") in found
    assert [name for name, level in found if name.startswith("Exercise ") and level == "3"] == [
        f"Exercise {number}" for number in range(7, 12)
    ]
    index = Counter(level for _, level in headings(visit(SITE / "reference/theorems.html")))
    assert index["3"] > 50


def test_a_heading_is_its_words_and_the_link_beside_it_says_where_it_leads(visit):
    assert ("The rule", "2") in headings(visit(LESSON))
    for path in html_files(SITE):
        page = parsed(path)
        of_headings = "//*[self::h1 or self::h2 or self::h3 or @role='heading']"
        assert page.xpath(f"{of_headings}//a[@class='headerlink']") == [], path
        names = [link.get("title") for link in page.find_class("headerlink")]
        assert all(re.match(r"Link to: \S", name) for name in names), path
        if path in (LESSON, MIXING):
            assert max(Counter(names).values()) == 1
            assert {"Link to: The rule", "Link to: Exercises"} <= {*names}


def test_matrices_are_grids_where_they_answer_to_keys(visit):
    for path, kind in ((SITE / "SA037/index.html", ".whole table"), (LESSON, ".arrays table")):
        page = visit(path)
        tree = page.locator(kind).first.aria_snapshot()
        assert tree.startswith(("- grid", "- 'grid"))
        assert re.search("- '?gridcell", tree)
        hint = page.locator(".hint, .answers .scripted").first
        assert "arrow keys" in hint.inner_text()
        plain = visit(path, java_script_enabled=False).locator(kind).first.aria_snapshot()
        assert "grid" not in plain
        assert plain.startswith(("- table", "- 'table"))


def test_of_a_traced_number_one_sentence_is_spoken(visit):
    page = visit(SITE / "SA036/index.html")
    page.locator("table[data-array=weights_money] td.entry").first.focus()
    page.keyboard.press("ArrowRight")
    spoken = page.locator("[role=status]", has_text="weights_money[0, 0]")
    spoken.wait_for(state="attached")
    said, panel = spoken.text_content(), page.locator(".trace")
    assert said.startswith("weights_money[0, 0] = 0.")
    assert panel.locator(".made").last.inner_text() in said
    assert panel.locator(".made").first.inner_text() not in said
    assert "Used next" in panel.inner_text()
    assert "Used next" not in said
    assert panel.evaluate("one => one.closest('[role=status], [aria-live]')") is None
    page.keyboard.press("Enter")
    every = page.locator("[role=status]", has_text="Used next").text_content()
    assert "e to the power " in every
    every = every.replace(" to the power ", "")
    lines = [one.text_content() for one in panel.locator(".made, .uses").all()]
    assert len(lines) > 2
    assert all(line in every for line in lines)


def test_a_traced_number_has_the_focus_and_its_array_is_called_as_it_is_written(visit):
    page = visit(MIXING)
    table = page.locator("table[data-array=powers_river]").first
    assert '- grid "powers"' in table.aria_snapshot().splitlines()[0]
    table.locator("td").first.focus()  # a screen reader leaves the arrow keys to a cell
    page.keyboard.press("ArrowRight")
    page.locator(".trace").wait_for()
    page.keyboard.press("ArrowRight")
    page.locator("[role=status]", has_text="powers_river[1] = 7.3891").wait_for(state="attached")
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    focused = [
        (one["role"]["value"], one["name"]["value"])
        for one in tree
        if {"name": "focused", "value": {"type": "booleanOrUndefined", "value": True}}
        in one.get("properties", ())
    ]
    assert ("gridcell", "7.3891") in focused


def test_a_power_is_spoken_and_not_copied(visit):
    page = visit(SITE / "SA037/index.html", "#sheet?at=weights.1.0")
    said = page.locator(".said").first
    heard = re.sub(r"\n *- (text|superscript): |\"", " ", said.aria_snapshot())
    assert "listens to money: e to the power 4/√2 ÷ (e to the power 4/√2" in " ".join(heard.split())
    said.evaluate("one => getSelection().selectAllChildren(one)")
    copied = page.evaluate("String(getSelection())")
    assert re.sub(r"\s", "", copied).startswith("Howcloselybanklistenstomoney:e4/√2÷(e4/√2")
    assert said.bounding_box()["width"] >= said.evaluate("one => one.scrollWidth") - 1
    poster = visit(SITE / "reference/handouts/poster.html")
    assert "power" not in poster.locator(".formula").aria_snapshot()  # of a transposed matrix


def test_who_hears_the_front_page_is_asked_before_it_answers(visit):
    page = visit(FRONT)
    picture = page.locator("[data-live=which_word] .picture > .unseen")
    asked = picture.inner_text()
    assert "which word told you" in asked
    assert not re.search(r"0\.\d", asked)
    page.get_by_role("button", name="river", exact=True).click()
    shares = page.locator("svg:visible [data-part^=share-]").all_text_contents()
    assert len(shares) == 5
    assert f"with {', '.join(shares)}, and hears" in picture.inner_text()
    assert "plain average is (0.20, 0.60)" in picture.inner_text()  # of (1, 1) and (0, 2), by 5


def test_what_repeats_a_dial_is_not_spoken():
    found = [one for path in html_files(SITE) for one in parsed(path).iter("output")]
    assert len(found) > 5
    assert {one.get("aria-live") for one in found} == {"off"}


def test_a_number_of_a_sheet_and_its_field_have_the_names_of_the_axes(visit):
    page = visit(SITE / "SA027/index.html")
    x = page.locator("td[data-array=x][data-at='0,1']").first
    assert x.evaluate(LABEL).startswith("token 0, feature 1: ")
    scores = page.locator("td[data-array=scores][data-at='0,1']").first
    assert scores.evaluate(LABEL).startswith("score of token 0 for token 1: ")
    page = visit(LESSON, "#fig-queries-keys-values-sheet?at=x.1.0")
    assert page.locator(".steps input").evaluate(LABEL) == "raised, money"


def test_a_theorem_of_another_page_is_shown_beside_a_link_to_it(visit):
    page = visit(LESSON)
    link = page.locator("main a[href='mixing-words.html#thm-convex-hull']").first
    page.keyboard.press("Tab")
    link.focus()
    card = page.locator(".preview")
    card.wait_for()
    own = visit(MIXING).locator("#thm-convex-hull")
    text = own.locator("> p:not(.head)").last.text_content()
    page = visit(LESSON)
    page.keyboard.press("Tab")
    page.locator("main a[href='mixing-words.html#thm-convex-hull']").first.focus()
    assert text in page.locator(".preview").text_content()
    page.keyboard.press("Escape")
    page.locator(".preview").wait_for(state="hidden")
    assert page.evaluate("document.activeElement.hash") == "#thm-convex-hull"


def test_what_a_page_keeps_of_others_weighs_at_most_3_kilobytes():
    kept = {}
    for path in html_files(SITE):
        whole = path.read_text("utf-8")
        if without := KEPT.sub("", whole) if "data-preview" in whole else "":
            kept[path] = len(gzip.compress(whole.encode())) - len(gzip.compress(without.encode()))
    assert len(kept) > 10
    assert max(kept.values()) <= 3_000


@pytest.mark.parametrize("scripted", [True, False])
def test_the_parts_of_a_formula_are_one(visit, scripted):
    page = visit(LESSON, java_script_enabled=scripted)
    parts = page.locator("#equation-eq-projections").aria_snapshot().splitlines()
    assert parts[0] == '- group "Formula":'
    assert sum("- math" in line for line in parts) == 6


def test_links_say_what_they_lead_to(visit):
    page = visit(LESSON)
    described = page.locator("a[aria-describedby]").first.get_attribute("aria-describedby")
    heard = page.evaluate(
        "(ids) => ids.map((id) => document.getElementById(id).textContent)", described.split()
    )
    assert len(heard) == 2
    assert heard[0].startswith("SA")
    assert "Given" not in "".join(heard)
    named = visit(SITE / "concepts/similarity.html").locator("a[href='#equation-eq-dot-product']")
    assert "equation (2)" in [one.get_attribute("aria-label") for one in named.all()]
    tested = visit(MIXING).locator(".statement .tested > a").first.text_content()
    assert re.fullmatch(r"tested (Theorem|Proposition|Lemma|Corollary) \d+", tested)
