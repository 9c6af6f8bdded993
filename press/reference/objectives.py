"""What each lesson teaches, for those who plan with it: from the lessons themselves."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from press import seams
from press.lesson.blocks import level, minutes
from press.math.text import words
from press.site.frame import LESSONS, pages_of
from press.site.markup import to_page

PROMISE = re.compile(r"You will (.+?)(?=\nYou need|\Z)", re.S)


class objectives(nodes.General, nodes.Element):  # type: ignore[misc]
    """The place of the list; all pages have to be read before it can be made."""


class Objectives(SphinxDirective):
    """``{objectives}``: every lesson with what its reader will do, its level and its length."""

    def run(self) -> list[nodes.Node]:
        """Keep the place."""
        return [objectives()]


class FillObjectives(SphinxPostTransform):
    """Fill in the list."""

    default_priority = 4

    def run(self, **kwargs: Any) -> None:
        """Visit the place of the list."""
        for place in list(self.document.findall(objectives)):
            place.replace_self(list(self.parts()))

    def parts(self) -> Iterator[nodes.Node]:
        """Yield the name of every part that teaches, and its lessons."""
        site_map = seams.site_map(self.env)
        for tree in site_map.root.subtrees:
            pages = [page for page in pages_of(site_map, tree) if Path(page).parts[1] in LESSONS]
            if pages:
                yield nodes.paragraph("", "", nodes.strong("", tree.caption))
                yield nodes.bullet_list("", *map(self.lesson, pages))

    def lesson(self, page: str) -> nodes.list_item:
        """Return the line of a lesson."""
        doctree = self.env.get_doctree(page)
        opening = words(next(doctree.findall(nodes.section))[1])
        found = PROMISE.search(opening)
        if found is None:
            raise ValueError(f"{page} does not say what its reader will do")
        about = f" Level {level(self.env, page)}, {minutes(doctree)} minutes."
        link = to_page(page.removeprefix("book/"))
        link["refdoc"] = self.env.docname
        does = " ".join(found[1].split())
        text = nodes.paragraph("", "", link, nodes.Text(f": {does}"), nodes.inline("", about))
        return nodes.list_item("", text)


def register(app: Sphinx) -> None:
    """Register what Sphinx has to know of it."""
    app.add_node(objectives)
    app.add_directive("objectives", Objectives)
    app.add_post_transform(FillObjectives)
