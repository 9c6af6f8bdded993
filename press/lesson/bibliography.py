"""The sources of the bibliography and of docstrings, without what numpydoc and docutils add."""

from docutils import nodes
from pybtex.plugin import find_plugin, register_plugin
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from press.markup import DOCSTRING_REFERENCE

BIBLIOGRAPHY = "book/reference/bibliography"


def clean_references(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Shorten the numbers of references; take no initial of an author for that of a list."""
    for text in list(doctree.findall(nodes.Text)):
        if found := DOCSTRING_REFERENCE.fullmatch(text.strip("[]")):
            text.parent.replace(text, nodes.Text(text.replace(found[0], found[1])))
    for source in doctree.findall(nodes.citation):
        listed = source[-1]
        if isinstance(listed, nodes.enumerated_list):  # "A. Vaswani" reads like the start of a list
            initial = chr(ord("A") + listed.get("start", 1) - 1)
            listed[0][0].insert(0, nodes.Text(f"{initial}. "))
            listed.replace_self(listed[0].children)


def visit_citation(self: HTML5Translator, node: nodes.citation) -> None:
    """Write a source."""
    label = node.pop(0).astext()
    self.body.append(self.starttag(node, "div", CLASS="source"))
    if self.builder.current_docname != BIBLIOGRAPHY:  # there, the name of the author is the label
        self.body.append(f'<span class="label">[{label}]</span>')


def register(app: Sphinx) -> None:
    """Register what pybtex would look for among all installed packages at every citation."""
    for name in ("plaintext", "text"):
        register_plugin("pybtex.backends", name, find_plugin("pybtex.backends", name), force=True)
