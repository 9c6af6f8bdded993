"""The contents of the book: its parts, and their pages in reading order."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx_external_toc.api import FileItem, TocTree

from press import seams

LESSONS = {"concepts", "analogies", "scaling", "causal", "beyond"}
LEVELS = re.compile(r"[123](–[23])?")


def is_lesson(page: str) -> bool:
    """Tell whether a page is a lesson."""
    return not LESSONS.isdisjoint(page.split("/")[1:2])


def parts(env: BuildEnvironment) -> list[tuple[str, list[str]]]:
    """Return the name of every part of the book with its pages in reading order."""
    site_map = seams.site_map(env)

    def pages(trees: Iterable[TocTree]) -> Iterator[str]:
        for item in (item for tree in trees for item in tree.items if isinstance(item, FileItem)):
            yield str(item)
            yield from pages(site_map[str(item)].subtrees)

    return [(tree.caption or "", list(pages([tree]))) for tree in site_map.root.subtrees]


def level_of(env: BuildEnvironment, page: str) -> str:
    """Return the level of a page, such as "1" or "2–3"; nothing for a page that teaches nothing."""
    level = str(env.metadata.get(page, {}).get("level", ""))
    if level and not LEVELS.fullmatch(level):
        raise ValueError(f"{page}: the level must be 1, 2, 3 or a range such as 2–3, got {level}")
    return level


def levels(env: BuildEnvironment, pages: Iterable[str]) -> str:
    """Return the levels of several pages, such as "1–2"; nothing where none teaches."""
    found = [level for page in pages for level in level_of(env, page).split("–") if level]
    return "–".join(sorted({min(found), max(found)})) if found else ""


def question_of(env: BuildEnvironment, page: str) -> str:
    """Return the question that a page answers."""
    return str(env.metadata.get(page, {}).get("question", ""))


def entry_of(app: Sphinx, page: str, name: str) -> dict[str, Any]:
    """Return what a link from `page` to the page `name` says and where it leads."""
    return {
        "name": name,
        "href": app.builder.get_relative_uri(page, name),
        "title": app.env.titles[name].astext(),
        "question": question_of(app.env, name),
        "here": name == page,
    }


def parts_seen_from(app: Sphinx, page: str) -> list[dict[str, Any]]:
    """Return the parts of the book, each with its pages and levels, as seen from a page."""
    found = []
    for caption, names in parts(app.env):
        if caption:
            entries = [entry_of(app, page, name) for name in names]
            for place, entry in enumerate(entries):
                entry["before"] = page in names[place + 1 :]
            found.append(
                {
                    "name": caption,
                    "pages": entries,
                    "here": page in names,
                    "level": levels(app.env, names),
                }
            )
    return found
