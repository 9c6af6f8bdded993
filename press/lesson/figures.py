"""Require a caption and a description of every image, and a wide figure for a wide drawing.

The drawings of the cells are elements of the page, so that they follow the reader's theme. A page
loads the scripts of the figures on it that answer back, and no others.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from press.markup import ancestors
from press.site.theme import copy_script

FIGURES = Path(__file__).parents[2] / "book" / "figures"
#: What the script of the Sheet begins with; as one file they are 1 kB less to send than as three.
SHEET = (FIGURES / "attention.js", FIGURES / "entries.js")
LIVE = re.compile(r'data-live="(\w+)"')

logger = logging.getLogger(__name__)


class Figures(SphinxPostTransform):
    """Look at every image and drawing; a figure that holds a wide drawing becomes wide."""

    default_priority = 5  # after MyST-NB has chosen among the forms of an output
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Visit the images and drawings of the page."""
        for image in self.document.findall(nodes.image):
            self._figure_of(image, image["uri"])
            if not image.get("alt"):
                logger.warning("image without an alt text: %s", image["uri"], location=image)
        for drawing in self.document.findall(nodes.raw):
            text = drawing.astext()
            if text.startswith(('<div class="drawing', '<div class="whole')):
                figure = self._figure_of(drawing, "a drawing")
                if figure is not None and ("spanning" in text[:40] or "whole" in text[:40]):
                    figure["classes"].append("wide")

    def _figure_of(self, node: nodes.Element, name: str) -> nodes.figure | None:
        """Return the figure that a node belongs to, if it has a caption."""
        for figure in ancestors(node):
            if isinstance(figure, nodes.figure) and list(figure.findall(nodes.caption)):
                return figure
        logger.warning("image without a caption: %s", name, location=node)
        return None


def copy_scripts(app: Sphinx) -> None:
    """Put the scripts of the figures into the site."""
    for script in {*FIGURES.glob("*.js"), *FIGURES.glob("live/*.js")} - {*SHEET}:
        needs = SHEET if script.stem == "sheet" else ()
        copy_script(script, Path(app.outdir, "_static", script.relative_to(FIGURES)), *needs)


def load_scripts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Name the scripts of what answers on a page; each may need those before it."""
    drawings = [node.astext() for node in doctree.findall(nodes.raw)] if doctree else []
    names = sorted({name for drawing in drawings for name in LIVE.findall(drawing)})
    marks = {"own": "own", "sheet": "sheet", "trace": "arrays?"}
    marks |= dict.fromkeys(("reading", "judging", "checker"), "checker")
    every = "".join(drawings)
    others = [name for name, mark in marks.items() if re.search(f"data-{mark}=", every)]
    scripts = [f"live/{name}.js" for name in ("live", *names) if names or "own" in others]
    context["figure_scripts"] = [*scripts, *(f"{name}.js" for name in others)]
