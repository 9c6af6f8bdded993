"""A page for every worked example, made from its data, and a link wherever its id stands.

The source of a page is a stub that names the example; what stands on it is read from the data
when Sphinx reads the stub, so that search, links and objects.inv treat it like any other page.
"""

import html
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from derivations.documents import fingerprint, read
from press.example import checker, downloads, sheets, slip_catalog, snippets, trace
from press.example.data import DATA, documents
from press.example.tables import decimals, shown, tables, whole, wide
from press.example.text import curled, powers, prose
from press.markup import defined, paragraph, raw, row, section, table, to_page
from press.site.addresses import EXAMPLE, base_of
from press.site.sources import CALLING, CALLS, RECIPES
from selfattn_ref.worked_examples import load, recipes

INDEX = "book/examples/index"
CARDS = {INDEX, "book/examples/slips"}  # pages of cards, which are filtered
USUAL = {"absolute": 1e-13, "relative": 1e-13}  # what the page of all examples says once
STUB = "({id})=\n# {id}: {title}\n\n```{{worked-example}} {id}\n```\n"


STEPS = """\
<p>How each array is computed from the others, with one entry worked out.</p>
"""
TRACE = """\
<p class="scripted trace-hint">Point at a number, tap it, or go to it with the arrow keys to see
beside it how it was computed.</p>
"""


def write_sources(root: Path) -> None:
    """Write the source of the page of every example; remove those whose data is gone."""
    folder = root / "book" / "examples"
    folder.mkdir(exist_ok=True)
    documents.cache_clear()  # a build begins
    wanted = {f"{name}.md": STUB.format(**data) for name, data in documents(root).items()}
    for path in folder.glob("SA*.md"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, encoding="utf-8")


def agreement(data: Mapping[str, Any]) -> str:
    """Compute every expected value with the library, and return how near the results are.

    It is a power of ten, 10⁻¹² at best: further digits depend on the machine. A difference
    beyond the tolerance ends the build.
    """
    import selfattn_ref

    example = load(data["id"])
    computed = recipes.recipe(data["id"])(selfattn_ref, example.inputs)
    if set(computed) != set(data["expected"]):
        raise ValueError(f"{data['id']}: its recipe computes other values than are expected")
    return repr(example.check(**computed)).rpartition("(")[2].rstrip(")")


def status(data: Mapping[str, Any]) -> list[nodes.Node]:
    """Return how far the library agrees with an example, or why it is no longer used."""
    if withdrawn := data.get("withdrawn"):
        see = f" See {withdrawn['see']}." if withdrawn["see"] else ""
        why = f" on {withdrawn['on']}: {withdrawn['because']}{see}"
        return [nodes.strong("", "withdrawn", classes=["error"]), *prose(curled(why))]
    count, _, near = agreement(data).partition(", ")
    return [nodes.strong("", f"✓ {count} agree"), *powers(f" with the library, {near}")]


def card(
    data: Mapping[str, Any], pages: set[str], found: Mapping[str, Any], base: str
) -> list[nodes.Node]:
    """Return the card of an example: its name, what it is for, and what is certain about it."""
    name, title = data["id"], html.escape(data["title"], quote=False)
    newer = [one for one, other in found.items() if other["supersedes"] == name]
    tests = [(RECIPES, name.lower(), "every value recomputed")]
    tests += [(CALLS, CALLING, "every call made")] if data["calls"] else []
    if data.get("withdrawn"):
        tests = []
    facts: dict[str, list[nodes.Node]] = {
        "Superseded by": [nodes.Text(one) for one in newer],
        "Supersedes": [nodes.Text(data["supersedes"] or "")],
        "Since": [
            nodes.Text(f"version {data['since']}, "),
            nodes.inline("", data["released"], classes=["date"]),
        ],
        "Topics": [nodes.Text(", ".join(data["topics"]))],
        "Tested in": [
            raw(", ".join(f'<a href="../{page}.html#{at}">{what}</a>' for page, at, what in tests))
        ],
        "Citation": [raw(copied(load(name).citation))],
    }
    open_ = " open" if newer else ""
    why = prose(curled(data["why"]))
    if data["page"] in pages:
        why += [nodes.Text(" Taught in "), to_page(data["page"]), nodes.Text(".")]
    record = [
        paragraph(*status(data)),
        raw(f"<p>{copied(f'{base}/{name}/', '' if base else ' data-here')}</p>"),
        raw(f"<details{open_}><summary>Citation and tests</summary>"),
        listed(facts),
        raw("</details>"),
    ]
    named = raw(
        f'<span class="number" aria-hidden="true">{name}</span>{beside(name, pages)}'
        f'<h1><span class="unseen">{name}: </span>{curled(title)}</h1>'
    )
    return [
        nodes.container("", named, classes=["card"]),
        paragraph(*why, classes=("why",)),
        nodes.container("", *record, classes=["card", "record"]),
    ]


