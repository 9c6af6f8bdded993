"""Directives whose content is made when all pages have been read."""

from collections.abc import Iterable
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective


class placeholder(nodes.General, nodes.Element):  # type: ignore[misc]
    """The place of what a `LateDirective` gives."""


class LateDirective(SphinxDirective):
    """A directive that leaves a place for its content."""

    def run(self) -> list[nodes.Node]:
        """Leave the place."""
        return [placeholder(directive=type(self))]

    @staticmethod
    def content(app: Sphinx) -> Iterable[nodes.Node]:
        """Return the content, for the page `app.env.docname`."""
        raise NotImplementedError


class FillPlaceholders(SphinxPostTransform):
    """Fill the places, before the references in them are resolved."""

    default_priority = 4

    def run(self, **kwargs: Any) -> None:
        """Visit the places on a page."""
        for place in list(self.document.findall(placeholder)):
            content = list(place["directive"].content(self.app))
            place.replace_self(content)
            for node in content:
                for reference in node.findall(addnodes.pending_xref):
                    reference["refdoc"] = self.env.docname
