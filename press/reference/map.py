"""The map of the book: its pages by their questions, and the paths that lead over them."""

import html
import json
import string
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from press.lesson.opening import minutes
from press.markup import raw
from press.site.contents import entry_of, levels, parts, parts_seen_from
from press.site.placeholders import LateDirective


@dataclass(frozen=True)
class Path:
    """A way over some lessons: what the front page calls it, and where each of them stands."""

    key: str  # in the address of a page that is read on it
    letter: str
    name: str
    pages: list[str]
    places: list[float]  # in the reading order of the book

    def rail(self, place: float) -> str:
        """Return what is drawn of the path at a place of the book, or between two."""
        if not self.places[0] <= place <= self.places[-1]:
            return "<i></i>"
        if place not in self.places:
            return '<i class="pass"></i>'
        ends = {self.places[0]: "begin", self.places[-1]: "end"}
        kind = ends.get(place, "stop")
        return f'<i class="{kind}"><b>{self.letter if kind != "stop" else ""}</b></i>'


def paths_over(env: BuildEnvironment) -> list[Path]:
    """Return the paths that the front page names, through the pages that name them."""
    front = env.metadata[str(env.config.master_doc)]
    names = json.loads(front.get("paths", "{}"))
    order = [page for _, pages in parts(env) for page in pages]
    stops: dict[str, list[str]] = {key: [] for key in names}
    for page in order:
        for key in str(env.metadata.get(page, {}).get("paths", "")).split():
            if key not in stops:
                raise ValueError(f"{page}: the paths are {', '.join(names)}, got {key}")
            stops[key].append(page)
    return [
        Path(key, letter, names[key], pages, [float(order.index(page)) for page in pages])
        for letter, (key, pages) in zip(string.ascii_uppercase, stops.items(), strict=False)
        if pages
    ]


def tell_paths(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Tell the template on which paths a page is, and which pages come around it on each."""
    context["on_paths"] = []
    for path in paths_over(app.env):
        if page not in path.pages:
            continue
        at = path.pages.index(page)
        around = {"before": path.pages[at - 1 : at], "after": path.pages[at + 1 : at + 2]}
        context["on_paths"].append(
            {"key": path.key, "name": path.name, "at": at + 1, "of": len(path.pages)}
            | {way: [entry_of(app, page, one) for one in pages] for way, pages in around.items()}
        )


def duration(app: Sphinx, path: Path) -> str:
    """Say how long the lessons of a path take, in half hours."""
    halves = round(sum(minutes(app.env.get_doctree(page)) for page in path.pages) / 30)
    return f"{halves // 2}{'½' * (halves % 2)} {'hour' if halves <= 2 else 'hours'}"


class Map(LateDirective):
    """``{map}``: the paths over the book, and its pages with a line for each path."""

    @staticmethod
    def content(app: Sphinx) -> Iterator[nodes.Node]:
        """Yield the paths, then the pages."""
        paths = paths_over(app.env)
        yield raw(f'<ul class="paths">{"".join(legend(app, path) for path in paths)}</ul>')
        order = [page for _, pages in parts(app.env) for page in pages]

        def rails(place: float) -> str:
            drawn = "".join(path.rail(place) for path in paths)
            return f'<span class="rails" aria-hidden="true">{drawn}</span>'

        rows = []
        for part in parts_seen_from(app, app.env.docname):
            if not part["level"]:
                continue
            places = [order.index(one["name"]) for one in part["pages"]]
            stations = ""
            for place, one in zip(places, part["pages"], strict=True):
                on = "".join(path.letter for path in paths if place in path.places)
                stations += (
                    f'<li>{rails(place)}<a href="{one["href"]}">{html.escape(one["question"])}</a>'
                    f" <small>{html.escape(one['title'])}</small>"
                    + f'<span class="unseen"> {" ".join(on)}</span>' * bool(on)
                    + "</li>"
                )
            head = f"{part['name']}<small>level {part['level']}</small>"
            rows.append(f"<dt>{rails(places[0] - 0.5)}{head}</dt><dd><ul>{stations}</ul></dd>")
        yield raw(f'<dl class="map">{"".join(rows)}</dl>')


def legend(app: Sphinx, path: Path) -> str:
    """Return the letter of a path, its name with its first page, its levels and its length."""
    first = app.builder.get_relative_uri(app.env.docname, path.pages[0])
    return (
        f'<li><b>{path.letter}</b> <a href="{first}?path={path.key}">{html.escape(path.name)}</a>'
        f" <small>level {levels(app.env, path.pages)}, {duration(app, path)}</small></li>"
    )
