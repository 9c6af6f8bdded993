"""The index of the theorems says of each what it states."""

import re
import sys

import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document
from myst_parser.config.main import MdParserConfig
from myst_parser.mdit_to_docutils.base import DocutilsRenderer
from myst_parser.parsers.mdit import create_md_parser

from tests.pages.sources import BOOK, ROOT
from tests.pages.test_theorems import STATEMENTS, checks

sys.path.insert(0, str(BOOK / "_ext"))
import source_pages
import theorems


def read(text: str) -> nodes.document:
    """Return a statement as Sphinx hands it on."""
    config = MdParserConfig(enable_extensions={"dollarmath"})
    parser = create_md_parser(config, DocutilsRenderer)
    document = new_document("statement", get_default_settings())
    parser.options["document"] = document
    parser.render(text)
    return document


def said(text: str) -> str:
    blocks = theorems.what_it_says(read(text))
    return " | ".join(block.astext().strip() for block in blocks)


class TestWhatItSays:
    @pytest.mark.parametrize(
        "statement, expected",
        [
            ("One is one. Two is two.", "One is one."),
            ("Let $x$ be 1. Then $x$ is odd. So is 3.", "x is odd."),
            ("Let it be.\n\nThen\n\n$$\na = b.\n$$", "a = b."),
            ("Let it be. Then at\n\n$$\na = b,\n$$\n\nit ends. More.", "At | a = b, | it ends."),
            ("Assume:\n\n- **A**: this.\n- **B**: that.\n\nThen it holds.", "It holds."),
            ("Let it be.\n\n1. It is so. And so.\n2. Else.", "It is so."),
            ("Let it be.", "Let it be."),
        ],
    )
    def test_it_is_the_first_sentence_that_is_no_hypothesis(
        self, statement: str, expected: str
    ) -> None:
        assert said(statement) == expected


class TestTests:
    def test_every_statement_links_to_a_class_that_its_page_names(self) -> None:
        pages = source_pages.defined_in(ROOT, source_pages.THEOREMS)
        for _, label, text in STATEMENTS:
            file, name = re.search(r"Checked by `(.*?)\.py::(\w+)`", text).groups()
            assert pages[name] == file, label

    def test_a_class_is_found_where_it_begins(self) -> None:
        for file, name in checks():
            text = (ROOT / file).read_text("utf-8")
            first, last = source_pages.places(text)[name]
            lines = text.splitlines()
            assert lines[first - 1].startswith(f"class {name}") or lines[first - 1].startswith("@")
            assert lines[last - 1].startswith("    ")
