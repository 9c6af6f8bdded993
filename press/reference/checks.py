"""What is checked, and how much of it: counted when the book is built."""

import ast
import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from press import seams
from press.example.data import documents, flat
from press.seams import STATEMENTS
from selfattn_ref.worked_examples import slips

RECORD = Path("tests", "record.json")  # the cases of `make test` by folder


class checks(nodes.General, nodes.Element):  # type: ignore[misc]
    """The place of the list; all pages have to be read before the statements can be counted."""


class Checks(SphinxDirective):
    """``{checks}``: how much is checked, and by which command."""

    def run(self) -> list[nodes.Node]:
        """Keep the place."""
        return [checks()]


class FillChecks(SphinxPostTransform):
    """Fill in the list."""

    default_priority = 4

    def run(self, **kwargs: Any) -> None:
        """Visit the place of the list."""
        for place in list(self.document.findall(checks)):
            listed = nodes.bullet_list()
            for much, what, command in counted(Path(self.app.srcdir), self.statements()):
                text = [
                    nodes.strong("", much),
                    nodes.Text(f" {what}: "),
                    nodes.literal("", command),
                ]
                listed += nodes.list_item("", nodes.paragraph("", "", *text))
            place.replace_self(listed)

    def statements(self) -> int:
        """Return the number of statements of the book."""
        pages = set(seams.statements(self.env).values())
        return sum(
            isinstance(node, STATEMENTS)
            for page in pages
            for node in self.env.get_doctree(page).findall(nodes.Element)
        )


def counted(root: Path, statements: int) -> list[tuple[str, str, str]]:
    """Return how much there is, what happens to it, and the command."""
    from tests.mutation.__main__ import SLIPS, read_slips
    from tests.peers.differences import TABLE

    cases: dict[str, int] = json.loads((root / RECORD).read_text("utf-8"))
    found = documents(root)
    numbers = sum(
        len(list(flat(e["value"]))) for d in found.values() for e in d["expected"].values()
    )
    calls = sum(len(data["calls"]) for data in found.values())
    classes = sum(
        isinstance(node, ast.ClassDef)
        for path in (root / "tests" / "theorems").glob("test_*.py")
        for node in ast.parse(path.read_text("utf-8")).body
    )
    cells = sum(
        len(answer) if isinstance(answer, dict) else 1
        for library in TABLE.values()
        for answer in library.values()
    )
    site = (root / "press" / "measure").glob("*.py")
    budgets = sum(len(re.findall(r"^@budget\(", p.read_text("utf-8"), re.M)) for p in site)
    mutants = len(read_slips(SLIPS.read_text("utf-8")))
    return [
        (f"{numbers:,} expected values", "are derived again without the library", "make examples"),
        (
            f"{cases['examples']:,} tests",
            f"hold {len(found)} worked examples and {calls} calls to what they promise",
            "make test",
        ),
        (
            f"{cases['library'] + cases['contracts']:,} tests",
            "compare the functions with loops, with 50 digits, and with their properties",
            "make test-deep",
        ),
        (
            f"{statements} statements",
            f"are tried on numbers by {classes} classes of tests",
            "make test",
        ),
        (f"{cases['pages']:,} tests", "read the pages: form, cells, numbers, links", "make test"),
        (
            f"{len(slips.SLIPS)} wrong attentions",
            "run with every worked example and have to be caught",
            "make book",
        ),
        (
            f"{mutants} errors",
            "are put into the library, one at a time, and have to be noticed",
            "make mutants",
        ),
        (
            f"{cells} answers",
            f"of {len(TABLE) - 1} interfaces of other libraries are asked for again",
            "make test-peers",
        ),
        (f"{budgets} budgets", "are measured on each page, in a browser", "make check-site"),
    ]


def register(app: Sphinx) -> None:
    """Register what Sphinx has to know of it."""
    app.add_node(checks)
    app.add_directive("checks", Checks)
    app.add_post_transform(FillChecks)
