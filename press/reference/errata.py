"""What stood in the book and was wrong, from book/reference/errata.yml."""

from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from press.site.markup import to_page
from press.site.sources import THEOREMS, modules

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
            about = nodes.paragraph(
                "",
                f"Found by {entry['found']}, in a draft of {entry['edition']}. Kept so by ",
                self.test(entry["test"]),
                nodes.Text("."),
                classes=["uses"],
            )
            listed += nodes.definition_list_item(
                "",
                nodes.term("", "", to_page(entry["page"])),
                nodes.definition(
                    "",
                    nodes.paragraph(
                        "", "", nodes.emphasis("", "It said: "), nodes.Text(entry["old"])
                    ),
                    nodes.paragraph(
                        "", "", nodes.emphasis("", "What holds: "), nodes.Text(entry["new"])
                    ),
                    about,
                ),
            )
        return [listed]

    def test(self, name: str) -> nodes.Node:
        """Return a link to a test that the site shows, or the name of another."""
        path, _, test = name.partition("::")
        page = path.removesuffix(".py")
        if page not in modules(Path(self.env.srcdir), THEOREMS):
            return nodes.literal("", name)
        address = self.env.app.builder.get_relative_uri(self.env.docname, page)
        return nodes.raw("", f'<a href="{address}#{test}"><code>{test}</code></a>', format="html")


def register(app: Sphinx) -> None:
    """Register what Sphinx has to know of it."""
    app.add_directive("errata", Errata)
