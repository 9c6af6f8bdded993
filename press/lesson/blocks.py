"""The blocks of a lesson: statements, proofs, exercises, cells with their checks, notes.

The directives are those of sphinx-proof, sphinx-exercise and MyST-NB. What they write is here:
one system of type, folded by `details`, which needs no script.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import IO, Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from pybtex.plugin import find_plugin, register_plugin
from pygments.formatters import HtmlFormatter
from pygments.token import STANDARD_TYPES, Text
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node, solution_node
from sphinx_proof.nodes import proof_node

from press import seams
from press.math.text import words
from press.seams import STATEMENTS
from press.site import frame
from press.site.sources import CHECKED_BY

logger = logging.getLogger(__name__)

AGREES = re.compile(r'class="checked">(SA\d{3}) checked: (.*?) agrees? \((.*?)\)<')
# numpydoc makes the numbers of references unique in the book; a reader needs them in one docstring.
DOCSTRING_REFERENCE = re.compile(r"R[0-9a-f]{12}-(\d+)")
GLOSSARY = "book/reference/glossary"
BIBLIOGRAPHY = "book/reference/bibliography"
# The kinds of tokens, by their short names, of which the style sheet says how they look.
SHEET = (frame.THEME / "page.css").read_text("utf-8")
COLORED = {*re.findall(r"\w+", " ".join(re.findall(r"^\.highlight :is\((.+?)\)", SHEET, re.M)))}
COMMENT = re.compile(r'(?<=<span class="c1">)[^<]*')
ROLES = {
    **{name: name for name in ("query", "key", "value", "score", "weight", "context")},
    "querie": "query",
    "share": "weight",
}
ROLE = re.compile(rf"\b({'|'.join(ROLES)})s?\b", re.I)
NOTED = re.compile(r"book/(concepts|causal|beyond|scaling|analogies)/")


class CodeFormatter(HtmlFormatter):  # type: ignore[misc]  # Pygments has no types
    """Marks what the style sheet colors in code and nothing else: one token in five."""

    def format(self, tokensource: Iterable[tuple[Any, str]], outfile: IO[str]) -> None:
        """Write the tokens."""
        kinds = (
            (kind if STANDARD_TYPES.get(kind) in COLORED else Text, text)
            for kind, text in tokensource
        )
        super().format(kinds, outfile)


class margin_notes(nodes.General, nodes.Element):  # type: ignore[misc]
    """Notes of the margin, which fold into the text where there is no margin."""


class margin_note(nodes.General, nodes.TextElement):  # type: ignore[misc]
    """One of them: a definition or a source, with its name."""


class aside(nodes.General, nodes.Element):  # type: ignore[misc]
    """An admonition of the class "dropdown"."""


def level(env: BuildEnvironment, page: str) -> str:
    """Return the level that the front matter of a page gives."""
    return str(env.metadata.get(page, {}).get("level", ""))


def minutes(doctree: nodes.document) -> int:
    """Return how long a first reading takes, in steps of five minutes.

    That is 200 words a minute, half a minute for each cell, formula on its own line, figure and
    table, and nothing for what may be skipped: proofs, exercises, folded text.
    """
    words, looks = 0, 0
    skipped = (aside, proof_node, exercise_node, exercise_enumerable_node, solution_node)

    def count(node: nodes.Node) -> None:
        nonlocal words, looks
        if isinstance(node, skipped):
            return
        if isinstance(node, nodes.literal_block | nodes.math_block | nodes.figure | nodes.table):
            looks += 1
        elif isinstance(node, nodes.Text):
            words += len(node.split())
        else:
            folds = 0  # that are open here: a fold with cells in it is written in HTML
            for child in node.children:
                if isinstance(child, nodes.raw):
                    folds += child.astext().count("<details") - child.astext().count("</details")
                elif not folds:
                    count(child)

    count(doctree)
    return max(5, 5 * round((words / 200 + looks / 2) / 5))


def arrange(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put what belongs together into one block."""
    if app.builder.format != "html":
        return
    for paragraph in list(doctree.findall(nodes.paragraph)):
        found = CHECKED_BY.fullmatch(paragraph.astext())
        if found:
            _tested(app, doctree, page, paragraph, found)
    for cell in list(doctree.findall(nodes.container)):
        if cell.get("nb_element") == "cell_code":
            _agreed(app, cell, page)
    for text in list(doctree.findall(nodes.Text)):
        found = DOCSTRING_REFERENCE.fullmatch(text.strip("[]"))
        if found:
            text.parent.replace(text, nodes.Text(text.replace(found[0], found[1])))
    for head in doctree.findall(nodes.thead):
        for name in head.findall(nodes.paragraph):
            name["classes"] += [
                ROLES[n] for n in (name.astext().lower().rstrip("s"),) if n in ROLES
            ]
    for source in doctree.findall(nodes.citation):
        listed = source[-1]
        if isinstance(listed, nodes.enumerated_list):  # "A. Vaswani" reads like the start of a list
            initial = chr(ord("A") + listed.get("start", 1) - 1)
            listed[0][0].insert(0, nodes.Text(f"{initial}. "))
            listed.replace_self(listed[0].children)
    page_cited = frame.work_of(app, page, words(app.env.titles[page]))
    for statement in doctree.findall(lambda n: isinstance(n, STATEMENTS)):
        label, kind = statement["label"], called(app.env, page, statement)
        statement["cited"] = replace(
            page_cited,
            at=f"{page_cited.at}#{label}",
            title=f"{kind} ({words(statement[0])})",
            page=page_cited.title,
        )
    name_folds(doctree)
    for folded in list(doctree.findall(nodes.admonition)):
        if "dropdown" in folded["classes"]:
            folded.replace_self(aside("", *folded.children))
    if NOTED.match(page):
        top = next(doctree.findall(nodes.section))
        if len(top) > 1 and isinstance(top[1], nodes.paragraph):
            doctree["minutes"] = minutes(doctree)
            _facts(top[1], level(app.env, page), doctree["minutes"])
            notebook = f"{page.rpartition('/')[2]}.ipynb"  # lesson_notebooks.py writes it
            link = nodes.raw("", f'<a href="{notebook}" download>notebook</a>', format="html")
            top[1] += [nodes.Text("\n"), nodes.strong("", "Run it"), nodes.Text(" as a "), link]
        annotate(app, doctree, page)


