"""Tables: the names of roles have their colors in the head, and a wide table scrolls in a box."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

ROLES = {
    **{name: name for name in ("query", "key", "value", "score", "weight", "context")},
    "querie": "query",
    "share": "weight",
}


def color_heads(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Give the names of roles in the heads of tables their colors."""
    for head in doctree.findall(nodes.thead):
        for paragraph in head.findall(nodes.paragraph):
            role = ROLES.get(paragraph.astext().lower().rstrip("s"))
            paragraph["classes"] += [role] if role else []


def visit_table(self: HTML5Translator, node: nodes.table) -> None:
    """Open a box in which a wide table scrolls."""
    self.body.append('<div class="table">')
    HTML5Translator.visit_table(self, node)


def depart_table(self: HTML5Translator, node: nodes.table) -> None:
    """Close it."""
    HTML5Translator.depart_table(self, node)
    self.body.append("</div>\n")
