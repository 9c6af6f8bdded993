"""What each lesson teaches, for those who plan with it: from the lessons themselves."""

from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx

from press.lesson.opening import minutes, promise_of
from press.markup import paragraph, to_page
from press.site.contents import is_lesson, level_of, parts
from press.site.placeholders import LateDirective


class Objectives(LateDirective):
    """``{objectives}``: every lesson with what its reader will do, its level and its length."""

    @staticmethod
    def content(app: Sphinx) -> Iterator[nodes.Node]:
        """Yield the name of every part that teaches, and its lessons."""
        for name, pages in parts(app.env):
            lessons = [lesson(app, page) for page in pages if is_lesson(page)]
            if lessons:
                yield paragraph(nodes.strong("", name))
                yield nodes.bullet_list("", *lessons)


def lesson(app: Sphinx, page: str) -> nodes.list_item:
    """Return the line of a lesson."""
    doctree = app.env.get_doctree(page)
    about = f" Level {level_of(app.env, page)}, {minutes(doctree)} minutes."
    link = to_page(page.removeprefix("book/"))
    return nodes.list_item("", paragraph(link, f": {promise_of(doctree)}", nodes.inline("", about)))
