"""What the templates are told of a page: its head, its place in the book, what comes next."""

import hashlib
import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from book.figures import palette
from press.math.text import words
from press.site import rights
from press.site.addresses import EXAMPLE, base_of, public_path, sources_of
from press.site.breaks import breakable
from press.site.citation import work_of
from press.site.commit import released
from press.site.contents import (
    entry_of,
    is_lesson,
    level_of,
    parts_seen_from,
    question_of,
    trail,
)
from press.site.paper import quoted, running_heads
from press.site.policy import POLICY
from selfattn_ref import __version__ as version


def page_context(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> str | None:
    """Tell the templates what they show of a page; return the template of its kind."""
    set_place(app, page, context)
    set_head(app, page, context, doctree)
    context["body"] = breakable(context.get("body", ""))
    context["question"] = question_of(app.env, page)
    context["level"] = level_of(app.env, page)
    context["sections"] = list(sections_of(doctree)) if doctree is not None else []
    context["version"] = version
    context["released"] = released()
    context["year"], context["rights"] = str(app.config.copyright), rights
    if page == app.config.master_doc:
        return "front.html"
    return "lesson.html" if is_lesson(page) else None


def set_place(app: Sphinx, page: str, context: dict[str, Any]) -> None:
    """Tell where a page stands in the book, and what comes before and after it."""
    context["parts"], context["trail"] = parts_seen_from(app, page), trail(app, page)
    pages = [entry_of(app, page, str(app.config.master_doc))]
    pages += [one for part in context["parts"] for one in part["pages"]]
    place = next((place for place, one in enumerate(pages) if one["here"]), None)
    around = [None, *pages, None] if place is not None else [None] * 3
    context["previous_page"], _, context["next_page"] = around[place or 0 :][:3]


def sections_of(doctree: nodes.document) -> Iterator[dict[str, str]]:
    """Yield the sections below the title of a page, then the functions that it documents."""
    for section in doctree.findall(nodes.section):
        if isinstance(section.parent, nodes.section) and section.parent.parent is doctree:
            yield {"id": section["ids"][0], "title": section[0].astext()}
    for function in doctree.findall(addnodes.desc_signature):
        if function["ids"]:
            yield {"id": function["ids"][0], "title": function["fullname"]}


def set_head(
    app: Sphinx, page: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Tell the head of a page its description, its address and what it loads."""
    title, base = str(app.config.html_title), base_of(app.config)
    context["book_title"], context["policy"] = title, POLICY
    context["promise"] = describe(doctree)
    description = context["promise"] or f"{context.get('title')}, {title}"
    context["description"] = html.escape(description)
    context["canonical"] = base and f"{base}/{public_path(app, page)}"
    context["social_card"] = f"{base}/_static/card.png"
    context["edit"] = edited_at(app, page)
    context["paper"] = palette.PAPER

    def asset(name: str) -> str:
        digest = hashlib.sha256(Path(app.outdir, "_static", name).read_bytes()).hexdigest()[:8]
        return f"{context['pathto'](f'_static/{name}', 1)}?v={digest}"

    context["asset"] = asset
    named = app.env.titles.get(page)
    without_tags = html.unescape(re.sub(r"<[^>]+>", "", str(context.get("title"))))
    name = words(named) if named else without_tags
    context["work"] = work_of(app, page, name)
    above = " · ".join([title, *(one["name"] for one in context["trail"][:1])])
    address = quoted(context["canonical"] or app.builder.get_target_uri(page))
    context["on_paper"] = (
        f"{running_heads('', above, name)} @page :first {{ @bottom-left {{ content: "
        f"{quoted(rights.on_paper(version, released()))} }} }} :root {{ --address: {address} }}"
    )


def edited_at(app: Sphinx, page: str) -> str:
    """Return where one edits the source of a page, if people write it and it has an address."""
    sources, branch = sources_of(app.config), app.config.html_theme_options.get("repository_branch")
    written = (
        page in app.env.found_docs and page.startswith("book/") and not EXAMPLE.fullmatch(page)
    )
    return f"{sources}/edit/{branch}/{page}.md" if sources and written else ""


def describe(doctree: nodes.document | None) -> str:
    """Return the first sentences of a page, as many as a list of search results shows."""
    for paragraph in doctree.findall(nodes.paragraph) if doctree is not None else ():
        if isinstance(paragraph.parent, nodes.section):
            text = " ".join(words(paragraph).split())
            return text if len(text) <= 200 else text[:200].rsplit(" ", 1)[0] + " …"
    return ""


def pages_without_source(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the page for wrong addresses, and that on which one searches."""
    yield "404", {"title": "No such page"}, "404.html"
    yield "search", {"title": "Search"}, "search.html"
