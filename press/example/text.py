"""The sentences of the data as nodes: formulas, names of code, quotation marks, powers."""

import re
from collections.abc import Iterator

from docutils import nodes

# d_k and W_Q W_Kᵀ are mathematics, d_output and np.infty are code.
LETTER = "[A-Za-z](?:_[A-Za-z])?"


FORMULA = re.compile(
    rf"(?<!\w)(?:(?P<product>(?:{LETTER} )*{LETTER})ᵀ"
    r"|(?P<root>√?)(?P<letter>[A-Za-z]_[A-Za-z])(?!\w)"
    r"|(?P<code>np\.\w+|[a-z]+(?:_[a-z]+)+))|ᵀ"
)


def prose(text: str) -> list[nodes.Node]:
    """Return the nodes of a sentence of the data, with its formulas and its names of code."""
    found: list[nodes.Node] = []
    end = 0
    for match in FORMULA.finditer(text):
        found.append(nodes.Text(text[end : match.start()]))
        root, letter, product, code = match.group("root", "letter", "product", "code")
        if code:
            found.append(nodes.literal("", code))
        elif product or letter:
            tex = rf"{product}^\top" if product else rf"\sqrt{{{letter}}}" if root else letter
            found.append(nodes.math("", tex))
        else:
            found.append(nodes.superscript("", "T"))
        end = match.end()
    return [*found, nodes.Text(text[end:])]


def powers(text: str) -> Iterator[nodes.Node]:
    """Yield a text that is written with 1e-15 as one with a power of ten."""
    for place, part in enumerate(re.split(r"1e(-\d+)", text)):
        if place % 2:
            yield nodes.Text("10")
            yield nodes.superscript("", f"{int(part)}".replace("-", "−"))
        else:
            yield nodes.Text(part)


def curled(text: str) -> str:
    """Return a text with the quotation marks of print."""
    return re.sub(r'(^|(?<=[\s(]))"', "“", text).replace('"', "”")
