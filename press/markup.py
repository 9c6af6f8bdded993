"""Nodes that several parts write, and where a node stands."""

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx import addnodes

# numpydoc makes the numbers of references unique in the book; a reader needs them in one docstring.
DOCSTRING_REFERENCE = re.compile(r"R[0-9a-f]{12}-(\d+)")


def raw(text: str) -> nodes.raw:
    """Return HTML as a node."""
    return nodes.raw("", text, format="html")


def paragraph(*content: nodes.Node | str, classes: tuple[str, ...] = ()) -> nodes.paragraph:
    """Return a paragraph of nodes and strings."""
    inline = [nodes.Text(one) if isinstance(one, str) else one for one in content]
    return nodes.paragraph("", "", *inline, classes=list(classes))


def to_page(name: str, *text: nodes.Node) -> addnodes.pending_xref:
    """Return a link to a page of the book, with the title of the page if no text is given."""
    content = text or (nodes.inline(name, name),)
    return reference("std", "doc", f"/book/{name}", *content, refexplicit=bool(text))


def to_statement(label: str) -> addnodes.pending_xref:
    """Return a link to a statement, with its title."""
    return reference("prf", "ref", label, nodes.inline("", label), refexplicit=False)


def reference(
    domain: str, kind: str, target: str, *content: nodes.Node, refexplicit: bool
) -> addnodes.pending_xref:
    """Return a reference that Sphinx resolves; a wrong target is a warning."""
    names = {"refdomain": domain, "reftype": kind, "reftarget": target}
    return addnodes.pending_xref("", *content, **names, refexplicit=refexplicit, refwarn=True)


def section(name: str, *children: nodes.Node, title: list[nodes.Node]) -> nodes.section:
    """Return a section with an anchor of its own choice."""
    return nodes.section("", nodes.title("", "", *title), *children, ids=[name], names=[])


def ancestors(node: nodes.Node) -> Iterator[nodes.Element]:
    """Yield the elements that a node stands in, the nearest first."""
    while node.parent is not None:
        node = node.parent
        yield node


def within(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
    """Tell whether a node stands inside an element of one of these kinds."""
    return any(isinstance(one, kinds) for one in ancestors(node))
