"""The catalog of all worked examples, with its filters."""

import html
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from docutils import nodes
from sphinx.application import Sphinx

from press.example import sheets, stamps
from press.example.data import documents
from press.example.text import curled
from press.markup import raw
from press.site.contents import level_of, parts
from press.site.placeholders import LateDirective

FACETS = {"topic": "Topic", "function": "Function", "kind": "Result", "level": "Level"}
MOST = 12  # rows and columns of a stamp
KINDS = {"value": "Value", "convention": "Convention", "must_raise": "Must raise"}


class Catalog(LateDirective):
    """``{example-catalog}``: a card for every example, by the part that teaches it."""

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
        drawn, facets = "", []
        for part, caption in captions.items():
            cards = ""
            for data in found.values():
                if data["page"].split("/")[0] == part:
                    one = facets_of(data, level_of(app.env, f"book/{data['page']}"))
                    cards += card(data, one)
                    facets.append(one)
            if cards:
                drawn += f'<section><h2>{caption}</h2><div class="cards">{cards}</div></section>'
        return [raw(f'{filters(facets, FACETS)}\n<div class="catalog">{drawn}</div>')]


def facets_of(data: Mapping[str, Any], level: str) -> dict[str, list[str]]:
    """Return what an example can be found by in the catalog."""
    calls = [] if data.get("withdrawn") else data["calls"]
    return {
        "topic": data["topics"],
        "function": list(dict.fromkeys(call["function"] for call in calls)),
        "kind": list(dict.fromkeys(call["kind"] for call in calls)) or ["value"],
        "level": level.split("–") if level else [],
    }


def card(data: Mapping[str, Any], facets: Mapping[str, list[str]]) -> str:
    """Write the card of an example; its classes are what the filters look for."""
    name, level = data["id"], "–".join(facets["level"])
    mark = " (withdrawn)" if data.get("withdrawn") else ""
    classes = [f"{facet}-{one}" for facet, all_of in facets.items() for one in all_of]
    return (
        f'<article class="{" ".join(["example-card", *classes])}">'
        f'<a href="../{name}/index.html">{stamp(data)}<b>{name}</b> '
        f"<span>{html.escape(curled(data['title']))}{mark}</span></a>"
        f"{f'<small>level {level}</small>' if level else ''}</article>"
    )


def stamp(data: Mapping[str, Any]) -> str:
    """Draw the weights of an example, or another array of it where it has none."""
    for sheet in sheets.of_example(data["id"])[:1]:
        return stamps.drawn(np.nan_to_num(sheet.arrays()["weights"]), role="weight")
    arrays = {**data["expected"], **data["inputs"]}
    numbers = {n: np.asarray(entry["value"]) for n, entry in arrays.items()}
    fit = {
        name: array
        for name, array in numbers.items()
        if array.dtype.kind in "bif" and array.ndim and array.shape[-1] <= MOST
    }
    if not fit:
        return '<svg class="stamp" aria-hidden="true" width="64" height="64"></svg>'
    name = max(fit, key=lambda one: (min(fit[one].ndim, 2), arrays[one].get("role") == "weight"))
    array = fit[name]
    while array.ndim > 2:
        array = array[0]
    array = np.atleast_2d(array)[:MOST].astype(float)
    return stamps.drawn(array, role=arrays[name].get("role", "soft"))


def filters(
    facets: Collection[Mapping[str, list[str]]], titles: Mapping[str, str], of: str = "example"
) -> str:
    """Return the controls of cards, each of which is `of` a kind; their script shows them."""
    drawn = ""
    for facet, title in titles.items():
        counted = Counter(one for card in facets for one in card[facet])
        options = '<option value="">all</option>' + "".join(
            f'<option value="{one}">{KINDS.get(one, one)} ({count})</option>'
            for one, count in sorted(counted.items())
        )
        drawn += f'<label>{title}<select name="{facet}">{options}</select></label>'
    return (
        f'<form class="filters" data-of="{of}" hidden>{drawn}<p role="status"></p>'
        '<button type="reset">Show all</button></form>'
    )