def called(env: BuildEnvironment, page: str, statement: nodes.Element) -> str:
    """Return the kind and the number of a statement, such as "Theorem 18"."""
    number = seams.number_of(env, page, statement["countertype"], statement["label"])
    return f"{statement['realtype'].title()} {number}".rstrip()


def name_folds(doctree: nodes.document) -> None:
    """Give proofs and solutions an anchor inside of what is folded, so that a link unfolds them."""
    about: dict[str, str] = {}
    for node in doctree.findall(lambda n: isinstance(n, (*STATEMENTS, proof_node, solution_node))):
        if isinstance(node, proof_node):
            node["of"] = about
            node[0][0]["ids"].append(f"{about.get('label', '')}-proof")
        elif isinstance(node, solution_node):
            node[1][0]["ids"].append(f"{node['target_label']}-answer")
        else:
            about = {name: node[name] for name in ("label", "realtype", "countertype")}


def _facts(paragraph: nodes.paragraph, of_level: str, of_minutes: int) -> None:
    """Set the promise of a lesson, what it needs, its level and length apart from its text."""
    paragraph["classes"].append("facts")
    for text in list(paragraph.findall(nodes.Text)):
        parts = re.split(r"(?:(?<=\n)|\A)(You will|You need)\b", text)
        if len(parts) > 1 and text.parent is paragraph:
            named: list[nodes.Node] = [nodes.Text(parts[0])]
            for name, rest in zip(parts[1::2], parts[2::2], strict=True):
                named += [nodes.strong("", name), nodes.Text(rest)]
            paragraph.replace(text, named)
    if of_level:
        paragraph += [
            nodes.Text("\n"),
            nodes.strong("", "Level"),
            nodes.Text(f" {of_level}, about {of_minutes} minutes without the exercises"),
        ]


