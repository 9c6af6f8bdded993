"""Turn TeX into the MathML that browsers draw: math-core reads it; this module lets it break."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from functools import cache

from math_core import LatexError, LatexToMathML

# What a letter stands for: \query{Q} is drawn in the color of queries. math-core writes colors, not
# classes; these go no further than this module.
ROLES = {
    "query": "red",
    "key": "orange",
    "value": "olive",
    "score": "brown",
    "weight": "violet",
    "context": "teal",
}
RELATIONS = frozenset("=<>≤≥≠≈∼≡≪≫∈∉⊂⊆→↦⇒⇔")
LONG = 12  # characters: a longer formula may break
WIDE = 28  # characters: a longer part may be wider than a telephone


@cache
def _converter(macros: frozenset[tuple[str, str]]) -> tuple[LatexToMathML, dict[str, str]]:
    commands = {role: rf"\textcolor{{{color}}}{{#1}}" for role, color in ROLES.items()}
    commands |= {name.lstrip("\\"): meaning for name, meaning in macros}
    converter = LatexToMathML(macros=commands, fancy_error=False)
    classes = {}
    for role in ROLES:
        colored = converter.convert_with_local_state(rf"\{role}{{x}}", displaystyle=False)
        classes[re.findall(r'style="[^"]*"', colored)[0]] = f'class="{role}"'
    return converter, classes


def to_mathml(tex: str, *, display: bool, macros: Mapping[str, str] | None = None) -> ET.Element:
    """Return the ``<math>`` of `tex`; a ``ValueError`` says why not."""
    if re.search(r"(?<!\\)%", tex):
        raise ValueError(r"% begins a comment: write \%")
    # Sphinx numbers an equation as a whole: no room for numbers of its rows.
    tex = re.sub(r"(\\(?:begin|end)\{)align\*?\}", r"\1aligned}", tex)
    tex = re.sub(r"(\\(?:begin|end)\{)(?:gather|equation)\*?\}", r"\1gathered}", tex)
    converter, classes = _converter(frozenset((macros or {}).items()))
    try:
        made = converter.convert_with_local_state(tex, displaystyle=display)
    except LatexError as error:
        raise ValueError(f"at character {error}") from None
    for style, role in classes.items():
        made = made.replace(style, role)
    # Browsers stretch no delimiter that carries a script itself, but one in a row of its own.
    delimiter = r"<(msub|msup|msubsup)>(<mo [^>]*minsize=[^>]*>[^<]*</mo>)"
    made = re.sub(delimiter, r"<\1><mrow>\2</mrow>", made)
    # The sign of a root is as high as its smallest form at least: what is below it is no lower.
    made = made.replace("<msqrt>", '<msqrt><mspace height="0.76em" depth="0.08em"></mspace>')
    # TeX parts \right) and a full stop; a printer does not.
    made = re.sub(r' rspace="[^"]*"(>[^<]*</mo>(?:</mrow>)+<m[io][^>]*>[.,;]<)', r"\1", made)
    # The font has a prime for scripts, and no double one.
    made = made.replace("<mo>″</mo>", "<mrow><mo>′</mo><mo>′</mo></mrow>")
    made = made.replace("<mi>.</mi>", "<mtext>.</mtext>")  # ends a sentence, and is no name
    math = ET.fromstring(made.replace("&ApplyFunction;", "\N{FUNCTION APPLICATION}"))
    if math.find(".//menclose") is not None:
        raise ValueError("browsers draw no lines through or around a formula")
    if math.find("mtable[@style]") is not None:
        raise ValueError("the environment numbers its rows: write aligned or gathered")
    return math


def broken(math: ET.Element) -> list[ET.Element | None]:
    """Part a long formula where a line of it may end, since browsers break between formulas only.

    In a line of text that is after a relation, on a line of its own before one, never inside
    parentheses. A None stands for a wide space on a line of its own, the best place of all.
    """
    display = math.get("display") == "block"
    part = ET.Element("math", math.attrib)
    parts: list[ET.Element | None] = [part]
    depth, long = 0, len("".join(math.itertext())) > LONG
    for child in math:
        text = "".join(child.itertext())
        relation = long and not depth and child.tag in {"mo", "mover"} and text[:1] in RELATIONS
        wide = display and not depth and child.get("width") in {"1em", "2em"}
        if wide or (relation and display and len(part)):
            part = ET.Element("math", math.attrib)
            parts += [None, part] if wide else [part]
        if not wide:
            part.append(child)
        if relation and not display:
            parts.append(part := ET.Element("math", math.attrib))
        depth += sum((char in "([{⌊⟨") - (char in ")]}⌋⟩") for char in text)
    return parts


def is_wide(part: ET.Element) -> bool:
    """Tell whether a part may have to scroll on a telephone; some that need not may be told so."""
    lines = list(part[0]) if len(part) and part[0].tag == "mtable" else [part]
    return max(len("".join(line.itertext())) for line in lines) > WIDE
