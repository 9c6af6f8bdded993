"""What each lesson teaches, for those who plan with it: from the lessons themselves."""

from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx

from press import seams
from press.lesson.opening import minutes, promise_of
from press.lesson.picture import DRAWING, FOLDER
from press.markup import paragraph, raw, to_page
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
    """Return the line of a lesson: what it promises, its question for the room, its figures."""
    doctree = app.env.get_doctree(page)
    about = f" Level {level_of(app.env, page)}, {minutes(doctree)} minutes."
    link = to_page(page.removeprefix("book/"))
    line = paragraph(link, f": {promise_of(doctree)}", nodes.inline("", about))
    here = str(app.env.docname)
    for room in doctree.findall(nodes.admonition):
        if "room" in room["classes"]:
            to = f"{app.builder.get_relative_uri(here, page)}#{room['ids'][0]}"
            line += raw(f' <a href="{to}">A question for the room</a>.')
    root = "../" * app.builder.get_target_uri(here).count("/")
    files = [
        f'<a href="{root}{FOLDER}/{figure["ids"][0]}.svg" download>'
        f"{seams.number_of(app.env, page, figure['ids'][0])}</a>"
        for figure in doctree.findall(nodes.figure)
        if any(DRAWING.search(drawing.astext()) for drawing in figure.findall(nodes.raw))
    ]
    if files:
        line += raw(f" Figures (SVG): {', '.join(files)}.")
    return nodes.list_item("", line)
