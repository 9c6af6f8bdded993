"""The opening of a lesson: what its reader will do and needs, its level, and how long it takes."""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx_exercise.nodes import solution_node
from sphinx_proof.nodes import proof_node

from press.lesson.exercises import EXERCISES
from press.lesson.folds import aside, is_folded
from press.lesson.notebook import STUDENTS
from press.markup import raw
from press.math.text import words
from press.site.addresses import base_of, elsewhere, public_path
from press.site.contents import is_lesson, level_of
from press.site.library import FOLDER, WHEEL

PROMISE = re.compile(r"You will (.+?)(?=\nYou need|\Z)", re.S)
# What loads its script; without scripts, it is not shown.
LECTURE = (
    '<span class="scripted">\n<strong>Teach it</strong> '
    '<button type="button" class="lecture">as a lecture</button>, one figure after another</span>'
)
SKIPPED = (aside, proof_node, *EXERCISES, solution_node)


def promise_of(doctree: nodes.document) -> str:
    """Return what the first paragraph of a lesson says that the reader will do."""
    found = PROMISE.search(words(next(doctree.findall(nodes.section))[1]))
    return " ".join(found[1].split()) if found else ""


def is_spare(node: nodes.Node) -> bool:
    """Tell whether a node is the plain form of an output that is shown in another one."""
    return isinstance(node, nodes.container) and (
        node.get("mime_type") == "text/plain" and len(node.parent) > 1
    )


def minutes(doctree: nodes.document) -> int:
    """Return how long a first reading takes, in steps of five minutes.

    That is 200 words a minute, half a minute for each cell, formula on its own line, figure and
    table, and nothing for what may be skipped: proofs, exercises, folded text.
    """
    words, looks = 0, 0

    def count(node: nodes.Node) -> None:
        nonlocal words, looks
        if isinstance(node, SKIPPED) or is_folded(node) or is_spare(node):
            return
        if isinstance(node, nodes.literal_block | nodes.math_block | nodes.figure | nodes.table):
            looks += 1
        elif isinstance(node, nodes.Text):
            words += len(node.split())
        else:
            folds = 0  # that are open here: a fold with cells in it is written in HTML
            for child in node.children:
                if isinstance(child, nodes.raw):
                    looks += child.astext().startswith('<div class="arrays">')
                    folds += child.astext().count("<details") - child.astext().count("</details")
                elif not folds:
                    count(child)

    count(doctree)
    return max(5, 5 * round((words / 200 + looks / 2) / 5))


def set_facts(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Name the facts in the first paragraph of a lesson; add its level, length and notebook."""
    if not is_lesson(page):
        return
    paragraph = next(iter(next(doctree.findall(nodes.section))[1:2]), None)
    if not isinstance(paragraph, nodes.paragraph):
        return
    doctree["minutes"] = minutes(doctree)
    doctree["promise"] = promise_of(doctree)
    paragraph["classes"].append("facts")
    for text in list(paragraph.findall(nodes.Text)):
        before, *parts = re.split(r"(?:(?<=\n)|\A)(You will|You need)\b", text)
        if parts and text.parent is paragraph:
            named: list[nodes.Node] = [nodes.Text(before)]
            for name, rest in zip(parts[::2], parts[1::2], strict=True):
                named += [nodes.strong("", name), nodes.Text(rest)]
            paragraph.replace(text, named)
    if level := level_of(app.env, page):
        length = f" {level}, about {doctree['minutes']} minutes without the exercises"
        paragraph += [nodes.Text("\n"), nodes.strong("", "Level"), nodes.Text(length)]
    run = [nodes.Text("\n"), nodes.strong("", "Run it"), nodes.Text(" as a ")]
    paragraph += [*run, raw(ways_to_run(public_path(app, page), base_of(app.config)))]
    if "first" in str(app.env.metadata[page].get("paths", "")).split():
        paragraph += raw(LECTURE)


def ways_to_run(path: str, base: str) -> str:
    """Return links to the notebooks of a lesson, and to the library that they need."""
    stem = path.removesuffix(".html")
    name = stem.rpartition("/")[2]
    files = {"notebook": f"{name}.ipynb", "one without solutions": f"{name}{STUDENTS}.ipynb"}
    files["library"] = f"{'../' * stem.count('/')}{FOLDER}/{WHEEL}"
    whole, unsolved, wheel = (f'<a href="{to}" download>{what}</a>' for what, to in files.items())
    there = f'; or <a href="{elsewhere(base, f"{stem}.ipynb")}">in the browser</a>' if base else ""
    return f"{whole} (or {unsolved}), with the {wheel} beside it{there}"
