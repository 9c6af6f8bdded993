"""Statements of sphinx-proof: their names, their tests, how they are cited, and their proofs."""

from dataclasses import replace

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator
from sphinx_proof.nodes import proof_node

from press import seams
from press.lesson.folds import write_title
from press.markup import paragraph, raw
from press.math.text import words
from press.seams import STATEMENTS
from press.site.citation import work_of
from press.site.contents import level_of
from press.site.headings import heading
from press.site.sources import CHECKED_BY

logger = logging.getLogger(__name__)


def statement_name(env: BuildEnvironment, page: str, statement: nodes.Element) -> str:
    """Return the kind and the number of a statement, such as "Theorem 18"."""
    number = seams.number_of(env, page, statement["label"])
    return f"{statement['realtype'].title()} {number}".rstrip()


def connect_proofs_and_tests(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Tell each statement its test and how it is cited, and each proof its statement.

    The sentence that names a test becomes a link at the head of the statement before it. The anchor
    of a proof stands inside of what is folded, so that a link unfolds it.
    """
    cited = work_of(app, page, words(app.env.titles[page]))
    statement = nodes.Element(label="")
    for node in list(doctree.findall(nodes.Element)):
        if isinstance(node, STATEMENTS):
            statement, label = node, node["label"]
            node["cited"] = replace(
                cited,
                at=f"{cited.at}#{label}",
                title=f"{statement_name(app.env, page, node)} ({words(node[0])})",
                page=cited.title,
            )
        elif isinstance(node, proof_node):
            node["of"] = statement
            node[0][0]["ids"].append(f"{statement['label']}-proof")
        elif isinstance(node, nodes.paragraph) and (found := CHECKED_BY.fullmatch(node.astext())):
            source = app.builder.get_relative_uri(page, found[1])
            statement["tested"] = f"{source}#{found[2]}"
            node.parent.remove(node)


def visit_statement(self: HTML5Translator, node: nodes.Element) -> None:
    """Open a theorem or the like: its kind and number, its title, its test, how it is cited."""
    title, content = node.children
    node[:] = content.children
    kind = statement_name(self.builder.env, self.builder.current_docname, node)
    node["classes"].remove("proof")
    self.body.append(self.starttag(node, "div", CLASS="statement"))
    self.body.append(f'<p class="head"><span {heading(self)}><span class="kind">{kind}</span>')
    self.body.append(' <span class="title">')
    write_title(self, title)
    self.body.append("</span></span>")
    self.add_permalink_ref(node, "Link to this statement")
    cite = f"cite-{node['label']}"
    self.body.append(
        f' <span class="tested"><button type="button" popovertarget="{cite}">cite'
        f'<span class="unseen"> {kind}</span></button>'
    )
    if node.get("tested"):
        self.body.append(
            f' <a href="{node["tested"]}">tested<span class="unseen"> {kind}</span></a>'
        )
    self.body.append("</span></p>\n")
    self.body.append(f'<div class="cite" id="{cite}" popover>{node["cited"].html()}</div>\n')


def visit_proof(self: HTML5Translator, node: proof_node) -> None:
    """Open a proof, folded where a first reading needs none."""
    content = node[0]
    first, last = content[0], content[-1]
    while isinstance(last, (nodes.Sequential, nodes.list_item)):
        last = last[-1]
    start = first[0] if len(first) else None
    if not isinstance(start, nodes.Text) or not start.startswith("Proof. "):
        logger.warning("a proof must begin with a paragraph", location=node)
    else:
        first.replace(start, nodes.Text(start.removeprefix("Proof. ")))
    end = raw('<span class="qed">∎</span>')
    if isinstance(last, nodes.paragraph):
        last += end
    else:
        content += paragraph(end, classes=("end",))
    node[:] = content.children
    is_open = level_of(self.builder.env, self.builder.current_docname) != "1"
    self.body.append(f'<details class="proof"{" open" if is_open else ""}><summary>Proof')
    if (about := node["of"])["label"]:
        number = seams.shown_number(self, about["label"])
        self.body.append(f'<span class="unseen"> of {about["realtype"]} {number}</span>')
    self.body.append("</summary>\n")
