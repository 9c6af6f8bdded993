"""What a page says of itself to programs is what it says to readers, and what the files are."""

import json
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document

from press.lesson.opening import promise_of
from press.site import linked_data
from press.site.citation import Work

WORK = Work("The book", "1.2.3", "2026-11-20", at="x.html", title="A </script> & more")
DATA = {"why": "It shows.", "topics": ["masking", "softmax"]}


def described(work, base="", **document):
    """Return the links and the data of a page."""
    page = new_document("page", get_default_settings())
    page.attributes.update(promise="add.", **document)
    context = {
        "work": work,
        "level": "1–2",
        "promise": "A book.",
        "example_data": DATA,
        "pathto": lambda to, resource=0: f"../{to}",
    }
    app = SimpleNamespace(config=SimpleNamespace(master_doc="book/index"))
    linked_data.describe(app, "book/index" if not work.title else "page", "", context, page)
    return context["typed_links"], json.loads(context["linked_data"] or "null")


class TestLesson:
    def test_nothing_is_said_that_is_not_known(self):
        links, data = described(Work("The book", "1.2.3", "2026", title="T"), minutes=5)
        assert not {"datePublished", "url", "@id", "creativeWorkStatus"} & set(data)
        assert "cite-as" not in [link["rel"] for link in links]

    def test_a_version_that_can_still_change_says_so(self):
        work = Work("The book", "1.2.3", "2026", is_released=False, title="T")
        assert described(work, minutes=5)[1]["creativeWorkStatus"] == "not yet released"

    def test_no_text_ends_the_script(self):
        assert "<" not in linked_data.script({"name": "</script><!-- <b>"})
        assert json.loads(linked_data.script({"name": "</script>"})) == {"name": "</script>"}


class TestPromise:
    @pytest.mark.parametrize(
        "opening, promise",
        [
            ("You will add.\nYou need numbers.", "add."),
            ("First, a word.\nYou will add\nand take away.", "add and take away."),
            ("You need numbers.", ""),
        ],
    )
    def test_it_ends_where_the_needs_begin(self, opening, promise):
        page = new_document("page", get_default_settings())
        page += nodes.section("", nodes.title("", "T"), nodes.paragraph("", opening))
        assert promise_of(page) == promise


class TestOthers:
    def test_the_front_page_is_the_book(self):
        _, data = described(Work("The book", "1.2.3", "2026"))
        assert (data["@type"], data["name"]) == ("Book", "The book")
        assert data["description"] == "A book."
        assert "isPartOf" not in data

    def test_a_page_that_teaches_nothing_says_nothing(self):
        assert described(WORK) == ([], None)
