"""The code of a page: how it looks, and the marks of the worked examples that agree with it."""

import re
from collections.abc import Iterable
from typing import IO, Any

from docutils import nodes
from pygments.formatters import HtmlFormatter
from pygments.token import STANDARD_TYPES, Text
from sphinx.application import Sphinx

from press import seams
from press.markup import agreement, raw
from press.site.theme import THEME

# The kinds of tokens, by their short names, of which the stylesheet says how they look.
SHEET = (THEME / "page.css").read_text("utf-8")
STYLED = {*re.findall(r"\w+", " ".join(re.findall(r"^\.highlight :is\((.+?)\)", SHEET, re.M)))}


class CodeFormatter(HtmlFormatter):  # type: ignore[misc]  # Pygments has no types
    """Marks what the stylesheet sets apart in code, and nothing else."""

    def format(self, tokensource: Iterable[tuple[Any, str]], outfile: IO[str]) -> None:
        """Write the tokens."""
        kinds = (
            (kind if STANDARD_TYPES.get(kind) in STYLED else Text, text)
            for kind, text in tokensource
        )
        super().format(kinds, outfile)


def mark_checked(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Turn what a cell found to agree into marks at its corner."""
    for cell in list(doctree.findall(nodes.container)):
        if cell.get("nb_element") != "cell_code":
            continue
        marks = []
        for output in list(cell.findall(nodes.raw)):
            found = agreement(output.astext())
            if found and not found["convention"]:  # which one it is stays to be read
                address = app.builder.get_relative_uri(page, f"book/examples/{found['id']}")
                names = ", ".join(found["names"]).replace("_", " ")
                marks.append(
                    f'<a class="id" href="{address}" title="{names}">'
                    f'<span aria-hidden="true">✓</span> {found["id"]}'
                    f'<span class="unseen"> agrees: {found["found"]}</span></a>'
                )
                output.parent.remove(output)
        if marks:
            for box in list(cell.findall(nodes.container)):
                if box.get("nb_element") == "cell_code_output" and not box.children:
                    box.parent.remove(box)
            cell += raw(f'<p class="check">{" ".join(marks)}</p>')
            cell["classes"].append("agrees")


def register(app: Sphinx) -> None:
    """Have Sphinx write code in this way."""
    seams.format_code_with(CodeFormatter)
