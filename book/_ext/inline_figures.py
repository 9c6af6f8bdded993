"""Require a caption and a description of every image, and give the drawings their style sheet.

The drawings of the cells are elements of the page, so that they follow the reader's theme.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

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
            if drawing.astext().startswith('<div class="drawing'):
                figure = self._figure_of(drawing, "a drawing")
                if figure is not None and "spanning" in drawing.astext()[:40]:
                    figure["classes"].append("wide")

    def _figure_of(self, node: nodes.Element, name: str) -> nodes.figure | None:
        """Return the figure that a node belongs to, if it has a caption."""
        above = node.parent
        while above is not None and not isinstance(above, nodes.figure):
            above = above.parent
        if above is None or not list(above.findall(nodes.caption)):
            logger.warning("image without a caption: %s", name, location=node)
            return None
        return above


def write_style(app: Sphinx, exception: Exception | None) -> None:
    """Write the style sheet of the drawings, with the colors."""
    from book._lib.palette import css_variables

    if exception is None and app.builder.format == "html":
        drawings = Path(app.srcdir, "book", "_lib", "figures.css").read_text(encoding="utf-8")
        target = Path(app.outdir, "_static", "figures.css")
        target.write_text(css_variables() + drawings, encoding="utf-8")


def add_style(app: Sphinx, config: Config) -> None:
    """Link the style sheet from every page."""
    app.add_css_file("figures.css")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_post_transform(Figures)
    app.connect("config-inited", add_style)
    app.connect("build-finished", write_style)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
