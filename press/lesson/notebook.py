r"""A notebook for every lesson: its text as Markdown, its visible cells, what they print.

It is made from the page as it is read: numbers, names and citations are filled in. What a page
draws or checks behind the scenes is no part of it; a figure is attached as a picture.
"""

import base64
import html
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import nbformat
from docutils import nodes
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node, solution_node
from sphinx_proof.nodes import proof_node

from press import seams
from press.lesson.picture import DRAWING, FOLDER, picture
from press.lesson.statements import statement_name
from press.markup import ancestors
from press.math.mathml import ROLES
from press.math.render import MACROS, wrapped
from press.seams import STATEMENTS
from press.site.addresses import base_of
from press.site.citation import Work, work_of
from press.site.contents import is_lesson, question_of
from press.site.library import WHEEL, install
from press.site.rights import CODE, TEXT
from press.site.sources import CHECKED_BY

logger = logging.getLogger(__name__)

# As the pages print; the front page says so, too.
PRINTING = "np.set_printoptions(precision=4, suppress=True, linewidth=76)"
SPECIAL = re.compile(r"([\\`*_$\[\]<])")
SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.S)
SHEET = re.compile(r"<table data-matrix.*?</table>", re.S)
LOOKS = re.compile(r"(?<=<t[dh]) [^>]*|(?<=<table) [^>]*|(?<=<thead) [^>]*")
STUDENTS = "-for-students"  # in the name of the notebook that has no solutions
ROLE = re.compile(rf"\\(?:{'|'.join(ROLES)})(?![A-Za-z])")  # colors, which are not TeX
ANSWERS = re.compile(r"data-(?:live|sheet|own)=")  # a figure that does
SILENT = (addnodes.index, nodes.comment, nodes.target, nodes.substitution_definition)


