"""What stood in the book and was wrong, from book/reference/errata.yml."""

from collections.abc import Mapping
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from press.markup import defined, paragraph, to_page
from press.reference.theorem_index import with_formulas
from press.site.sources import to_test

ERRATA = Path("book", "reference", "errata.yml")


def entries(root: Path) -> list[dict[str, str]]:
    """Return the errata, newest first."""
    found: list[dict[str, str]] = yaml.safe_load((root / ERRATA).read_text("utf-8"))
    return found


class Errata(SphinxDirective):
    """``{errata}``: what stood there, what stands there now, and what keeps it so."""

    def run(self) -> list[nodes.Node]:
        """List all of them."""
        self.env.note_dependency(str(Path(self.env.srcdir, ERRATA)))
        listed = nodes.definition_list(classes=["errata"])
        for entry in entries(Path(self.env.srcdir)):
            found = f"Found by {entry['found']}, in a draft of {entry['edition']}. Guarded by "
            keeps: nodes.Node = nodes.Text("an assertion of its page")
            if "test" in entry:
                keeps = to_test(self.env.app, self.env.docname, entry["test"])
            listed += defined(
                to_page(entry["page"]),
                paragraph(nodes.emphasis("", "In short, it said: "), entry["old"]),
                paragraph(nodes.emphasis("", "What holds: "), entry["new"]),
                paragraph(found, keeps, *with_formulas(refuted(entry)), classes=("uses",)),
            )
        return [listed]


def refuted(entry: Mapping[str, str]) -> str:
    """Return which case of a test shows that it was wrong."""
    for name in ("without", "refutes"):
        if name in entry:
            return f" ({name}: {entry[name]})."
    return "."
