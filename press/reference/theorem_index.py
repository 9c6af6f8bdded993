"""List every statement of the book: what it says, its proof, its test, and what rests on it."""

import json
from collections.abc import Iterator, Mapping
from itertools import chain, dropwhile
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx_proof.nodes import proof_node

from press import seams
from press.lesson.statements import statement_name
from press.markup import paragraph, raw, section, to_page, to_statement, within
from press.reference.beside import Beside
from press.seams import STATEMENTS
from press.site.contents import parts
from press.site.placeholders import LateDirective
from press.site.sources import CHECKED_BY

SEARCHED = Beside("theorems", ("-m", "tests.theorems"), ("tests", "selfattn_ref"))


class TheoremIndex(LateDirective):
    """``{theorem-index}``: every statement of the book."""

    def run(self) -> list[nodes.Node]:
        """Begin to search, which takes seconds."""
        SEARCHED.start(Path(self.env.srcdir))
        return super().run()

    @staticmethod
    def content(app: Sphinx) -> Iterator[nodes.Node]:
        """Yield a heading for every page that states something, and what it states."""
        return Index(app).pages()


class Index:
    """The statements of the book, and what refers to them."""

    def __init__(self, app: Sphinx) -> None:
        self.app, self.env, self.here = app, app.env, app.env.docname
        self.order = [page for _, pages in parts(app.env) for page in pages]
        self.doctrees = {page: app.env.get_doctree(page) for page in sorted(app.env.found_docs)}
        self.rests_on, self.named_on = uses(self.doctrees)
        self.searched = json.loads(SEARCHED.text(Path(app.srcdir)))

    def pages(self) -> Iterator[nodes.Node]:
        """Yield a section for every page that states something."""
        stated = set(seams.statements(self.env).values())
        for page in (page for page in self.order if page in stated):
            name = page.removeprefix("book/")
            statements = self.doctrees[page].findall(lambda n: isinstance(n, STATEMENTS))
            entries = chain.from_iterable(self.entry(page, one) for one in statements)
            yield section(name.replace("/", "-"), [to_page(name)], *entries)

    def entry(self, page: str, statement: nodes.Element) -> list[nodes.Node]:
        """Return the entry of a statement, with how long it is: see page.css."""
        label = statement["label"]
        uri = f"{self.app.builder.get_relative_uri(self.here, page)}#{label}"
        title = [child.deepcopy() for child in statement[0].children]
        checked = {"proof": f"{uri}-proof", "test": self.test(page, statement)}
        links = [nodes.reference("", t, refuri=to, internal=True) for t, to in checked.items()]
        head = paragraph(
            raw('<span role="heading" aria-level="3">'),
            nodes.inline("", statement_name(self.env, page, statement), classes=["kind"]),
            nodes.reference("", "", *title, refuri=uri, internal=True, classes=["title"]),
            raw("</span>"),
            nodes.inline("", "", *links, classes=["tested"]),
            classes=("head",),
        )
        entry = [head, *what_it_says(statement[1])]
        if related := list(self.related(label, page)):
            entry.append(paragraph(*related, classes=("uses",)))
        if label not in self.searched:
            raise ExtensionError(f"{label}: no test of the form of tests/theorems/statement.py")
        for name, text in search_of(self.searched[label]):
            found = nodes.strong("", name), nodes.Text(" "), *with_formulas(text)
            entry.append(paragraph(*found, classes=("uses",)))
        letters = sum(len(node.astext()) for node in entry)
        opening = raw(f'<div class="statement" style="--letters: {letters}">')
        return [opening, *entry, raw("</div>")]

    def related(self, label: str, page: str) -> Iterator[nodes.Node]:
        """Yield, as text with links, what a statement uses and what uses it."""
        used_by = [one for one, uses in self.rests_on.items() if label in uses]
        pages = [
            name
            for name in self.order
            if label in self.named_on.get(name, ()) and name not in (page, self.here)
        ]
        for words, targets, make in (
            ("Uses", sorted(self.rests_on.get(label, ())), to_statement),
            ("Used by", sorted(used_by), to_statement),
            ("Mentioned in", pages, to_page),
        ):
            for place, target in enumerate(targets):
                yield nodes.Text(", " if place else f"{words} ")
                yield make(target.removeprefix("book/"))
            if targets:
                yield nodes.Text(". ")

    def test(self, page: str, statement: nodes.Element) -> str:
        """Return the address of the test that the page names after a statement."""
        following = dropwhile(lambda node: node is not statement, self.doctrees[page].findall())
        for node in following:
            found = isinstance(node, nodes.paragraph) and CHECKED_BY.fullmatch(node.astext())
            if found:
                return f"{self.app.builder.get_relative_uri(self.here, found[1])}#{found[2]}"
        raise ValueError(f"{statement['label']} names no test")


def search_of(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what the test of a statement found: a name and a text with formulas between dollars."""
    if needed := [name for name, reason in found["hypotheses"].items() if not reason]:
        yield "Needed", f"{'; '.join(needed)}."
    if reasons := [f"{name} ({why})" for name, why in found["hypotheses"].items() if why]:
        yield "Sufficient only", f"{'; '.join(reasons)}."
    if refuted := [f"{name} ({near})" for name, near in found["neighbors"].items()]:
        yield "Refuted", f"{'; '.join(refuted)}."
    hard = f", {found['hard']} of them chosen because they are hard" if found["hard"] else ""
    yield "Tried", f"{found['cases']:,} cases{hard}."
    if found["kind"] == "bound":
        near = f"within {100 * (1 - found['largest']):.2g}% of equality"
        yield "Bound", f"{near if found['largest'] < 1 - 1e-9 else 'reached'}."


def with_formulas(text: str) -> Iterator[nodes.Node]:
    """Yield a text, in which formulas stand between dollars."""
    for place, piece in enumerate(text.split("$")):
        yield nodes.math(piece, piece) if place % 2 else nodes.Text(piece)


def what_it_says(content: nodes.Element) -> list[nodes.Node]:
    """Return a copy of a statement, without the anchors and numbers that its page has."""
    copy = content.deepcopy()
    for node in copy.findall(nodes.Element):
        node["ids"], node["names"] = [], []
    for formula in copy.findall(nodes.math_block):
        formula.attributes.update(label=None, number=None)
    return list(copy.children)


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
