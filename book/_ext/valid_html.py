"""Mend what the extensions and the theme write into the pages against the rules of HTML."""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

SUMMARY = '<summary aria-label="Show or hide the pages of this section">'
# numpydoc makes the numbers of references unique in the book; readers need them in one docstring.
DOCSTRING_REFERENCE = re.compile(r"(?<=[\[>])R[0-9a-f]{12}-(\d+)(?=[\]<])")
REPEATED_IDS = {"exercise-content", "solution-content", "proof-content", "proof"}


class UniqueIds(SphinxPostTransform):
    """Drop the ids that every exercise, solution and proof of a page would share."""

    default_priority = 400

    def run(self, **kwargs: Any) -> None:
        """Visit every section of the page, and the box of every proof."""
        for section in self.document.findall(
            lambda node: isinstance(node, nodes.section | nodes.admonition)
        ):
            repeated = REPEATED_IDS.intersection(section["ids"])
            section["ids"] = [name for name in section["ids"] if name not in repeated]
            section["classes"] += sorted(repeated.difference(section["classes"]))


def drop_live_code(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Leave out the scripts for live code, which Jupyter Book adds twice and nobody asked for."""
    context["script_files"] = [
        script
        for script in context["script_files"]
        if "thebe" not in f"{script} {getattr(script, 'attributes', {}).get('body')}".lower()
    ]


# What is written, and what screen readers need in its place.
REPLACEMENTS = (
    ('<summary><span class="toctree-toggle"', f'{SUMMARY}<span class="toctree-toggle"'),
    (
        '<div id="pst-primary-sidebar"',
        '<div id="pst-primary-sidebar" role="complementary" aria-label="Book"',
    ),
    (' role="doc-biblioentry"', ""),
    ('<div role="list" class="citation-list">', '<div class="citation-list">'),
)


def mend_pages(app: Sphinx, exception: Exception | None) -> None:
    """Name the buttons of the side bar; drop roles that these elements may not have."""
    if exception is None and app.builder.format == "html":
        for path in Path(app.outdir).rglob("*.html"):
            page = path.read_text(encoding="utf-8")
            for written, needed in REPLACEMENTS:
                page = page.replace(written, needed)
            page = DOCSTRING_REFERENCE.sub(r"\1", page)
            path.write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_post_transform(UniqueIds)
    app.connect("build-finished", mend_pages)
    app.connect("html-page-context", drop_live_code, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
