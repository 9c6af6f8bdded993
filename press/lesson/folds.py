"""What a first reading may skip is folded by `details`, which needs no script."""

from collections.abc import Callable
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

Visitors = tuple[Callable[..., Any], Callable[..., Any] | None]


class aside(nodes.General, nodes.Element):  # type: ignore[misc]
    """An admonition of the class "dropdown"."""


def is_folded(node: nodes.Node) -> bool:
    """Tell whether a node is an admonition that is to become an aside."""
    return isinstance(node, nodes.admonition) and "dropdown" in node["classes"]


def fold_asides(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Take the admonitions of the class "dropdown" for asides."""
    for admonition in list(doctree.findall(is_folded)):
        admonition.replace_self(aside("", *admonition.children))


def html(text: str) -> Callable[[HTML5Translator, nodes.Element], None]:
    """Return a visitor that writes this and nothing of the node."""
    return lambda self, node: self.body.append(text)


def write_title(self: HTML5Translator, title: nodes.Element) -> None:
    """Write what a title holds."""
    for child in title.children:
        child.walkabout(self)


def visit_aside(self: HTML5Translator, node: aside) -> None:
    """Open an aside, folded under its title."""
    self.body.append('<details class="aside"><summary>')
    write_title(self, node.pop(0))
    self.body.append("</summary>\n")


visit_hidden = html('<details class="folded"><summary>Show the code</summary>\n')
