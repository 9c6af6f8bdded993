"""Notes in the margin of a lesson: the terms and the sources that it names for the first time.

Where there is no margin, they fold into the text.
"""

import re
from collections.abc import Iterator

from docutils import nodes
from pybtex.richtext import Text
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from press import seams
from press.site.contents import is_lesson

GLOSSARY = "book/reference/glossary"
Note = tuple[str, list[nodes.Node]]  # a name, and what is said of it


class margin_notes(nodes.General, nodes.Element):  # type: ignore[misc]
    """The notes of a paragraph."""


class margin_note(nodes.General, nodes.TextElement):  # type: ignore[misc]
    """One of them: a definition or a source, with its name."""


def annotate(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put the terms and the sources that a lesson names for the first time into its margin."""
    if not is_lesson(page):
        return
    known = seams.memory(app.env)
    if "margin_notes" not in known:
        known["margin_notes"] = dict(definitions(app)) | dict(sources(app))
    notes: dict[str, Note] = dict(known["margin_notes"])
    for paragraph in list(doctree.findall(nodes.paragraph)):
        if not isinstance(paragraph.parent, nodes.section):
            continue
        found = []
        for reference in paragraph.findall(nodes.reference):
            name, content = notes.pop(reference.get("refuri", "").rpartition("#")[2], ("", []))
            if name:
                found.append(margin_note("", "", *(n.deepcopy() for n in content), name=name))
        if found:
            block = nodes.container(classes=["noted"])
            paragraph.parent.replace(paragraph, block)
            block += [margin_notes("", *found), paragraph]


def definitions(app: Sphinx) -> Iterator[tuple[str, Note]]:
    """Yield the anchor, the name and the first sentence of every entry of the glossary."""
    if GLOSSARY in app.env.found_docs:
        for item in app.env.get_doctree(GLOSSARY).findall(nodes.definition_list_item):
            sentence = list(first_sentence(next(item.findall(nodes.paragraph))))
            for term in item.findall(nodes.term):
                for anchor in term["ids"]:
                    yield anchor, (term.astext(), sentence)


def first_sentence(paragraph: nodes.paragraph) -> Iterator[nodes.Node]:
    """Yield the nodes of the first sentence; of links, the text."""
    for child in paragraph:
        if isinstance(child, nodes.Text):
            end = re.search(r"(?<=\.)\s", child)
            yield nodes.Text(child[: end.start()] if end else str(child))
            if end:
                return
        elif isinstance(child, nodes.math | nodes.emphasis):
            yield child
        else:
            yield nodes.Text(child.astext())


def sources(app: Sphinx) -> Iterator[tuple[str, Note]]:
    """Yield the anchor, the authors and the title of every source; the title is a link."""
    for citation in seams.citations(app.env):
        fields = citation.entry.fields
        authors = citation.entry.persons["author"]
        names = [" ".join(map(str, one.rich_last_names)) for one in authors]
        if len(names) > 2:
            names = [f"{names[0]} et al."]
        title = Text.from_latex(fields["title"]).render_as("text")
        uri = f"https://doi.org/{fields['doi']}" if "doi" in fields else ""
        if "eprint" in fields:
            uri = uri or f"https://arxiv.org/abs/{fields['eprint']}"
        text = nodes.reference("", title, refuri=uri) if uri else nodes.Text(title)
        year = fields.get("year", "n.d.")
        yield citation.citation_id, (f"{' and '.join(names)}, {year}", [text])


def visit_note(self: HTML5Translator, node: margin_note) -> None:
    """Open a note, under its name."""
    name = self.encode(node["name"])
    full = name.removesuffix(".") + "."
    self.body.append(f"<details><summary>{name}</summary><div><b>{full}</b> ")
