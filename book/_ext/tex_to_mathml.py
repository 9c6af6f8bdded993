"""Turn TeX into the MathML that browsers draw: KaTeX reads it, and this module mends the rest.

KaTeX writes MathML for screen readers and draws with its own HTML. MathML Core, the part that
browsers implement, leaves out a few of the attributes that it uses; each is replaced below.
"""

from __future__ import annotations

import json
import re
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import quickjs

# MathML Core knows no `mathvariant` but "normal": a bold Q is a letter of its own.
ALPHABETS = {
    "bold": "BOLD",
    "italic": "ITALIC",
    "bold-italic": "BOLD ITALIC",
    "double-struck": "DOUBLE-STRUCK",
    "script": "SCRIPT",
    "fraktur": "FRAKTUR",
    "sans-serif": "SANS-SERIF",
    "monospace": "MONOSPACE",
}
# KaTeX writes the bars of \lvert and \lVert as relations, which neither stretch nor hug.
BARS = {"\N{DIVIDES}": "|", "\N{PARALLEL TO}": "\N{DOUBLE VERTICAL LINE}"}
# KaTeX writes spaces as space characters, and the back space \! as one with an invisible sign.
SPACES = {
    "\u200a": "0.0556em",
    "\u2009": "0.1667em",
    "\u2005": "0.2222em",
    "\u2005\u200a": "0.2778em",
    "\u200a\u2063": "-0.0556em",
    "\u2009\u2063": "-0.1667em",
    "\u205f\u2063": "-0.2222em",
    "\u2005\u2063": "-0.2778em",
}
APPLY = "\N{FUNCTION APPLICATION}"
SCRIPTED = {"msub", "msup", "msubsup", "munder", "mover", "munderover"}


def packaged(package: str, name: str) -> Path:
    """Return a file that an installed package carries."""
    try:
        spec = find_spec(package)
    except ModuleNotFoundError:
        spec = None
    file = Path(spec.origin).parent / name if spec and spec.origin else None
    if file is None or not file.is_file():
        raise FileNotFoundError(f"no {name} in the package {package}: install requirements.txt")
    return file


@cache  # One engine a process: it takes 20 ms to make, and KaTeX keeps nothing between calls.
def _katex() -> quickjs.Context:
    engine = quickjs.Context()
    engine.eval(packaged("sphinxcontrib.katex", "katex.min.js").read_text("utf-8"))
    # QuickJS cannot hand out a string that it glued together; JSON.stringify makes a whole one.
    engine.eval(
        "function render(tex, options) {"
        " try { return JSON.stringify([katex.renderToString(tex, options), '']) }"
        " catch (error) { return JSON.stringify(['', String(error.message)]) } }"
    )
    return engine


def to_mathml(
    tex: str, *, display: bool, macros: Mapping[str, str] | None = None, source: str | None = None
) -> ET.Element:
    """Return the ``<math>`` of `tex`, annotated with `source`; a ``ValueError`` says why not."""
    options = {
        "displayMode": display,
        "output": "mathml",
        "strict": "error",
        "macros": dict(macros or {}),
        "errorColor": "refused",
    }
    made, reason = json.loads(_katex().eval(f"render({json.dumps(tex)}, {json.dumps(options)})"))
    if reason:
        # KaTeX underlines the place with combining characters, which a log cannot show.
        raise ValueError(reason.replace("\N{COMBINING LOW LINE}", ""))
    if 'mathcolor="refused"' in made:
        raise ValueError("KaTeX refuses commands that link or fetch")
    # HTML needs no namespace, and the wrapping <span> serves KaTeX's stylesheet only.
    made = made.removeprefix('<span class="katex">').removesuffix("</span>")
    math = ET.fromstring(made.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "", 1))
    shown, annotation = math[0]
    annotation.text = tex if source is None else source
    _mend(shown)
    return math


