"""The catalog of all worked examples, with its filters."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from press import seams
from press.example.data import documents
from press.example.text import curled, prose
from press.site.markup import raw, to_page

FACETS = {"topic": "Topic", "function": "Function", "kind": "Result", "level": "Level"}


KINDS = {"value": "Value", "convention": "Convention", "must_raise": "Must raise"}


class Catalog(SphinxDirective):
    """``{example-catalog}``: all examples in one table, by the part that teaches them."""

    def run(self) -> list[nodes.Node]:
        """Read all data; the parts are those of the table of contents."""
        root = Path(self.env.srcdir)
        found = documents(root)
        pages = {doc.removeprefix("book/") for doc in self.env.found_docs}
        captions: dict[str, str | None] = {}
        for tree in seams.site_map(self.env).root.subtrees:
            for item in tree.items:
                captions.setdefault(str(item).split("/")[1], tree.caption)
        parts = dict.fromkeys([*captions, *(data["page"].split("/")[0] for data in found.values())])
        group = nodes.tgroup(cols=4)
        group += [nodes.colspec(colwidth=1) for _ in range(4)]
        titles = ("Id", "Example", "Taught in", "Topics")
        group += nodes.thead("", row(*([nodes.Text(title)] for title in titles)))
        body = nodes.tbody()
        facets = {
            name: facets_of(data, level_in(root, data["page"])) for name, data in found.items()
        }
        for part in parts:
            chosen = {n: data for n, data in found.items() if data["page"].split("/")[0] == part}
            if not chosen:
                continue
            caption = captions.get(part, "Of pages to come")
            entry = nodes.entry("", nodes.paragraph("", "", nodes.strong("", caption)), morecols=3)
            body += nodes.row("", entry, classes=["part-row"])
            for name, data in chosen.items():
                body += catalog_row(data, data["page"] in pages, facets[name])
        group += body
        return [raw(filters(facets.values())), nodes.table("", group, classes=["catalog"])]


def level_in(root: Path, page: str) -> str:
    """Return the level of a page as its source says; nothing for a page that is not there yet."""
    path = root / "book" / f"{page}.md"
    found = re.search(r"^level: (.+)$", path.read_text("utf-8"), re.M) if path.is_file() else None
    return found[1].strip("\"' ") if found else ""


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
    found = row(
        [to_page(f"examples/{data['id']}", nodes.Text(data["id"]))],
        [*about, *prose(curled(data["why"])), nodes.inline("", "", *tested, classes=["calls"])],
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
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *e)) for e in entries))


def register(app: Sphinx) -> None:
    """Register what Sphinx has to know of it."""
    app.add_directive("example-catalog", Catalog)
