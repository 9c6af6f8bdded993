"""What the key for the next heading finds: statements, exercises and functions, too."""

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from press import seams
from press.markup import ancestors
from press.math.text import words
from press.seams import STATEMENTS


def heading(self: HTML5Translator, depth: int = 1) -> str:
    """Return the attributes of a heading, so many levels below that of the section it is in."""
    return f'role="heading" aria-level="{self.section_level + depth}"'


def visit_name(self: HTML5Translator, node: addnodes.desc_name) -> None:
    """Open the name of a function, as a heading; that of a method is one below its class."""
    depth = sum(isinstance(one, addnodes.desc) for one in ancestors(node))
    classes = " ".join(node["classes"])
    self.body.append(f'<span {heading(self, depth)} class="{classes}">')


class Translator(seams.Translator):
    """Writes pages; a link to a part of one says to which."""

    def called(self, node: nodes.Element) -> str:
        """Return the title of a section, the name of a function, the number of a figure."""
        match node:
            case nodes.section():
                return words(node[node.first_child_matching_class(nodes.title)])
            case addnodes.desc_signature():
                return str(node["fullname"])
            case nodes.math_block():
                return f"equation {seams.shown_number(self, node['ids'][0])}"
            case nodes.figure() | nodes.table():
                number = seams.shown_number(self, node["ids"][0])
                name = self.config.numfig_format[node.tagname].partition("%s")[0].strip()
                return f"{name} {number}".strip()
            case _ if isinstance(node, STATEMENTS):
                number = seams.shown_number(self, node["label"])
                return f"{node['realtype']} {number}".capitalize().strip()
            case _ if "label" in node:
                return f"Exercise {seams.shown_number(self, node['label'])}"
        return words(node)


def register(app: Sphinx) -> None:
    """Have pages written by it."""
    app.set_translator("html", Translator)
