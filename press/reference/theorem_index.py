"""List every statement of the book: what it says, its proof, its test, and what rests on it."""

from collections.abc import Iterator, Mapping
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective
from sphinx_proof.nodes import proof_node

from press import seams
from press.lesson.blocks import called
from press.seams import STATEMENTS
from press.site.markup import to_page, within
from press.site.sources import CHECKED_BY


class theorem_index(nodes.General, nodes.Element):  # type: ignore[misc]
    """The place of the list; all pages have to be read before it can be made."""


class TheoremIndex(SphinxDirective):
    """``{theorem-index}``: every statement of the book."""

    def run(self) -> list[nodes.Node]:
        """Keep the place."""
        return [theorem_index()]


def what_it_says(content: nodes.Element) -> list[nodes.Node]:
    """Return a copy of a statement, without the anchors and numbers that its page has."""
    copy = content.deepcopy()
    for node in copy.findall(nodes.Element):
        node["ids"], node["names"] = [], []
    for formula in copy.findall(nodes.math_block):
        formula.attributes.update(label=None, number=None)
    return list(copy.children)


class FillTheoremIndex(SphinxPostTransform):
    """Fill in the list, before the references in it are resolved."""

    default_priority = 4

    def run(self, **kwargs: Any) -> None:
        """Visit the place of the list."""
        for place in list(self.document.findall(theorem_index)):
            place.replace_self(list(self.pages()))

    def pages(self) -> Iterator[nodes.Node]:
        """Yield a heading for every page that states something, and what it states."""
        stated = set(seams.statements(self.env).values())
        doctrees = {page: self.env.get_doctree(page) for page in sorted(self.env.found_docs)}
        self.rests_on, self.named_on = uses(doctrees)
        for page in reading_order(seams.site_map(self.env)):
            if page not in stated:
                continue
            title = to_page(page.removeprefix("book/"))
            title["refdoc"] = self.env.docname
            name = page.removeprefix("book/").replace("/", "-")
            section = nodes.section("", nodes.title("", "", title), ids=[name], names=[])
            doctree = doctrees[page]
            section += [
                self.entry(page, statement, doctree)
                for statement in doctree.findall(lambda n: isinstance(n, STATEMENTS))
            ]
            yield section

    def entry(self, page: str, statement: nodes.Element, doctree: nodes.document) -> nodes.Node:
        """Return the entry of a statement."""
        label = statement["label"]
        kind = called(self.env, page, statement)
        uri = self.app.builder.get_relative_uri(self.env.docname, page)
        head = nodes.paragraph("", "", classes=["head"])
        head += nodes.inline("", kind, classes=["kind"])
        head += nodes.reference(
            "",
            "",
            *(child.deepcopy() for child in statement[0].children),
            refuri=f"{uri}#{label}",
            internal=True,
            classes=["title"],
        )
        checked = {"proof": f"{uri}#{label}-proof", "test": self.test(statement, doctree)}
        links = [nodes.reference("", t, refuri=to, internal=True) for t, to in checked.items()]
        head += nodes.inline("", "", *links, classes=["tested"])
        entry = nodes.container("", head, *what_it_says(statement[1]), classes=["statement"])
        if found := list(self.around(label, page)):
            entry += nodes.paragraph("", "", *found, classes=["uses"])
        for reference in entry.findall(addnodes.pending_xref):
            reference["refdoc"] = self.env.docname
        return entry

    def around(self, label: str, page: str) -> Iterator[nodes.Node]:
        """Yield, as text with links, what a statement uses and what uses it."""
        used_by = [one for one, uses in self.rests_on.items() if label in uses]
        pages = [
            name
            for name in reading_order(seams.site_map(self.env))
            if label in self.named_on.get(name, ()) and name not in (page, self.env.docname)
        ]
        for words, targets, make in (
            ("Uses", sorted(self.rests_on.get(label, ())), to_statement),
            ("Used by", sorted(used_by), to_statement),
            ("Named in", pages, to_page),
        ):
            for place, target in enumerate(targets):
                yield nodes.Text(", " if place else f"{words} ")
                yield make(target.removeprefix("book/"))
            if targets:
                yield nodes.Text(". ")

    def test(self, statement: nodes.Element, doctree: nodes.document) -> str:
        """Return the address of the test that the page names after a statement."""
        after = False
        for node in doctree.findall():
            after = after or node is statement
            if after and isinstance(node, nodes.paragraph):
                found = CHECKED_BY.fullmatch(node.astext())
                if found:
                    uri = self.app.builder.get_relative_uri(self.env.docname, found[1])
                    return f"{uri}#{found[2]}"
        raise ValueError(f"{statement['label']} names no test")


def uses(doctrees: Mapping[str, nodes.document]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return which statements each statement refers to, its proof included, and those of a page."""
    rests_on: dict[str, set[str]] = {}
    named_on: dict[str, set[str]] = {}
    for page, doctree in doctrees.items():
        label = ""
        for node in doctree.findall():
            if isinstance(node, STATEMENTS):
                label = node["label"]
            elif isinstance(node, addnodes.pending_xref) and node["refdomain"] == "prf":
                target = node["reftarget"]
                named_on.setdefault(page, set()).add(target)
                if target != label and within(node, (*STATEMENTS, proof_node)):
                    rests_on.setdefault(label, set()).add(target)
    return rests_on, named_on


def to_statement(label: str) -> addnodes.pending_xref:
    """Return a link to a statement, with its title."""
    return addnodes.pending_xref(
        "",
        nodes.inline("", label),
        refdomain="prf",
        reftype="ref",
        reftarget=label,
        refexplicit=False,
        refwarn=True,
    )


def reading_order(site_map: Any, name: str = "") -> Iterator[str]:
    """Yield the pages of the table of contents in order."""
    for tree in (site_map[name] if name else site_map.root).subtrees:
        for item in tree.items:
            if str(item) in site_map:
                yield str(item)
                yield from reading_order(site_map, str(item))


def register(app: Sphinx) -> None:
    """Register what Sphinx has to know of it."""
    app.add_node(theorem_index)
    app.add_directive("theorem-index", TheoremIndex)
    app.add_post_transform(FillTheoremIndex)
