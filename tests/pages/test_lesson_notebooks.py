"""What the notebook of a lesson makes of formulas, links and text."""

import re
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import pytest
from docutils import nodes

from press.lesson.notebook import Writer, tex
from press.lesson.picture import picture
from tests.pages.sources import lessons, prose, relative


def writer(base=""):
    builder = SimpleNamespace(get_target_uri=lambda page: "causal/masking.html")
    config = SimpleNamespace(html_baseurl=base)
    return Writer(SimpleNamespace(builder=builder, config=config), "book/causal/masking", None)


@pytest.mark.parametrize(
    "formula, plain",
    [
        (r"\softmax(\query{Q}\key{K}^\top)", r"\operatorname{softmax}({Q}{K}^\top)"),
        (r"\Var X \in \R^d, \Rightarrow", r"\operatorname{Var} X \in \mathbb{R}^d, \Rightarrow"),
    ],
)
def test_formulas_need_no_macros(formula, plain):
    assert tex(formula) == plain


@pytest.mark.parametrize(
    "to, base, found",
    [
        ("../concepts/x.html#a", "", ""),
        ("../concepts/x.html#a", "https://book.test/", "https://book.test/concepts/x.html#a"),
        ("#eq-one", "https://book.test", "https://book.test/causal/masking.html#eq-one"),
        ("https://else.test/y", "", "https://else.test/y"),
    ],
)
def test_a_link_leads_somewhere_from_any_place_or_is_its_text(to, base, found):
    link = nodes.reference("", "a link", refuri=to)
    assert writer(base).address(link) == found
    assert writer(base).inline(link) == (f"[a link]({found})" if found else "a link")


def test_text_means_itself():
    assert writer().inline(nodes.Text("a * b_c <d> [e] $f")) == r"a \* b\_c \<d> \[e\] \$f"


def test_a_list_keeps_what_belongs_to_an_item():
    items = [nodes.paragraph("", "One"), nodes.math_block("", "x", ids=[], nowrap=True)]
    found = nodes.bullet_list("", nodes.list_item("", *items))
    sheet = writer()
    sheet.number = lambda node: ""
    assert "\n".join(sheet.lines(found)).strip() == "- One\n\n  $$\n  x\n  $$"


def test_the_answers_of_a_question_have_the_letters_of_the_page():
    items = [nodes.list_item("", nodes.paragraph("", answer)) for answer in ("0.06", "0.33")]
    answers = nodes.enumerated_list("", *items)
    nodes.admonition("", answers, classes=["room"])
    assert "\n".join(writer().lines(answers)).split() == ["-", "A.", "0.06", "-", "B.", "0.33"]


@pytest.mark.parametrize("page", lessons(), ids=relative)
def test_what_is_folded_on_the_page_is_called_a_part_as_in_the_notebook(page):
    assert not re.search(r"\b[Ff]olds?\b", prose(page.read_text("utf-8")))


def test_a_picture_names_its_own_colors_and_whose_it_is():
    about = ("Fig. 1. a < b", "What is seen.", "Authors (2026). A book.")
    drawing = '<svg class="figure-wide" viewBox="0 0 9 9"><path class="query"/></svg>'
    drawn = picture(drawing, *about)
    tree = ET.fromstring(drawn)
    assert tree.get("viewBox") == "-28 -8 57 25"
    assert ".query { color: #" in drawn
    assert "var(" not in drawn
    assert not re.search(r"[>}]\s*\{", drawn)  # rules have selectors, or some programs refuse it
    texts = {one.tag.rpartition("}")[2]: one.text for one in tree.iter()}
    assert (texts["title"], texts["desc"], texts["source"]) == about
    (license,) = tree.iter("{http://creativecommons.org/ns#}license")
    assert [*license.attrib.values()] == ["https://creativecommons.org/licenses/by/4.0/"]