class Writer:
    """Writes the cells of one page."""

    def __init__(self, app: Sphinx, page: str, work: Work) -> None:
        self.app, self.page, self.work = app, page, work
        self.base = base_of(app.config)
        self.cells: list[Any] = []
        self.text: list[str] = []
        self.attached: dict[str, dict[str, str]] = {}
        self.solves = ""  # inside of a solution, what it is called

    # Text

    def inline(self, node: nodes.Node) -> str:
        """Return the text of a node in Markdown."""
        if isinstance(node, nodes.Text):
            return SPECIAL.sub(r"\\\1", node.replace("\n", " "))
        inside = "".join(map(self.inline, node.children))
        match node:
            case nodes.math():
                return f"${tex(node.astext())}$"
            case nodes.literal():
                return f"`{node.astext()}`"
            case nodes.emphasis() | nodes.title_reference():
                return f"*{inside}*"
            case nodes.strong():
                return f"**{inside}**"
            case nodes.superscript() | nodes.subscript():
                mark = node.tagname[:3]
                return f"<{mark}>{inside}</{mark}>"
            case nodes.reference() if address := self.address(node):
                return f"[{inside}]({address})"
            case nodes.image():
                return SPECIAL.sub(r"\\\1", node.get("alt", ""))
            case nodes.raw() | nodes.comment() | nodes.target() | addnodes.index():
                return ""
            case nodes.inline() if "screen" in node["classes"]:  # what there is to press
                return ""
            case _:
                return inside

    def address(self, node: nodes.reference) -> str:
        """Return where a link leads, if that is to be found from a file that lies anywhere."""
        to = str(node.get("refuri", ""))
        if re.match(r"https?:", to):
            return to
        here = self.app.builder.get_target_uri(self.page)
        target = to or f"#{node.get('refid', '')}"
        return urljoin(f"{self.base}/{here}", target) if self.base else ""

    def number(self, node: nodes.Element) -> str:
        """Return the number that a thing has on the page."""
        numbers = [seams.number_of(self.app.env, self.page, name) for name in node["ids"]]
        return next(filter(None, numbers), "")

    # Blocks

    def say(self, *paragraphs: str) -> None:
        """Add paragraphs to the cell of text."""
        self.text += filter(None, paragraphs)

    def end(self) -> None:
        """Put the text so far into a cell; that of a solution, folded."""
        if self.text:
            if self.solves:
                summary = f"<details>\n<summary>{self.solves}</summary>"
                self.text = [summary, *self.text, "</details>"]
            cell = new_markdown_cell("\n\n".join(self.text))
            if self.solves:
                cell.metadata["tags"] = ["solution"]
            if self.attached:
                cell["attachments"] = self.attached
            self.cells.append(cell)
        self.text, self.attached = [], {}

    def read(self, found: Iterable[nodes.Node]) -> None:
        """Write blocks, one after the other."""
        for node in found:
            self.block(node)

    def block(self, node: nodes.Node) -> None:
        """Write a block: into the text, or as a cell."""
        match node:
            case nodes.section():
                self.read(node.children)
            case nodes.title():
                depth = sum(isinstance(one, nodes.section) for one in ancestors(node))
                self.say(f"{'#' * depth} {self.inline(node)}")
            case nodes.container() if node.get("nb_element") == "cell_code":
                self.cell(node)
            case nodes.figure():
                self.figure(node)
            case solution_node():
                exercise = seams.exercise(self.app.env, node["target_label"])
                self.solution(f"Solution of exercise {self.number(exercise)}", node[1:])
            case nodes.admonition() if "room" in node["classes"]:  # its last part has the answers
                self.say(f"**{self.inline(node[0])}**")
                self.read(node[1:-1])
                self.solution(self.inline(node[-1][0]), node[-1][1:])
            case exercise_node() | exercise_enumerable_node():
                self.say(f"**Exercise {self.number(node)}.**")
                self.read(node[1:])
            case proof_node():
                self.read(node[0].children)
            case _ if isinstance(node, STATEMENTS):
                name = statement_name(self.app.env, self.page, node)
                self.say(f"**{name}.** *{self.inline(node[0])}*")
                self.read(node[1:])
            case nodes.raw():
                folded = SUMMARY.search(node.astext())
                self.say(f"**{folded[1].strip()}**" if folded else "")
            case nodes.Element() if not isinstance(node, SILENT):
                lines = list(self.lines(node))
                if lines:
                    self.say("\n".join(lines).strip())
                else:
                    self.read(node.children)

    def solution(self, name: str, found: Iterable[nodes.Node]) -> None:
        """Write what answers a question into cells of its own."""
        self.end()
        self.solves = name
        self.read(found)
        self.end()
        self.solves = ""

    def lines(self, node: nodes.Element) -> Iterator[str]:
        """Yield the lines of a block of text; none of one that only holds others."""
        match node:
            case nodes.paragraph() if CHECKED_BY.fullmatch(node.astext()):
                pass
            case nodes.paragraph():
                yield self.inline(node).strip()
            case nodes.math_block():
                number = self.number(node)
                formula = tex(wrapped(node.astext())) + (rf" \tag{{{number}}}" if number else "")
                yield from ("$$", *formula.split("\n"), "$$")
            case nodes.literal_block() | nodes.doctest_block():
                yield from (f"```{node.get('language', '')}", *node.astext().split("\n"), "```")
            case nodes.bullet_list() | nodes.enumerated_list():
                for place, item in enumerate(node.children, start=node.get("start", 1)):
                    mark = "- " if isinstance(node, nodes.bullet_list) else f"{place}. "
                    if isinstance(node.parent, nodes.admonition):  # answers have letters
                        mark = f"- {chr(64 + place)}. "
                    yield from self.indented(item, mark, " " * len(mark))
            case nodes.definition_list():
                for item in node.children:
                    terms = [one for one in item.children if isinstance(one, nodes.term)]
                    yield f"**{', '.join(map(self.inline, terms))}**"
                    yield ""
                    yield from self.indented(item[-1], "", "")
            case nodes.block_quote():
                yield from self.indented(node, "> ", "> ")
            case nodes.admonition():
                yield from (f"**{self.inline(node[0])}**", "")
                yield from self.indented(nodes.container("", *node[1:]), "", "")
            case nodes.table():
                yield from self.table(node)

    def indented(self, node: nodes.Node, first: str, others: str) -> Iterator[str]:
        """Yield the lines of what a list item or the like holds, behind its mark."""
        mark = first
        for child in node.children:
            if isinstance(child, nodes.Element):
                for line in [*self.lines(child), ""]:
                    yield f"{mark}{line}".rstrip()
                    mark = others

    def table(self, table: nodes.table) -> Iterator[str]:
        """Yield the lines of a table."""
        caption = [one for one in table.children if isinstance(one, nodes.title)]
        if caption:
            yield from (self.inline(caption[0]), "")
        for place, row in enumerate(table.findall(nodes.row)):
            entries = [" ".join(self.inline(p) for p in entry.children) for entry in row.children]
            yield "| " + " | ".join(entry.replace("|", r"\|") for entry in entries) + " |"
            if place == 0:
                yield "|---" * len(entries) + "|"

    def figure(self, figure: nodes.figure) -> None:
        """Attach a drawing, with its description and its caption; of a Sheet, write its tables.

        A drawing is also a file of its own. Of a figure that answers, a link leads to the page.
        """
        text = "".join(raw.astext() for raw in figure.findall(nodes.raw))
        drawing, name = DRAWING.search(text), figure["ids"][0]
        caption = next(figure.findall(nodes.caption))
        number = f"Fig. {self.number(figure)}."
        said = f"*{number}* {self.inline(caption)}"
        if ANSWERS.search(text):
            page = self.app.builder.get_target_uri(self.page)
            there = f"[the page]({self.base}/{page}#{name})" if self.base else f"the page, {page}"
            said += f"\n\nThis is a still. The figure answers on {there}."
        if tables := SHEET.findall(text):
            self.say(*(LOOKS.sub("", table) for table in tables), said)
            return
        if drawing is None:
            logger.warning("a figure without a drawing", location=figure)
            return
        alt = html.unescape(drawing[1])
        named, source = f"{number} {caption.astext()}", self.work.sentence()
        drawn = picture(drawing[2], named, alt, source)
        path = Path(self.app.outdir, FOLDER, f"{name}.svg")
        path.parent.mkdir(exist_ok=True)
        path.write_text(drawn, "utf-8")
        if text.startswith('<div class="drawing plot"'):  # running the cell draws it anew
            data = {"image/svg+xml": drawn, "text/plain": alt}
            self.cells[-1].outputs.append(new_output("display_data", data=data))
            self.say(said)
            return
        alt, coded = SPECIAL.sub(r"\\\1", alt), base64.b64encode(drawn.encode()).decode()
        self.attached[path.name] = {"image/svg+xml": coded}
        self.say(f"![{alt}](attachment:{path.name})", said)

    def output(self, block: nodes.literal_block) -> Any:
        """Return what a cell has printed, or the value that it ends with."""
        text = block.astext().rstrip("\n")
        if "stream" in block["classes"]:
            return new_output("stream", name="stdout", text=f"{text}\n")
        return new_output("execute_result", data={"text/plain": text})

    def cell(self, cell: nodes.container) -> None:
        """Write a cell that a reader sees; of one that is hidden, the figure."""
        parts = cell.findall(nodes.Element)
        shown = [part for part in parts if part.get("nb_element") == "cell_code_source"]
        for figure in cell.findall(nodes.figure):
            self.figure(figure)
        if not shown:
            return
        self.end()
        said = [
            self.output(block)
            for block in cell.findall(nodes.literal_block)
            if "output" in block["classes"]
        ]
        code = new_code_cell(shown[0].astext().strip("\n"), outputs=said)
        if self.solves:
            folded = {"source_hidden": True, "outputs_hidden": True}
            code.metadata.update(tags=["solution"], jupyter=folded)
            code.source = f"# {self.solves}\n{code.source}"
        self.cells.append(code)


