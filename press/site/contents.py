"""The contents of the book: its parts, and their pages in reading order."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx_external_toc.api import FileItem, TocTree

from press import seams

LESSONS = {"concepts", "analogies", "scaling", "causal", "beyond"}
LEVELS = re.compile(r"[123](–[23])?")


def is_lesson(page: str) -> bool:
    """Tell whether a page is a lesson."""
    return not LESSONS.isdisjoint(page.split("/")[1:2])


class Place(NamedTuple):
    """Where a page is in the book; "Reference: library" is a caption with a part and a group."""

    part: str
    group: str
    above: tuple[str, ...]  # the pages that it belongs to, from the outermost


def places(env: BuildEnvironment) -> dict[str, Place]:
    """Return the place of every page in the contents, in reading order."""
    site_map, found = seams.site_map(env), dict[str, Place]()

    def add(trees: Iterable[TocTree], part: str, group: str, *above: str) -> None:
        for item in (item for tree in trees for item in tree.items if isinstance(item, FileItem)):
            found[str(item)] = Place(part, group, above)
            add(site_map[str(item)].subtrees, part, group, *above, str(item))

    for tree in site_map.root.subtrees:
        part, _, group = (tree.caption or "").partition(": ")
        add([tree], part, group)
    return found


CHECKED = "book/reference/how-the-numbers-are-checked"
# The places of pages that are not in the contents, by how their names begin.
ELSEWHERE = {
    "book/examples/": Place("Worked examples", "", ()),
    "_modules/": Place("Reference", "library", ("book/reference/api/index",)),
    "genindex": Place("Reference", "look up", ()),
    "derivations/": Place("Reference", "project", (CHECKED,)),
    "tests/": Place("Reference", "project", (CHECKED,)),
    "selfattn_ref/": Place("Reference", "project", (CHECKED,)),  # sources that pages name
}


def place_of(env: BuildEnvironment, page: str) -> Place | None:
    """Return the place of a page; nothing for the front page and those without a source."""
    begins = (place for start, place in ELSEWHERE.items() if page.startswith(start))
    return places(env).get(page) or next(begins, None)


def trail(app: Sphinx, page: str) -> list[dict[str, str]]:
    """Return what a page belongs to, from its part on: what each is called, and where it is."""
    place, known = place_of(app.env, page), dict(parts(app.env))
    if not place or place.part not in known:  # of a book that is not whole
        return []
    found = [{"name": place.part, "href": known[place.part][0]}]
    found += [{"name": place.group, "href": ""}] if place.group else []
    found += [
        {"name": app.env.titles[one].astext(), "href": one}
        for one in place.above
        if one in app.env.titles
    ]
    for one in found:
        one["href"] = one["href"] and app.builder.get_relative_uri(page, one["href"])
    return found


def parts(env: BuildEnvironment) -> list[tuple[str, list[str]]]:
    """Return the name of every part of the book with its pages in reading order."""
    found: dict[str, list[str]] = {}
    for page, place in places(env).items():
        found.setdefault(place.part, []).append(page)
    return list(found.items())


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
    found, groups = [], {name: place.group for name, place in places(app.env).items()}
    own = place_of(app.env, page)
    for caption, names in parts(app.env):
        if caption:
            entries = [entry_of(app, page, name) for name in names]
            for place, entry in enumerate(entries):
                entry["before"] = page in names[place + 1 :]
                if not place or groups[names[place - 1]] != groups[names[place]]:
                    entry["group"] = groups[names[place]]
            found.append(
                {
                    "name": caption,
                    "pages": entries,
                    "here": own is not None and own.part == caption,
                    "level": levels(app.env, names),
                }
            )
    return found
