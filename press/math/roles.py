r"""Color the letter of a role where the text of a page first has it.

A formula says what a letter stands for: in ``\query{Q}`` the Q does. On a page with such a formula,
the first Q in a line of text has the color of queries, too.
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


def color_first(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Mark the first of each letter that a formula of the page marks."""
    formulas = [
        one.astext() for kind in (nodes.math, nodes.math_block) for one in doctree.findall(kind)
    ]
    found = [mark for formula in formulas for mark in MARKED.finditer(formula)]
    roles = {(mark["letter"], bool(mark["index"])): mark["role"] for mark in reversed(found)}

    def color(token: re.Match[str]) -> str:
        roles.pop((token["letter"], bool(token["index"])), None)  # has its color already
        role = roles.pop((token["bare_letter"], bool(token["bare_index"])), "")
        return rf"\{role}{{{token[0]}}}" if role else token[0]

    for math in doctree.findall(nodes.math):
        if not isinstance(math.parent, nodes.title):
            math.children = [nodes.Text(TOKEN.sub(color, math.astext()))]
