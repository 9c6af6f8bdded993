"""Nodes that several parts write."""

from docutils import nodes
from sphinx import addnodes


def raw(text: str) -> nodes.raw:
    """Return HTML as a node."""
    return nodes.raw("", text, format="html")


def to_page(name: str, *text: nodes.Node) -> addnodes.pending_xref:
    """Return a link to a page of the book, with the title of the page if no text is given."""
    content = text or (nodes.inline(name, name),)
    return addnodes.pending_xref(
        "",
        *content,
        refdomain="std",
        reftype="doc",
        reftarget=f"/book/{name}",
        refexplicit=bool(text),
        refwarn=True,
    )


def section(name: str, *children: nodes.Node, title: list[nodes.Node]) -> nodes.section:
    """Return a section with an anchor of its own choice."""
    return nodes.section("", nodes.title("", "", *title), *children, ids=[name], names=[])


def within(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
    """Tell whether a node stands inside an element of one of these kinds."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False
