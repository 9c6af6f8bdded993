"""Write formulas as one types them, for places that show text alone."""

import html
import html.entities
import re

from docutils import nodes

from press.math.mathml import ROLES
from press.math.render import MACROS

SYMBOLS = {
    "cdot": "·", "dots": "…", "infty": "∞", "lVert": "‖", "lvert": "|", "mid": "|", "ne": "≠",
    "neq": "≠", "rVert": "‖", "rvert": "|", "sum": "Σ", "to": "→", "top": "ᵀ", "varepsilon": "ε",
    ",": " ", ";": " ", ":": " ", " ": " ", "quad": " ", "qquad": " ", "\\": " ", "!": "",
    "displaystyle": "",
}  # fmt: skip
RELATIONS = "=<>≤≥≠≈→∈∉↦"
ONE = {"text", "operatorname", "mathrm", "mathbf", "mathbb", "underbrace", *ROLES}
ACCENTS = {"bar": "\u0304", "overline": "\u0305", "hat": "\u0302"}
FENCE = {"left", "right", "big", "bigl", "bigr", "Big", "Bigl", "Bigr", "bigg", "Bigg"}


def plain(tex: str) -> str:
    r"""Return a formula as one would type it: √d_k, e^(−x), (a + b)/c.

    >>> plain(r"\softmax\left(\frac{\query{Q}\key{K}^\top}{\sqrt{d_k}}\right)V")
    'softmax(QKᵀ/√d_k)V'
    >>> plain(r"\frac{a + b}{2} \le e^{-\tau}")
    '(a + b)/2 ≤ e^−τ'
    """
    for name, meaning in MACROS.items():
        tex = re.sub(re.escape(name) + r"(?![A-Za-z])", meaning.replace("\\", r"\\"), tex)
    tokens = re.findall(r"\\[A-Za-z]+|\\.|\s+|.", tex, re.S)
    tokens.reverse()  # the next one is popped

    def group() -> str:
        while tokens and tokens[-1].isspace():
            tokens.pop()
        return read("}") if tokens and tokens[-1] == "{" and tokens.pop() else one()

    def tight(text: str) -> str:
        return text if re.fullmatch(r"−?√?[\w∞\u0300-\u036f]+|.", text) else f"({text})"

    def one() -> str:
        token = tokens.pop() if tokens else ""
        if token == "{":
            return read("}")
        if token in "^_" and token:
            inner = group()
            return inner if inner in ("ᵀ", "*") else token + tight(inner)
        if token in ("&", "~") or token.isspace():
            return " "
        if not token.startswith("\\"):
            return {"-": "−"}.get(token, token)
        name = token[1:]
        if name in ("frac", "tfrac", "dfrac"):
            return f"{tight(group())}/{tight(group())}"
        if name == "sqrt":
            return "√" + tight(group())
        if name in ONE:
            return group().replace("−", "-") if name == "text" else group()
        if name in ACCENTS:
            return re.sub(r"(\w)", rf"\1{ACCENTS[name]}", group())
        if name == "overset":
            group()
            return group()
        if name in ("begin", "end"):
            group()
            return " "
        if name in FENCE:
            if tokens and tokens[-1] == ".":
                tokens.pop()
            return ""
        return SYMBOLS.get(name, html.entities.html5.get(f"{name};", name))

    def read(end: str) -> str:
        parts = []
        while tokens:
            if tokens[-1] == end:
                tokens.pop()
                break
            parts.append(one())
        return re.sub(r"\s+", " ", "".join(parts)).strip()

    text = re.sub(rf"\s*([{RELATIONS}])\s*", r" \1 ", read(""))
    text = re.sub(r"\b([A-Z]) (?=[A-Z](?:ᵀ|\b))", r"\1", text)  # a product of matrices
    return re.sub(r"\s+([,.;)])", r"\1", text).strip()


def words(node: nodes.Node) -> str:
    """Return the text of a node, with its formulas as one types them."""
    if isinstance(node, nodes.math):
        return plain(node.astext())
    if isinstance(node, nodes.raw):
        return html.unescape(re.sub("<[^>]+>", "", node.astext()))
    return "".join(map(words, node.children)) if node.children else node.astext()
