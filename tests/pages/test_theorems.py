"""Every theorem of the book has a proof and names its test, and every such test a theorem."""

import ast
import re
from functools import cache

import pytest

from tests.pages.sources import ROOT, pages, relative

STATED = re.compile(r"\{prf:(theorem|lemma|corollary|proposition)\}.*\n:label: (thm-[a-z-]+)")
CHECKED_BY = re.compile(r"Checked by `(tests/theorems/test_\w+\.py)::(\w+)`")


def statements():
    """Return page, label and the text up to the next statement, for every theorem."""
    found = []
    for page in pages():
        text = page.read_text("utf-8")
        for match in STATED.finditer(text):
            following = STATED.search(text, match.end())
            end = following.start() if following else len(text)
            found.append((page, match[2], text[match.end() : end]))
    return found


@cache
def checks():
    """Return the docstring of every class of the theorem tests, by file and name."""
    found = {}
    for path in sorted((ROOT / "tests" / "theorems").glob("test_*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                name = path.relative_to(ROOT).as_posix()
                found[name, node.name] = ast.get_docstring(node) or ""
    return found


STATEMENTS = statements()
EVERY_STATEMENT = pytest.mark.parametrize(
    "page, label, text", STATEMENTS, ids=[label for _, label, _ in STATEMENTS]
)


class TestTheorems:
    def test_labels_are_distinct(self):
        labels = [label for _, label, _ in STATEMENTS]
        assert len(set(labels)) == len(labels) > 0

    @EVERY_STATEMENT
    def test_a_theorem_has_a_proof(self, page, label, text):
        assert "{prf:proof}" in text, f"{relative(page)}: {label} has no proof"

    @EVERY_STATEMENT
    def test_a_theorem_names_a_test_that_names_it(self, page, label, text):
        named = CHECKED_BY.search(text)
        assert named, f"{relative(page)}: {label} names no test"
        assert checks().get((named[1], named[2]), "").startswith(f"{label}:")

    @pytest.mark.parametrize("place", checks(), ids=lambda place: place[1])
    def test_a_test_names_a_theorem_of_the_book(self, place):
        assert checks()[place].split(":")[0] in {label for _, label, _ in STATEMENTS}
