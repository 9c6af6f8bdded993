"""Exercises of sphinx-exercise, and their solutions, which are folded."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node, solution_node

from press import seams
from press.site.headings import heading

EXERCISES = (exercise_node, exercise_enumerable_node)


def add_anchors(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Give solutions an anchor inside of what is folded, so that a link unfolds them."""
    for node in doctree.findall(solution_node):
        node[1][0]["ids"].append(f"{node['target_label']}-answer")


def visit_exercise(self: HTML5Translator, node: nodes.Element) -> None:
    """Open an exercise, under its number."""
    node[:] = node[1].children
    number = seams.shown_number(self, node["label"])
    self.body.append(self.starttag(node, "div", CLASS="exercise"))
    self.body.append(f'<p class="head"><span {heading(self)} class="kind">Exercise {number}</span>')
    self.add_permalink_ref(node, "Link to this exercise")
    self.body.append("</p>\n")


def visit_solution(self: HTML5Translator, node: solution_node) -> None:
    """Open a solution, folded."""
    node[:] = node[1].children
    number = seams.shown_number(self, node["target_label"])
    self.body.append(
        '<details class="solution"><summary>Solution'
        f'<span class="unseen"> of exercise {number}</span></summary>\n'
    )
