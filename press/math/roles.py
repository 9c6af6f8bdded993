r"""Color the letter of a role where the text of a page first has it.

A formula on a line of its own says what a letter stands for: in ``\query{Q}`` the Q does. On a page
with such a formula, the first Q in a line of text has the color of queries, too, unless the author
has marked one there.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

from press.math.mathml import ROLES

GROUP = r"\{(?:[^{}]|\{[^{}]*\})*\}"
SYMBOL = rf"(?P<letter>(?:d(?=[A-Z]))?[A-Za-z]'*)(?P<index>_(?:{GROUP}|\\?\w))?"
MARKED = re.compile(rf"\\(?P<role>{'|'.join(ROLES)})\{{{SYMBOL}\}}")
# What is no symbol: other texts, scripts, commands.
REST = rf"\\(?:text|operatorname|math\w+){GROUP}|[_^](?:{GROUP}|\\\w+|.)|\\\w+"
TOKEN = re.compile(rf"{MARKED.pattern}|{REST}|{re.sub('P<', 'P<bare_', SYMBOL)}", re.S)


def marks(doctree: nodes.document, kind: type[nodes.Element]) -> dict[tuple[str, bool], str]:
    """Return what stands for a role in formulas: letters, with an index or without."""
    found = [mark for math in doctree.findall(kind) for mark in MARKED.finditer(math.astext())]
    return {(mark["letter"], bool(mark["index"])): mark["role"] for mark in found}


def color_first(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Mark the first of each letter that a formula of the page marks."""
    roles = marks(doctree, nodes.math_block)
    for letter in marks(doctree, nodes.math):
        roles.pop(letter, None)

    def color(token: re.Match[str]) -> str:
        role = roles.pop((token["bare_letter"], bool(token["bare_index"])), "")
        return rf"\{role}{{{token[0]}}}" if role else token[0]

    for math in doctree.findall(nodes.math):
        if not isinstance(math.parent, nodes.title):
            math.children = [nodes.Text(TOKEN.sub(color, math.astext()))]