def listed(facts: Mapping[str, Sequence[nodes.Node]]) -> nodes.definition_list:
    """Return facts by their names; one of which nothing is said is left out."""
    items = (
        defined(nodes.Text(term), paragraph(*content))
        for term, content in facts.items()
        if "".join(node.astext() for node in content)
    )
    return nodes.definition_list("", *items)


def copied(text: str, where: str = "") -> str:
    """Write a line that can be copied, and is cut off where it does not fit.

    An address is that of the page as it is read, if the public one is not known.
    """
    return f'<span class="copied line"><code{where}>{html.escape(text)}</code></span>'


def beside(name: str, pages: Collection[str]) -> str:
    """Return links to the catalog, and to the examples before and after one that have pages."""
    order = sorted(match[1] for one in pages if (match := EXAMPLE.fullmatch(f"book/{one}")))
    place = order.index(name) if name in order else 0
    catalog = '<a href="../examples/index.html">All examples</a>'
    links = [catalog] if "examples/index" in pages else []
    links += [f'<a href="../{one}/index.html">← {one}</a>' for one in order[:place][-1:]]
    links += [f'<a href="../{one}/index.html">{one} →</a>' for one in order[place + 1 :][:1]]
    return f'<span class="beside">{" ".join(links)}</span>'


def arrays(data: Mapping[str, Any], group: str) -> Iterator[nodes.Node]:
    """Yield a section for each array of a group, and one table for single numbers that follow."""
    single = []
    for name, entry in data[group].items():
        text = prose(curled(entry["description"]))
        if not isinstance(entry["value"], list):
            number = shown(entry["value"], decimals([entry["value"]]))
            exact = round(entry["value"], 6) == entry["value"]
            single.append(
                (name, number if exact else f"{number}<small>{entry['value']!r}</small>", text)
            )
            continue
        yield from numbers(single)
        single = []
        size = " × ".join(map(str, np.shape(entry["value"])))
        title = [nodes.literal("", name), raw(f' <span class="shape">{size}</span>')]
        drawn = raw(tables(name, data) + whole(entry["value"]))
        found = section(name, title, paragraph(*text), drawn)
        found["classes"] = ["array", *(["wide"] if wide(name, data) else [])]
        yield found
    yield from numbers(single)


def numbers(single: list[tuple[str, str, list[nodes.Node]]]) -> Iterator[nodes.Node]:
    """Yield a table of single numbers: name, value and what it is."""
    rows = []
    for name, number, text in single:
        rows.append(row([nodes.literal(name, name)], [raw(number)], text))
        rows[-1][0]["ids"] = [name]
    if rows:
        yield table((), rows, classes=["numbers"])


