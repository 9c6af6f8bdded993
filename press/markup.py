"""Nodes that several parts write, where a node stands, and what the HTML of a cell records."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from docutils import nodes
from lxml import html
from sphinx import addnodes

# numpydoc makes the numbers of references unique in the book; a reader needs them in one docstring.
DOCSTRING_REFERENCE = re.compile(r"R[0-9a-f]{12}-(\d+)")


def raw(text: str) -> nodes.raw:
    """Return HTML as a node."""
    return nodes.raw("", text, format="html")


def agreement(shown: str) -> dict[str, Any] | None:
    """Return the facts of a check from the HTML that `Agreement` shows; of any other, nothing."""
    if "data-facts" not in shown:
        return None
    found: dict[str, Any] = json.loads(html.fromstring(shown).xpath("string(//@data-facts)"))
    return found


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


def section(name: str, title: str | list[nodes.Node], *children: nodes.Node) -> nodes.section:
    """Return a section with an anchor of its own choice."""
    content = [nodes.Text(title)] if isinstance(title, str) else title
    return nodes.section("", nodes.title("", "", *content), *children, ids=[name], names=[])


def defined(term: nodes.Node, *said: nodes.Node) -> nodes.definition_list_item:
    """Return an item of a list of definitions."""
    return nodes.definition_list_item("", nodes.term("", "", term), nodes.definition("", *said))


def row(*entries: str | Iterable[nodes.Node | str]) -> nodes.row:
    """Return a row of a table."""
    contents = ([entry] if isinstance(entry, str) else entry for entry in entries)
    return nodes.row("", *(nodes.entry("", paragraph(*content)) for content in contents))


def table(titles: Sequence[str], rows: Sequence[nodes.row], **more: list[str]) -> nodes.table:
    """Return a table of rows; its columns may have no titles."""
    group = nodes.tgroup(cols=len(rows[0].children))
    group += [nodes.colspec(colwidth=1) for _ in rows[0].children]
    group += [nodes.thead("", row(*titles))] if titles else []
    group += nodes.tbody("", *rows)
    return nodes.table("", group, **more)


def ancestors(node: nodes.Node) -> Iterator[nodes.Element]:
    """Yield the elements that a node stands in, the nearest first."""
    while node.parent is not None:
        node = node.parent
        yield node


def within(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
    """Tell whether a node stands inside an element of one of these kinds."""
    return any(isinstance(one, kinds) for one in ancestors(node))