def tex(formula: str) -> str:
    """Return a formula without the book's own macros, as any notebook typesets it."""
    for name, meaning in MACROS.items():
        formula = re.sub(rf"{re.escape(name)}(?![A-Za-z])", lambda _, m=meaning: m, formula)  # type: ignore[misc]
    return ROLE.sub("", formula).strip()


def install_cell(line: str) -> Any:
    """Return the cell that installs the library, with which every notebook begins."""
    beside = "" if "://" in line else f"# put {WHEEL} beside this notebook, then\n"
    return new_code_cell(
        f"# Once, where it is not installed:\n{beside}"
        f"# remove the first two characters of the next line.\n# %{line}"
    )


def terms() -> str:
    """Say on which terms one may use a notebook."""
    text, code = (f"[{one.name}]({one.address})" for one in (TEXT, CODE))
    return f"Text and figures: {text}. Code and data: {code}."


def save(path: Path, cells: Sequence[Any], name: str) -> None:
    """Write a notebook, the same in every build: a cell is known by its number."""
    for number, cell in enumerate(cells):
        cell["id"] = f"{name}-{number}"[-64:]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    rights = {"text": TEXT.address, "code": CODE.address}
    notebook = new_notebook(cells=cells, metadata={"kernelspec": kernel, "license": rights})
    nbformat.validate(notebook)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{nbformat.writes(notebook)}\n", "utf-8")


def cells_of(app: Sphinx, doctree: nodes.document, page: str) -> list[Any]:
    """Return the cells of the notebook of a lesson."""
    top = next(doctree.findall(nodes.section))
    work = work_of(app, page, top[0].astext())
    writer = Writer(app, page, work)
    writer.read(top[:1])
    question = question_of(app.env, page)
    writer.say(question and f"*{question}*", work.sentence(), terms())
    writer.end()
    plots = any("matplotlib" in part.astext() for part in doctree.findall(nodes.literal_block))
    writer.cells += [
        install_cell(install(base_of(app.config)) + " matplotlib" * plots),
        new_code_cell(f"import numpy as np\n\n{PRINTING}"),
    ]
    writer.read(top[1:2])  # what one will do and needs
    writer.text = [text.replace(". You need", ".\n\nYou need", 1) for text in writer.text]
    writer.read(top[2:])
    writer.end()
    return writer.cells


def write(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put the notebook of a lesson beside its page, and one without solutions."""
    if not is_lesson(page):
        return
    path = Path(app.outdir, app.builder.get_target_uri(page)).with_suffix("")
    cells = cells_of(app, doctree, page)
    unsolved = [cell for cell in cells if "solution" not in cell.metadata.get("tags", ())]
    for name, chosen in ((path.name, cells), (f"{path.name}{STUDENTS}", unsolved)):
        save(path.with_name(f"{name}.ipynb"), chosen, path.name)