def _tested(
    app: Sphinx,
    doctree: nodes.document,
    page: str,
    paragraph: nodes.paragraph,
    found: re.Match[str],
) -> None:
    """Turn the sentence that names a test into a link of the statement before it."""
    before = list(doctree.findall(lambda n: n is paragraph or isinstance(n, STATEMENTS)))
    statement = before[before.index(paragraph) - 1]
    uri = app.builder.get_relative_uri(page, found[1])
    statement["tested"] = f"{uri}#{found[2]}"
    paragraph.parent.remove(paragraph)


def _agreed(app: Sphinx, cell: nodes.container, page: str) -> None:
    """Turn the lines that say that examples agree into marks at the corner of the cell."""
    marks = []
    for raw in list(cell.findall(nodes.raw)):
        found = AGREES.search(raw.astext())
        if found:
            uri = app.builder.get_relative_uri(page, f"book/examples/{found[1]}")
            names = found[2].replace("_", " ")
            marks.append(
                f'<a class="id" href="{uri}" title="{names}: {found[3]}">'
                f'<span aria-hidden="true">✓</span> {found[1]}'
                f'<span class="unseen"> agrees: {found[3]}</span></a>'
            )
            raw.parent.remove(raw)
    if marks:
        for output in list(cell.findall(nodes.container)):
            if output.get("nb_element") == "cell_code_output" and not output.children:
                output.parent.remove(output)
        cell += nodes.raw("", f'<p class="check">{" ".join(marks)}</p>', format="html")
        cell["classes"].append("agrees")


