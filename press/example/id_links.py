"""Link every id in the running text to the page of its example."""

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from press.example.data import documents
from press.example.text import curled
from press.markup import raw, within
from press.site.addresses import EXAMPLE
from press.site.sources import DERIVATIONS, defined_in

ID = re.compile(r"\bSA\d{3}\b")


def link_ids(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Turn every id in the running text into a link to its page."""
    if EXAMPLE.fullmatch(page):
        top = next(doctree.findall(nodes.section))
        top.remove(top[0])  # the title, which the card has
    for inline in list(doctree.findall(lambda node: isinstance(node, nodes.inline))):
        if function := inline.get("derives"):
            source = defined_in(Path(app.srcdir), DERIVATIONS)[function]
            address = f"{app.builder.get_relative_uri(page, source)}#{function}"
            inline.replace_self(nodes.reference("", "", *inline.children, refuri=address))
    named: dict[str, None] = {}
    for text in list(doctree.findall(nodes.Text)):
        if ID.search(text) and not within(text, NOT_PROSE):
            linked = list(with_links(app, text, page))
            text.parent.replace(text, linked)
            named |= dict.fromkeys(n.astext() for n in linked if isinstance(n, nodes.reference))
    if named:
        found = documents(Path(app.srcdir))
        doctree += raw("".join(about(found[name]) for name in named))


def about(data: Mapping[str, Any]) -> str:
    """Return the card that stands beside a link to an example while one points at it."""
    name, title, why = (html.escape(curled(data[key])) for key in ("id", "title", "why"))
    takes, knows = (
        ", ".join(f"<code>{one}</code>" for one in data[group]) for group in ("inputs", "expected")
    )
    return (
        f'<div class="about" id="about-{name}" role="tooltip" popover="manual">'
        f"<p><b>{name}</b> {title}</p><p>{why}</p>"
        f"<p><small>Given: {takes}. Known: {knows}.</small></p></div>\n"
    )


NOT_PROSE = (
    nodes.FixedTextElement,
    nodes.Titular,
    nodes.literal,
    nodes.math,
    nodes.raw,
    nodes.reference,
    addnodes.desc_signature,
    addnodes.pending_xref,
)


def with_links(app: Sphinx, text: nodes.Text, page: str) -> Iterator[nodes.Node]:
    """Yield the parts of a text, its ids as links."""
    end = 0
    for match in ID.finditer(text):
        name = f"book/examples/{match[0]}"
        if name in app.env.found_docs and name != page:
            yield nodes.Text(text[end : match.start()])
            address = app.builder.get_relative_uri(page, name)
            title = app.env.titles[name].astext()
            yield nodes.reference(
                "", match[0], refuri=address, reftitle=title, internal=True, classes=["id-link"]
            )
            end = match.end()
    yield nodes.Text(text[end:])