def page(
    data: Mapping[str, Any],
    pages: set[str],
    found: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    base: str = "",
) -> list[nodes.Node]:
    """Return what stands on the page of an example, one of those that were found."""
    function, method = data["derivation"]["function"], data["derivation"]["method"]
    tolerance, origin = data["tolerance"], data["provenance"]
    allowed = f"{tolerance['absolute']:.0e}"
    if tolerance["relative"]:
        allowed += f" + {tolerance['relative']:.0e} times the absolute value of the expected one"
    corrects = [paragraph(*prose(curled(origin["corrects"])))] if origin["corrects"] else []
    further = []
    if steps := trace.trace_of(data["id"]).steps():
        further.append(section("steps", "Step by step", raw(STEPS + steps)))
    if not data.get("withdrawn"):
        further += snippets.sections_of(data["id"], base)
    return [
        *card(data, pages, found, base),
        *sheets.section_of(data),
        raw(downloads.buttons(data["id"], base, runs=not data.get("withdrawn"))),
        raw(checker.link(data["id"])),
        section("inputs", "Inputs", *arrays(data, "inputs")),
        section(
            "expected",
            "Expected values",
            *([raw(TRACE)] if steps else []),
            *arrays(data, "expected"),
        ),
        *further,
        section(
            "derivation",
            "Derivation",
            paragraph(*prose(curled(method))),
            paragraph(
                "The function ",
                nodes.inline("", "", nodes.literal("", function), derives=function),
                nodes.Text(" derives all expected values without the library. "),
                nodes.inline(
                    "",
                    "",
                    *powers(
                        f"A computed number agrees if it is off by no more than {allowed}. "
                        "What a call returns may also be off by what rounding explains."
                    ),
                    classes=["usual"] if tolerance == USUAL else [],
                ),
            ),
        ),
        section(
            "origin",
            "Origin and corrections" if corrects else "Origin",
            paragraph(*prose(curled(origin["text"]))),
            *corrects,
        ),
    ]


class WorkedExamplePage(SphinxDirective):
    """``{worked-example} SA016``: the page of an example."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Read the data and lay it out."""
        root, name = Path(self.env.srcdir), self.arguments[0]
        for path in (DATA / f"{name}.json", *slip_catalog.SOURCES):
            self.env.note_dependency(str(root / path))
        found = documents(root)
        pages = {doc.removeprefix("book/") for doc in self.env.found_docs}
        return page(found[name], pages, found, base_of(self.config))


def around(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> str | None:
    """Tell the template of an example which comes before and after, and what stands on the page."""
    if page in CARDS:
        return "cards.html"
    if not EXAMPLE.fullmatch(page) or doctree is None:
        return None
    order = sorted(name for name in app.env.found_docs if EXAMPLE.fullmatch(name))
    place = order.index(page)

    def neighbor(name: str) -> dict[str, str]:
        example, _, title = app.env.titles[name].astext().partition(": ")
        return {"href": context["pathto"](name), "title": example, "question": title}

    for part in context["parts"]:
        part["here"] = any(entry["href"] == context["pathto"](INDEX) for entry in part["pages"])
    context["previous_page"] = neighbor(order[place - 1]) if place else None
    context["next_page"] = neighbor(order[place + 1]) if place + 1 < len(order) else None

    name = page.rpartition("/")[2]
    data = documents(Path(app.srcdir))[name]
    digest = fingerprint(read(Path(app.srcdir, DATA, f"{name}.json")))
    context["work"] = replace(
        context["work"],
        example=name,
        title=curled(data["title"]),
        digest=digest,
        date=data["released"],
        is_released=True,
    )
    if not data.get("withdrawn"):
        downloads.write_notebook(app, name, context["work"])
    context["example_data"] = data
    context["sections"] = [
        {
            "id": one["ids"][0],
            "title": one[0].astext(),
            "sections": [
                {"id": array["ids"][0], "title": array["ids"][0]}
                for array in one.findall(nodes.section)
                if array.parent is one
            ],
        }
        for one in doctree.findall(nodes.section)
        if isinstance(one.parent, nodes.section) and one.parent.parent is doctree
    ]
    return "example.html"


def register(app: Sphinx) -> None:
    """Write the sources before Sphinx looks for them."""
    write_sources(Path(app.srcdir))
