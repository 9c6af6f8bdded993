"""Put the figures of the cells into the page itself, in the colors of the reader's theme.

An image file cannot know whether the reader has chosen the light or the dark theme; an inline
drawing can. Its description becomes the text that a screen reader says.
"""

import html
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

logger = logging.getLogger(__name__)

DESCRIPTION = ".//{http://purl.org/dc/elements/1.1/}description"


class InlineFigures(SphinxPostTransform):
    """Replace each SVG that a cell made, and require a caption and a description of all images."""

    default_priority = 5  # before Sphinx collects the images to copy
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Visit every image of the page."""
        from book._lib.palette import with_variables

        for place, image in enumerate(list(self.document.findall(nodes.image)), start=1):
            figure = image.parent if isinstance(image.parent, nodes.figure) else None
            if figure is None or not list(figure.findall(nodes.caption)):
                logger.warning("image without a caption: %s", image["uri"], location=image)
            path = Path(self.app.srcdir, image["uri"].lstrip("/"))
            if path.suffix != ".svg" or not path.is_file():
                if not image.get("alt"):
                    logger.warning("image without an alt text: %s", image["uri"], location=image)
                continue
            svg = path.read_text(encoding="utf-8")
            description = ET.fromstring(svg).findtext(DESCRIPTION)
            alt = image.get("alt") or description
            if not alt:
                logger.warning("image without an alt text: %s", image["uri"], location=image)
                continue
            drawing = inline(with_variables(svg), f"drawing-{place}-", alt)
            image.replace_self(nodes.raw("", drawing, format="html"))


def inline(svg: str, prefix: str, alt: str) -> str:
    """Return the drawing as an element of a page, with ids of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{prefix}", svg)
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.S)  # it would style the whole page
    svg = svg.replace("font-family: 'DejaVu Sans'; ", "")  # the page chooses the font
    return svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(alt)}"', 1)


def write_palette(app: Sphinx, exception: Exception | None) -> None:
    """Write the style sheet that gives the variables their colors."""
    from book._lib.palette import css_variables

    if exception is None and app.builder.format == "html":
        target = Path(app.outdir, "_static", "palette.css")
        target.write_text(css_variables(), encoding="utf-8")


def add_palette(app: Sphinx, config: Config) -> None:
    """Link the style sheet from every page."""
    app.add_css_file("palette.css")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_post_transform(InlineFigures)
    app.connect("config-inited", add_palette)
    app.connect("build-finished", write_palette)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