def annotate(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put the terms and the sources that a page names for the first time into its margin."""
    seen: set[str] = set()
    terms, sources = definitions(app), citations(app)
    for paragraph in list(doctree.findall(nodes.paragraph)):
        if not isinstance(paragraph.parent, nodes.section):
            continue
        found = []
        for reference in paragraph.findall(nodes.reference):
            target = reference.get("refuri", "").rpartition("#")[2]
            if target in seen:
                continue
            for named in (terms, sources):
                if target in named:
                    seen.add(target)
                    name, content = named[target]
                    copied = [child.deepcopy() for child in content]
                    found.append(margin_note("", "", *copied, name=name))
        if found:
            block = nodes.container(classes=["noted"])
            paragraph.parent.replace(paragraph, block)
            block += [margin_notes("", *found), paragraph]


def definitions(app: Sphinx) -> dict[str, tuple[str, list[nodes.Node]]]:
    """Return the name and the first sentence of every entry of the glossary, by its anchor."""
    kept = seams.memory(app.env).get("first_sentences")
    if kept is None:
        kept = {}
        glossary = app.env.get_doctree(GLOSSARY) if GLOSSARY in app.env.found_docs else None
        for item in glossary.findall(nodes.definition_list_item) if glossary else ():
            sentence = list(first_sentence(next(item.findall(nodes.paragraph))))
            for term in item.findall(nodes.term):
                for name in term["ids"]:
                    kept[name] = (term.astext(), sentence)
        seams.memory(app.env)["first_sentences"] = kept
    return kept


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


def citations(app: Sphinx) -> dict[str, tuple[str, list[nodes.Node]]]:
    """Return the authors and the title of every source, by its anchor; the title is a link."""
    kept = seams.memory(app.env).get("sources")
    if kept is None:
        from pybtex.richtext import Text

        kept = {}
        for citation in seams.citations(app.env):
            entry = citation.entry
            names = [" ".join(one.last_names).strip("{}") for one in entry.persons["author"]]
            if len(names) > 2:
                names = [f"{names[0]} et al."]
            title = Text.from_latex(entry.fields["title"]).render_as("text")
            uri = f"https://doi.org/{entry.fields['doi']}" if "doi" in entry.fields else ""
            if "eprint" in entry.fields:
                uri = uri or f"https://arxiv.org/abs/{entry.fields['eprint']}"
            text = nodes.reference("", title, refuri=uri) if uri else nodes.Text(title)
            year = entry.fields.get("year", "n.d.")
            kept[citation.citation_id] = (f"{' and '.join(names)}, {year}", [text])
        seams.memory(app.env)["sources"] = kept
    return kept


def visit_notes(self: HTML5Translator, node: margin_notes) -> None:
    """Open the notes of a paragraph."""
    self.body.append('<div class="notes">')


def depart_notes(self: HTML5Translator, node: margin_notes) -> None:
    """Close the notes of a paragraph."""
    self.body.append("</div>\n")


def visit_note(self: HTML5Translator, node: margin_note) -> None:
    """Open a note, under its name."""
    name = self.encode(node["name"])
    full = name.removesuffix(".") + "."
    self.body.append(f"<details><summary>{name}</summary><div><b>{full}</b> ")


def depart_note(self: HTML5Translator, node: margin_note) -> None:
    """Close a note."""
    self.body.append("</div></details>\n")


def visit_citation(self: HTML5Translator, node: nodes.citation) -> None:
    """Write a source of the bibliography or of a docstring."""
    label = node.pop(0).astext()
    self.body.append(self.starttag(node, "div", CLASS="source"))
    if self.builder.current_docname != BIBLIOGRAPHY:  # there, the name of the author is the label
        self.body.append(f'<span class="label">[{label}]</span>')


def depart_citation(self: HTML5Translator, node: nodes.citation) -> None:
    """Close it."""
    self.body.append("</div>\n")


def visit_literal_block(self: HTML5Translator, node: nodes.literal_block) -> None:
    """Write code; the words for the roles have their colors in its comments."""
    try:
        HTML5Translator.visit_literal_block(self, node)
    finally:
        self.body[-1] = COMMENT.sub(
            lambda found: ROLE.sub(
                lambda word: f'<span class="{ROLES[word[1].lower()]}">{word[0]}</span>', found[0]
            ),
            self.body[-1],
        )


def visit_table(self: HTML5Translator, node: nodes.table) -> None:
    """Open a box in which a wide table scrolls."""
    self.body.append('<div class="table">')
    HTML5Translator.visit_table(self, node)


def depart_table(self: HTML5Translator, node: nodes.table) -> None:
    """Close it."""
    HTML5Translator.depart_table(self, node)
    self.body.append("</div>\n")


def visit_statement(self: HTML5Translator, node: nodes.Element) -> None:
    """Write a theorem or the like: its kind and number, its title, its test, what it says."""
    title, content = node.children
    kind = called(self.builder.env, self.builder.current_docname, node)
    node["classes"].remove("proof")
    self.body.append(self.starttag(node, "div", CLASS="statement"))
    self.body.append(f'<p class="head"><span class="kind">{kind}</span> <span class="title">')
    for child in title.children:
        child.walkabout(self)
    self.body.append("</span>")
    if node["ids"]:
        self.add_permalink_ref(node, "Link to this statement")
    cite = f"cite-{node['label']}"
    self.body.append(
        f' <span class="tested"><button type="button" popovertarget="{cite}">cite'
        f'<span class="unseen"> {kind}</span></button>'
    )
    if node.get("tested"):
        self.body.append(f' <a href="{node["tested"]}">tested</a>')
    self.body.append("</span></p>\n")
    self.body.append(f'<div class="cite" id="{cite}" popover>{node["cited"].html()}</div>\n')
    for child in content.children:
        child.walkabout(self)
    self.body.append("</div>\n")
    raise nodes.SkipNode


def visit_proof(self: HTML5Translator, node: proof_node) -> None:
    """Write a proof, folded where a first reading needs none."""
    content = node[0]
    first = content[0]
    start = first[0] if len(first) else None
    if not isinstance(start, nodes.Text) or not start.startswith("Proof. "):
        logger.warning("a proof must begin with a paragraph", location=node)
    else:
        first.replace(start, nodes.Text(start.removeprefix("Proof. ")))
    is_open = level(self.builder.env, self.builder.current_docname) != "1"
    self.body.append(f'<details class="proof"{" open" if is_open else ""}>')
    of = ""
    if about := node.get("of"):
        number = seams.shown_number(self, about["countertype"], about["label"])
        of = f'<span class="unseen"> of {about["realtype"]} {number}</span>'
    self.body.append(f"<summary>Proof{of}</summary>\n")
    last = content[-1]
    end = nodes.raw("", '<span class="qed">∎</span>', format="html")
    if isinstance(last, nodes.paragraph):
        last += end
    else:
        content += nodes.paragraph("", "", end, classes=["end"])
    for child in content.children:
        child.walkabout(self)
    self.body.append("</details>\n")
    raise nodes.SkipNode


def visit_aside(self: HTML5Translator, node: aside) -> None:
    """Write what a first reading may skip, folded under its title."""
    self.body.append('<details class="aside"><summary>')
    for child in node[0].children:
        child.walkabout(self)
    self.body.append("</summary>\n")
    for child in node[1:]:
        child.walkabout(self)
    self.body.append("</details>\n")
    raise nodes.SkipNode


def visit_hidden(self: HTML5Translator, node: HideCodeCellNode) -> None:
    """Write code that is folded."""
    self.body.append('<details class="folded"><summary>Show the code</summary>\n')


def depart_hidden(self: HTML5Translator, node: HideCodeCellNode) -> None:
    """Close it."""
    self.body.append("</details>\n")


def visit_exercise(self: HTML5Translator, node: nodes.Element) -> None:
    """Write an exercise under its number."""
    number = seams.shown_number(self, "exercise", node["label"])
    _, content = node.children
    self.body.append(self.starttag(node, "div", CLASS="exercise"))
    self.body.append(f'<p class="head"><span class="kind">Exercise {number}</span>')
    self.add_permalink_ref(node, "Link to this exercise")
    self.body.append("</p>\n")
    for child in content.children:
        child.walkabout(self)
    self.body.append("</div>\n")
    raise nodes.SkipNode


def visit_solution(self: HTML5Translator, node: solution_node) -> None:
    """Write a solution, folded."""
    _, content = node.children
    self.body.append('<details class="solution">')
    number = seams.shown_number(self, "exercise", node["target_label"])
    self.body.append(
        f'<summary>Solution<span class="unseen"> of exercise {number}</span></summary>\n'
    )
    for child in content.children:
        child.walkabout(self)
    self.body.append("</details>\n")
    raise nodes.SkipNode


def remember_plugins() -> None:
    """Register what pybtex would look for among all installed packages at every citation."""
    for name in ("plaintext", "text"):
        register_plugin("pybtex.backends", name, find_plugin("pybtex.backends", name), force=True)


def register(app: Sphinx) -> None:
    """Register what Sphinx has to know of it."""
    remember_plugins()
    seams.format_code_with(CodeFormatter)
    app.add_node(margin_notes, html=(visit_notes, depart_notes))
    app.add_node(margin_note, html=(visit_note, depart_note))
    app.add_node(nodes.citation, override=True, html=(visit_citation, depart_citation))
    app.add_node(nodes.literal_block, override=True, html=(visit_literal_block, None))
    app.add_node(nodes.table, override=True, html=(visit_table, depart_table))
    for kind in STATEMENTS:
        app.add_node(kind, override=True, html=(visit_statement, None))
    app.add_node(proof_node, override=True, html=(visit_proof, None))
    for kind in (exercise_node, exercise_enumerable_node):
        app.add_node(kind, override=True, html=(visit_exercise, None))
    app.add_node(aside, html=(visit_aside, None))
    app.add_node(HideCodeCellNode, override=True, html=(visit_hidden, depart_hidden))
    app.add_node(solution_node, override=True, html=(visit_solution, None))