def _mend(shown: ET.Element) -> None:
    for element in shown.iter():
        text = element.text or ""
        alphabet = ALPHABETS.get(element.get("mathvariant", ""))
        if alphabet:
            del element.attrib["mathvariant"]
            element.text = "".join(_letter(char, alphabet) for char in text)
        elif text in BARS and (element.tag != "mo" or element.keys()):  # a bare <mo> is \mid
            element.text = BARS[text]
            if element.tag == "mo":
                element.attrib |= {"lspace": "0", "rspace": "0"}
        elif text in SPACES:
            element.tag, element.text = "mspace", None
            element.set("style", f"margin-left:{SPACES[text]}")  # a width cannot be negative
        elif text == "^" and element.get("stretchy") == "true":
            element.text = "\N{COMBINING CIRCUMFLEX ACCENT}"  # the one that has wide forms
        elif text == "\N{COMBINING RIGHT ARROW ABOVE}":
            element.set("style", "padding-left:0.44em")  # it is drawn to the left of its place
        if element.get("fence") == "true":
            element.set("stretchy", "true")
        if element.tag == "mo" and len(element):
            element.tag = "mrow"  # \overset: an operator that is drawn must be plain text
        if element.tag == "mpadded" and element.get("width") == "+0.6em":  # over \xrightarrow
            element.tag, element.attrib = "mrow", {"style": "padding:0 0.3em"}
        if element.tag == "mrow":
            _space_names(element)
        elif element.tag == "mtable":
            _lay_out(element)
        elif element.tag == "menclose" and element.get("notation") != "box":
            raise ValueError(f"browsers draw no {element.get('notation')}")


@cache
def _letter(char: str, alphabet: str) -> str:
    name = re.sub(r"\b(LATIN|GREEK|LETTER|LUNATE) ", "", unicodedata.name(char, ""))
    for prefix in "MATHEMATICAL ", "":  # ℝ, ℒ and a few more are older than the block of the rest
        try:
            return unicodedata.lookup(f"{prefix}{alphabet} {name}")
        except KeyError:
            continue
    return char


def _space_names(row: ET.Element) -> None:
    """Part an operator's name from its neighbors by TeX's thin space, but not from a fence."""
    parts = list(row)
    for place, part in enumerate(parts):
        base = part
        while base.tag in SCRIPTED:
            base = base[0]
        # log x is <mi>log</mi><mo>APPLY</mo><mi>x</mi>; max_i x has the pair in an <mrow>.
        if base.tag == "mrow" and len(base) and base[-1].text == APPLY:
            end = place
        elif place + 1 < len(parts) and parts[place + 1].text == APPLY:
            end = place + 1
        else:
            continue
        before, after = parts[:place][-1:], parts[end + 1 : end + 2]
        if before and before[0].tag not in {"mo", "mspace"} and "".join(before[0].itertext()):
            part.set("style", "margin-left:0.1667em")
        first = next((leaf for leaf in after[0].iter() if not len(leaf)), None) if after else None
        if first is not None and first.tag in {"mi", "mn"}:
            style = parts[end].get("style", "")
            parts[end].set("style", f"{style};margin-right:0.1667em".lstrip(";"))


def _lay_out(table: ET.Element) -> None:
    """Turn KaTeX's table attributes into cell styles; static_math.css has the usual values."""
    if table.get("width"):
        raise ValueError(r"\tag is not supported: give the equation a label to have it numbered")
    table.attrib.pop("rowspacing", None)
    keys = ("columnalign", "columnspacing", "columnlines", "rowlines")
    aligns, gaps, bars, rules = (table.attrib.pop(key, "").split() for key in keys)

    def before(values: list[str], index: int, usual: str) -> str:
        """Return the value in front of column or row `index`; the last one repeats."""
        return (values[index - 1 : index] or values[-1:] or [usual])[0] if index else usual

    for line, row in enumerate(table):
        # KaTeX leaves room for numbers that only its stylesheet fills; Sphinx numbers instead.
        row[:] = [cell for cell in row if cell.get("class", "")[:4] not in {"mtr-", "mml-"}]
        for column, cell in enumerate(row):
            align = (aligns[column : column + 1] or ["center"])[0]
            gap = before(gaps, column, "1em")
            bar, rule = before(bars, column, "none"), before(rules, line, "none")
            styles = [f"text-align:{align}"] * (align != "center")
            styles += [f"padding-left:{gap}"] * (gap != "1em")
            styles += [f"border-left:1px {bar};padding-left:0.5em"] * (bar != "none")
            styles += [f"border-top:1px {rule}"] * (rule != "none")
            if before(bars, column + 1, "none") != "none" and column + 1 < len(row):
                styles.append("padding-right:0.5em")  # the bar stands in the middle of the gap
            if styles:
                cell.set("style", ";".join(styles))
