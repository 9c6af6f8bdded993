"""The catalog of all worked examples, with its filters."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from press.example.data import documents
from press.example.text import curled, prose
from press.markup import paragraph, raw, to_page
from press.site.contents import level_of, parts
from press.site.placeholders import LateDirective

FACETS = {"topic": "Topic", "function": "Function", "kind": "Result", "level": "Level"}
KINDS = {"value": "Value", "convention": "Convention", "must_raise": "Must raise"}


class Catalog(LateDirective):
    """``{example-catalog}``: all examples in one table, by the part that teaches them."""

    @staticmethod
    def content(app: Sphinx) -> list[nodes.Node]:
        """Read all data; the parts are those of the table of contents."""
        found = documents(Path(app.srcdir))
        captions: dict[str, str] = {}
        for caption, pages in parts(app.env):
            for page in pages:
                captions.setdefault(page.split("/")[1], caption)
        for data in found.values():
            captions.setdefault(data["page"].split("/")[0], "Of pages to come")
        group = nodes.tgroup(cols=4)
        group += [nodes.colspec(colwidth=1) for _ in range(4)]
        titles = ("Id", "Example", "Taught in", "Topics")
        group += nodes.thead("", row(*([nodes.Text(title)] for title in titles)))
        body = nodes.tbody()
        facets = {
            name: facets_of(data, level_of(app.env, f"book/{data['page']}"))
            for name, data in found.items()
        }
        for part, caption in captions.items():
            chosen = {n: data for n, data in found.items() if data["page"].split("/")[0] == part}
            if chosen:
                entry = nodes.entry("", paragraph(nodes.strong("", caption)), morecols=3)
                body += nodes.row("", entry, classes=["part-row"])
            for name, data in chosen.items():
                taught = f"book/{data['page']}" in app.env.found_docs
                body += catalog_row(data, taught, facets[name])
        group += body
        return [raw(filters(facets.values())), nodes.table("", group, classes=["catalog"])]


def facets_of(data: Mapping[str, Any], level: str) -> dict[str, list[str]]:
    """Return what an example can be found by in the catalog."""
    calls = [] if data.get("withdrawn") else data["calls"]
    return {
        "topic": data["topics"],
        "function": list(dict.fromkeys(call["function"] for call in calls)),
        "kind": list(dict.fromkeys(call["kind"] for call in calls)) or ["value"],
        "level": level.split("–") if level else [],
    }


def catalog_row(
    data: Mapping[str, Any], taught: bool, facets: Mapping[str, list[str]]
) -> nodes.row:
    """Return the row of an example; its classes are what the filters look for."""
    mark = " (withdrawn)" if data.get("withdrawn") else ""
    about = [nodes.strong("", curled(data["title"]) + mark), nodes.Text(" ")]
    kinds = ", ".join(KINDS[kind].lower() for kind in facets["kind"])
    tested: list[nodes.Node] = []
    for function in facets["function"]:
        tested += [nodes.literal("", function), nodes.Text(" · ")]
    tested.append(nodes.inline("", kinds, classes=["kinds"]))
    level = "–".join(facets["level"])
    why = curled(data["why"]).replace("'", "’")  # Sphinx curls what is there before the content
    found = row(
        [to_page(f"examples/{data['id']}", nodes.Text(data["id"]))],
        [*about, *prose(why), nodes.inline("", "", *tested, classes=["calls"])],
        [to_page(data["page"]), nodes.inline("", f" level {level}", classes=["level"])]
        if taught
        else [],
        [nodes.Text(", ".join(data["topics"]))],
    )
    found["classes"] = [f"{facet}-{one}" for facet, all_of in facets.items() for one in all_of]
    return found


def filters(facets: Collection[Mapping[str, list[str]]]) -> str:
    """Return the controls of the catalog, which its script shows."""
    drawn = ""
    for facet, title in FACETS.items():
        counted = Counter(one for of in facets for one in of[facet])
        options = '<option value="">all</option>' + "".join(
            f'<option value="{one}">{KINDS.get(one, one)} ({count})</option>'
            for one, count in sorted(counted.items())
        )
        drawn += f'<label>{title}<select name="{facet}">{options}</select></label>'
    return (
        f'<form class="filters" hidden>{drawn}<p role="status"></p>'
        '<button type="reset">Show all</button></form>'
    )


def row(*entries: Iterable[nodes.Node]) -> nodes.row:
    """Return a row of a table."""
    return nodes.row("", *(nodes.entry("", paragraph(*entry)) for entry in entries))
