"""Draw every formula while the book is built: the reader's browser runs no script for it.

Sphinx gets the math renderer "static_math"; fonts.py makes the font.
A formula that is not TeX is a warning with its place, so a strict build fails.
"""

import re
import xml.etree.ElementTree as ET

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

from press.fonts import MATH, characters
from press.markup import ancestors
from press.math.mathml import broken, is_wide, to_mathml

logger = logging.getLogger(__name__)

MACROS = {
    r"\softmax": r"\operatorname{softmax}",
    r"\R": r"\mathbb{R}",
    r"\E": r"\mathbb{E}",
    r"\Var": r"\operatorname{Var}",
    r"\diag": r"\operatorname{diag}",
}


def wrapped(tex: str) -> str:
    r"""Add the `aligned` that Sphinx promises around a bare ``\\``, ``&`` or blank line.

    Sphinx adds it at every ``\\``; a matrix would become a table in a table, and be read as one.
    """
    parts = [part.strip() for part in re.split(r"\n\s*\n", tex) if part.strip()]
    bare, found = tex, 1
    while found:
        bare, found = re.subn(
            r"\\begin\{(\w+\*?)\}((?!\\begin).)*?\\end\{\1\}", "", bare, flags=re.DOTALL
        )
    if len(parts) > 1 or r"\\" in bare or re.search(r"(?<!\\)&", bare):
        return r"\begin{aligned}" + r"\\".join(parts) + r"\end{aligned}"
    return tex


def _missing(math: ET.Element) -> set[str]:
    """Return the characters that the math font lacks."""
    known, texts = characters(MATH), [leaf.text or "" for leaf in math.iter()]
    # Browsers draw a lone letter in italics, and so the font has no upright small Greek.
    return {char for text in texts for char in text if ord(char) not in known} - {
        text for text in texts if re.fullmatch("[α-ωϑϕϖϰϱϵ]", text)
    }


def _drawn(self: HTML5Translator, node: nodes.Element, tex: str, *, display: bool) -> str:
    try:
        math = to_mathml(tex, display=display, macros=MACROS | self.config.static_math_macros)
        if strange := _missing(math):
            raise ValueError(f"not in the math font: {' '.join(sorted(strange))}")
    except ValueError as error:
        place = next((one for one in (node, *ancestors(node)) if one.line is not None), node)
        message = "math: %s in %s"
        logger.warning(message, error, node.astext(), location=place, type="static_math")
        return f"<code>{self.encode(node.astext())}</code>"
    parts = broken(math)
    for part in parts:
        # The parts of a formula share a line, and only Chromium lets a stylesheet say so of blocks.
        if part is not None and "display" in part.attrib:
            del part.attrib["display"]
            part.set("displaystyle", "true")
    drawn = "".join(
        "</span> <span>"
        if part is None
        else ET.tostring(part, encoding="unicode", short_empty_elements=False)
        for part in parts
    )
    if not display:
        return drawn
    # Only a formula that a telephone may have to scroll is a stop for the keyboard. Parts are there
    # for the sake of lines: who hears a formula is told that it is one.
    stop = ' tabindex="0"' if any(part is not None and is_wide(part) for part in parts) else ""
    one = ' role="group" aria-label="Formula"' if stop or len(parts) > 1 else ""
    return f'<div class="math-scroll"{one}{stop}><span>{drawn}</span></div>'


def keep_with_words(app: Sphinx, doctree: nodes.document, _page: str) -> None:
    """Hold a formula and the comma or the parenthesis that touches it on one line.

    To a browser a formula is a picture, beside which any line may end.
    """
    for math in list(doctree.findall(nodes.math)):
        place = math.parent.index(math)
        before, after = math.parent[:place][-1:], math.parent[place + 1 :][:1]
        ends = []
        for neighbor, touching in ((before, r"\S{1,12}\Z"), (after, r"\A\S{1,12}")):
            text = neighbor[0] if neighbor and isinstance(neighbor[0], nodes.Text) else None
            found = re.search(touching, text) if text else None
            ends.append(nodes.Text(found[0] if found else ""))
            if text is not None and found:
                # By identity: a text equals any other with the same words, such as a comma.
                at = next(i for i, child in enumerate(math.parent) if child is text)
                math.parent[at] = nodes.Text(text[: found.start()] + text[found.end() :])
        if "".join(ends):
            word = nodes.inline("", "", classes=["math-word"])
            math.parent.replace(math, word)
            word += [ends[0], math, ends[1]]


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    drawn = _drawn(self, node, node.astext(), display=False)
    breaks = drawn.count("<math") > 1 or len(re.sub(r"<[^>]*>", "", drawn)) > 24
    kind = "math long" if breaks else "math"
    if breaks and "math-word" in node.parent["classes"]:  # no line ends before what touches it
        last = drawn.rindex("<math")
        drawn = f'{drawn[:last]}<span class="math-word">{drawn[last:]}</span>'
    self.body.append(self.starttag(node, "span", "", CLASS=f"{kind} notranslate nohighlight"))
    self.body.append(drawn + "</span>")
    raise nodes.SkipNode


def visit_math_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own, and its number, as Sphinx's renderers do."""
    tex = node.astext() if node["nowrap"] else wrapped(node.astext())
    number = get_node_equation_number(self, node) if node["number"] else None
    if "amsmath" in node["classes"]:
        node["ids"] = []  # random ids: MyST draws them anew in each build
    self.body.append(self.starttag(node, "div", "", CLASS="math notranslate nohighlight"))
    self.body.append(_drawn(self, node, tex, display=True))
    if number:
        self.body.append(f'<span class="eqno">({number})')
        if node["ids"]:
            self.add_permalink_ref(node, _("Link to this equation"))
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def register(app: Sphinx) -> None:
    """Register the renderer, and the setting with the macros of a page."""
    app.add_html_math_renderer("static_math", (visit_math, None), (visit_math_block, None))
    app.add_config_value("static_math_macros", {}, "html", [dict])
