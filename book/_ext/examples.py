"""A page for every worked example, made from its data, and a link wherever its id stands.

The source of a page is a stub that names the example; what stands on it is read from the data
when Sphinx reads the stub, so that search, links and objects.inv treat it like any other page.
"""

import html
import importlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import checking
import tracing
import trying
from addresses import EXAMPLE
from docutils import nodes
from source_pages import (
    CALLING,
    CALLS,
    DERIVATIONS,
    RECOMPUTED,
    RECOMPUTING,
    defined_in,
    recomputing,
)
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

DATA = Path("selfattn_ref", "worked_examples", "data")
INDEX = "book/examples/index"
STUB = "({id})=\n# {id}: {title}\n\n```{{worked-example}} {id}\n```\n"

ID = re.compile(r"\bSA\d{3}\b")
# d_k and W_Q W_Kᵀ are mathematics, d_output and np.infty are code.
LETTER = "[A-Za-z](?:_[A-Za-z])?"
FORMULA = re.compile(
    rf"(?<!\w)(?:(?P<product>(?:{LETTER} )*{LETTER})ᵀ"
    r"|(?P<root>√?)(?P<letter>[A-Za-z]_[A-Za-z])(?!\w)"
    r"|(?P<code>np\.\w+|[a-z]+(?:_[a-z]+)+))|ᵀ"
)

# What an array is decides its color: the first of these words that is in its name.
ROLES = {
    "weights": "weight",
    "scores": "score",
    "query": "query",
    "key": "key",
    "value": "value",
    "output": "context",
    "outputs": "context",
    "context": "context",
}
PAIRS = re.compile(r"(?:.*_)?(?:scores|weights|mask)(?:_.*)?")  # a row a query, a column a key
OUTPUTS = re.compile(r"(?!w_)(?:.*_)?(?:output|context)(?:_.*)?")  # a row a query
SYMMETRIC = re.compile(r"(?:scaled_)?(?:dot|cosine|distance)")  # a row and a column a word
FACETS = {"topic": "Topic", "function": "Function", "kind": "Result", "level": "Level"}
KINDS = {"value": "Value", "convention": "Convention", "must_raise": "Must raise"}
STEPS = """\
<p>How the arrays are made of each other, with one entry worked out.</p>
"""
TRACE = """\
<p class="scripted trace-hint">Point at a number, tap it, or go to it with the arrow keys: what made
it stands beside it.</p>
"""
STRONGEST = 38  # percent of the color in the cell with the largest number: text stays readable


@cache
def documents(root: Path) -> dict[str, dict[str, Any]]:
    """Return the data of every example, by id."""
    paths = sorted((root / DATA).glob("SA*.json"))
    return {path.stem: json.loads(path.read_text("utf-8")) for path in paths}


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


# Numbers


def decimals(values: list[Any]) -> int:
    """Return how many decimals the numbers need, six at most."""
    written = [f"{value:.6f}" for value in values]
    if any(float(text) != value for text, value in zip(written, values, strict=True)):
        return 6
    return max((len(text.rstrip("0").partition(".")[2]) for text in written), default=0)


def shown(value: Any, places: int) -> str:
    """Write a number with six digits at most; 0 stands for zero and nothing else."""
    if isinstance(value, str):
        return value
    if value == 0:
        return "0"
    if (abs(value) < 1e-3 and round(value, 6) != value) or abs(value) >= 1e7:
        mantissa, _, exponent = f"{value:.5e}".partition("e")
        return f"{mantissa}×10<sup>{int(exponent)}</sup>".replace("-", "−")
    return f"{value:.{places}f}".replace("-", "−")


def flat(value: Any) -> Iterator[Any]:
    """Yield the entries of an array in order."""
    if isinstance(value, list):
        for part in value:
            yield from flat(part)
    else:
        yield value


def shape(value: Any) -> tuple[int, ...]:
    """Return the shape of an array."""
    return (len(value), *shape(value[0])) if isinstance(value, list) else ()


def digits(value: Any) -> str:
    """Write an array as Python reads it, with all digits, a row a line."""
    if shape(value)[1:]:
        return "[\n " + ",\n ".join(digits(part).replace("\n", "\n ") for part in value) + "\n]"
    return repr(value)


# Tables


def words_of(name: str, data: Mapping[str, Any], count: int) -> list[str] | None:
    """Return the words, `count` of them, that the rows of an array stand for, if it has any."""
    inputs = data["inputs"]
    for given, entry in inputs.items():
        # weights_money are those of sentence_money, output_reversed those of the reversal.
        tail = given.rpartition("_")[2]
        if "indices_of" in entry and any(part.startswith(tail[:6]) for part in name.split("_")):
            chosen = [inputs[entry["indices_of"]]["value"][index] for index in entry["value"]]
            return chosen if len(chosen) == count else None
    lists = [f"{name.partition('_')[0]}_words", "query_words", "words"]
    for words in (inputs[given]["value"] for given in lists if given in inputs):
        if len(words) == count:
            return list(words)
    return None


def heads(name: str, data: Mapping[str, Any], length: int, axis: int) -> list[str]:
    """Return the heads of an axis: 0 for columns, 1 for rows, 2 for tables.

    The description of an array says what its rows are: "one row per axis", "for each width".
    """
    entry = {**data["inputs"], **data["expected"]}[name]
    if "indices_of" in entry:
        words = data["inputs"][entry["indices_of"]]["value"]
        return [words[index] for index in entry["value"]]
    text, pair = entry["description"], PAIRS.fullmatch(name) is not None
    dimension = len(shape(entry["value"]))
    thing = re.search(
        {
            0: r"\b[Oo]ne column (?:an?|per) (\w+)" if dimension > 1 else r"\b[Ff]or each (\w+)\b",
            1: r"\b[Oo]ne row (?:an?|per) (\w+)|\b[Oo]ne (\w+) a row|\bat each (\w+)",
            2: r"\b(?:table an?|each) ((?:query |key/value )?head|query|scale|sentence)\b",
        }[axis],
        text,
    )
    if SYMMETRIC.fullmatch(name) and axis < 2:
        noun, numbered = "word", False
    elif thing:
        noun, numbered = next(filter(None, thing.groups())), True
        if dimension == 1 and f"{noun}s" not in data["inputs"]:
            noun = ""
    elif pair and axis < 2 and "each step" not in text:
        noun, numbered = ("key", "query")[axis], True
    elif axis == 1 and OUTPUTS.fullmatch(name):
        noun, numbered = "query", True
    else:
        noun, numbered = "", False
    listed = data["inputs"].get("axes" if noun == "axis" else f"{noun}s", {}).get("value")
    if listed and len(listed) == length:
        whole = noun in {"word", "axis"}
        return [f"{item}" if whole else f"{noun} {item}" for item in listed]
    if noun in {"query", "key", "value", "word", "position", "step"} and name != "encoding":
        words = words_of(name if axis else f"key_{name}", data, length)
        if words:
            return words
    if axis > 1 and not noun:
        noun, numbered = "table", True
    return [f"{noun} {index}" if noun and numbered else f"{index}" for index in range(length)]


def role_of(name: str) -> str:
    """Return the role whose color an array has, or the color of what plays none."""
    return next((ROLES[word] for word in ROLES if word in name.split("_")), "soft")


def cell(value: Any, places: int, largest: float) -> str:
    """Write a cell of a table, shaded by its size."""
    if isinstance(value, str):
        return f'<td class="word">{html.escape(value)}</td>'
    if isinstance(value, bool):
        mark, style = ("●", f' style="--a:{STRONGEST}%"') if value else ("·", ' class="no"')
        return (
            f'<td{style}><span aria-hidden="true">{mark}</span>'
            f'<span class="unseen">{value}</span></td>'
        )
    share = round(STRONGEST * abs(value) / largest) if largest else 0
    color = ";--role:var(--negative)" if value < 0 else ""
    attributes = f' style="--a:{share}%{color}"' if value else ' class="no"'
    return f"<td{attributes}>{shown(value, places)}</td>"


def tables(name: str, data: Mapping[str, Any]) -> str:
    """Write an array as a table, and one of more than two dimensions as a table for each matrix."""
    entry = {**data["inputs"], **data["expected"]}[name]
    value = entry["value"]
    sizes = shape(value)
    numbers = [entry for entry in flat(value) if not isinstance(entry, str | bool)]
    places, largest = decimals(numbers), float(max(map(abs, numbers), default=0))
    if "weights" in name:
        largest = max(largest, 1.0)  # a share of the whole
    if "indices_of" in entry:
        largest = 0.0  # an index is no size
    columns = heads(name, data, sizes[-1], 0)
    rows = heads(name, data, sizes[-2], 1) if len(sizes) > 1 else [""]
    captions = [heads(name, data, size, 2) for size in sizes[:-2]]
    style = f' style="--role:var(--{role_of(name)})"'
    found = []
    for place in itertools.product(*map(range, sizes[:-2])):
        matrix = value
        for index in place:
            matrix = matrix[index]
        label = ", ".join(caption[index] for caption, index in zip(captions, place, strict=True))
        caption = f"<caption>{html.escape(label)}</caption>" if place else ""
        corner = "<td></td>" if len(sizes) > 1 else ""
        head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in columns)
        body = ""
        for row, entries in zip(rows, matrix if len(sizes) > 1 else [matrix], strict=True):
            start = f'<th scope="row">{html.escape(row)}</th>' if len(sizes) > 1 else ""
            body += f"<tr>{start}{''.join(cell(e, places, largest) for e in entries)}</tr>\n"
        title = html.escape(f"{name} {label}".strip())
        at = name + "".join(f"[{index}]" for index in place)
        traced = ""
        if tracing.is_traced(data["id"], at):
            traced = f' data-example="{data["id"]}" data-array="{at}"'
        found.append(
            f'<div class="table"><table class="matrix" aria-label="{title}"{traced}{style}>'
            f"{caption}<thead><tr>{corner}{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
        )
    return "\n".join(found) if len(found) == 1 else f'<div class="slices">{"".join(found)}</div>'


def wide(name: str, data: Mapping[str, Any]) -> bool:
    """Tell whether a row of an array needs more room than the column of the text has."""
    value = {**data["inputs"], **data["expected"]}[name]["value"]
    entries = list(flat(value))
    places = decimals([e for e in entries if not isinstance(e, str | bool)])
    lengths = [len(re.sub("<.*?>", "", shown(e, places))) + 2 for e in entries]
    columns = shape(value)[-1]
    return sum(max(lengths[column::columns]) for column in range(columns)) > 60


# The page


def prose(text: str) -> list[nodes.Node]:
    """Return the nodes of a sentence of the data, with its formulas and its names of code."""
    found: list[nodes.Node] = []
    end = 0
    for match in FORMULA.finditer(text):
        found.append(nodes.Text(text[end : match.start()]))
        root, letter, product, code = match.group("root", "letter", "product", "code")
        if code:
            found.append(nodes.literal("", code))
        elif product or letter:
            tex = rf"{product}^\top" if product else rf"\sqrt{{{letter}}}" if root else letter
            found.append(nodes.math("", tex))
        else:
            found.append(nodes.superscript("", "T"))
        end = match.end()
    return [*found, nodes.Text(text[end:])]


def raw(text: str) -> nodes.raw:
    """Return HTML as a node."""
    return nodes.raw("", text, format="html")


def to_page(name: str, *text: nodes.Node) -> addnodes.pending_xref:
    """Return a link to a page of the book, with the title of the page if no text is given."""
    content = text or (nodes.inline(name, name),)
    return addnodes.pending_xref(
        "",
        *content,
        refdomain="std",
        reftype="doc",
        reftarget=f"/book/{name}",
        refexplicit=bool(text),
        refwarn=True,
    )


def section(name: str, *children: nodes.Node, title: list[nodes.Node]) -> nodes.section:
    """Return a section with an anchor of its own choice."""
    return nodes.section("", nodes.title("", "", *title), *children, ids=[name], names=[])


def agreement(data: Mapping[str, Any]) -> str:
    """Compute every expected value with the library, and return how near the results are.

    A difference beyond the tolerance ends the build.
    """
    import selfattn_ref
    from selfattn_ref.worked_examples import load

    module = importlib.import_module(RECOMPUTED.replace("/", "."))
    compute = getattr(getattr(module, RECOMPUTING), data["id"].lower())
    example = load(data["id"])
    computed = compute(selfattn_ref, example.inputs)
    if set(computed) != set(data["expected"]):
        raise ValueError(f"{data['id']}: {RECOMPUTED} computes other values than are expected")
    return repr(example.check(**computed)).rpartition("(")[2].rstrip(")")


def powers(text: str) -> Iterator[nodes.Node]:
    """Yield a text that is written with 1e-15 as one with a power of ten."""
    for place, part in enumerate(re.split(r"1e(-\d+)", text)):
        if place % 2:
            yield nodes.Text("10")
            yield nodes.superscript("", f"{int(part)}".replace("-", "−"))
        else:
            yield nodes.Text(part)


def status(data: Mapping[str, Any]) -> list[nodes.Node]:
    """Return how far the library agrees with an example, or why it is no longer used."""
    if withdrawn := data.get("withdrawn"):
        see = f" See {withdrawn['see']}." if withdrawn["see"] else ""
        why = f" on {withdrawn['on']}: {withdrawn['because']}{see}"
        return [nodes.strong("", "withdrawn", classes=["negative"]), *prose(curled(why))]
    agrees = f" with the library in this build: {agreement(data)}"
    return [nodes.strong("", "✓ agrees"), *powers(agrees)]


def card(
    data: Mapping[str, Any], pages: set[str], found: Mapping[str, Any], base: str
) -> list[nodes.Node]:
    """Return the card of an example: its name, what it is for, and what is certain about it."""
    from selfattn_ref.worked_examples import load
    from selfattn_ref.worked_examples.__main__ import cited

    name, title = data["id"], html.escape(data["title"], quote=False)
    newer = [one for one, other in found.items() if other["supersedes"] == name]
    tests = [(RECOMPUTED, recomputing(name), "every value recomputed")]
    tests += [(CALLS, CALLING, "every call made")] if data["calls"] else []
    if data.get("withdrawn"):
        tests = []
    facts: dict[str, list[nodes.Node]] = {
        "Status": status(data),
        "Superseded by": [nodes.Text(one) for one in newer],
        "Supersedes": [nodes.Text(data["supersedes"] or "")],
        "Since": [
            nodes.Text(f"version {data['since']}, "),
            nodes.inline("", data["released"], classes=["date"]),
        ],
        "Topics": [nodes.Text(", ".join(data["topics"]))],
        "Taught in": [to_page(data["page"])] if data["page"] in pages else [],
        "Tested in": [
            raw(", ".join(f'<a href="../{page}.html#{at}">{what}</a>' for page, at, what in tests))
        ],
        "Address": [raw(copied(f"{base}/{name}/"))],
        "Citation": [raw(copied(cited(load(name))))],
    }
    listed = nodes.definition_list()
    for term, content in facts.items():
        if "".join(node.astext() for node in content):
            listed += nodes.definition_list_item(
                "",
                nodes.term("", term),
                nodes.definition("", nodes.paragraph("", "", *content)),
            )
    named = raw(
        f'<span class="number" aria-hidden="true">{name}</span>{beside(name, pages)}'
        f'<h1><span class="unseen">{name}: </span>{curled(title)}</h1>'
    )
    return [
        nodes.container("", named, classes=["card"]),
        nodes.paragraph("", "", *prose(curled(data["why"])), classes=["why"]),
        nodes.container("", listed, classes=["card", "record"]),
    ]


def copied(text: str) -> str:
    """Write a line that can be copied, and is cut off where it does not fit."""
    return f'<span class="copied line"><code>{html.escape(text)}</code></span>'


def beside(name: str, pages: Iterable[str]) -> str:
    """Return links to the examples before and after an example that have pages."""
    order = sorted(match[1] for one in pages if (match := EXAMPLE.fullmatch(f"book/{one}")))
    place = order.index(name) if name in order else 0
    links = [f'<a href="../{one}/index.html">← {one}</a>' for one in order[:place][-1:]]
    links += [f'<a href="../{one}/index.html">{one} →</a>' for one in order[place + 1 :][:1]]
    return f'<span class="beside">{" ".join(links)}</span>'


def curled(text: str) -> str:
    """Return a text with the quotation marks of print."""
    return re.sub(r'(^|(?<=[\s(]))"', "“", text).replace('"', "”")


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
        size = " × ".join(map(str, shape(entry["value"])))
        title = [nodes.literal("", name), raw(f' <span class="shape">{size}</span>')]
        drawn = raw(tables(name, data) + whole(entry["value"]))
        found = section(name, nodes.paragraph("", "", *text), drawn, title=title)
        found["classes"] = ["array", *(["wide"] if wide(name, data) else [])]
        yield found
    yield from numbers(single)


def whole(value: Any) -> str:
    """Write an array as a list that can be copied, folded below its table."""
    exact = all(isinstance(e, str | bool) or round(e, 6) == e for e in flat(value))
    summary = "As a list" if exact else "All digits"
    return (
        f'<details class="digits copied"><summary>{summary}</summary>'
        f"<pre>{html.escape(digits(value), quote=False)}</pre></details>"
    )


def numbers(single: list[tuple[str, str, list[nodes.Node]]]) -> Iterator[nodes.Node]:
    """Yield a table of single numbers: name, value and what it is."""
    if not single:
        return
    group = nodes.tgroup(cols=3)
    group += [nodes.colspec(colwidth=1) for _ in range(3)]
    body = nodes.tbody()
    for name, number, text in single:
        body += nodes.row(
            "",
            nodes.entry("", nodes.paragraph("", "", nodes.literal(name, name)), ids=[name]),
            nodes.entry("", nodes.paragraph("", "", raw(number))),
            nodes.entry("", nodes.paragraph("", "", *text)),
        )
    group += body
    yield nodes.table("", group, classes=["numbers"])


def page(
    data: Mapping[str, Any],
    pages: set[str],
    found: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    base: str = "",
) -> list[nodes.Node]:
    """Return what stands on the page of an example, one of those that were found."""
    function = data["derivation"]["function"]
    tolerance = data["tolerance"]
    origin = data["provenance"]
    steps = tracing.steps_of(data["id"])
    corrected = (
        [nodes.paragraph("", "", *prose(curled(origin["corrects"])))] if origin["corrects"] else []
    )
    return [
        *card(data, pages, found, base),
        raw(trying.buttons(data["id"], runs=not data.get("withdrawn"))),
        raw(checking.link(data["id"])),
        section("inputs", *arrays(data, "inputs"), title=[nodes.Text("Inputs")]),
        section(
            "expected",
            *([raw(TRACE)] if steps else []),
            *arrays(data, "expected"),
            title=[nodes.Text("Expected values")],
        ),
        *([section("steps", raw(STEPS + steps), title=[nodes.Text("Step by step")])] * bool(steps)),
        *(
            section(name, *content, title=[nodes.Text(title)])
            for name, title, content in trying.sections_of(data["id"], base)
            if not data.get("withdrawn")
        ),
        section(
            "derivation",
            nodes.paragraph("", "", *prose(curled(data["derivation"]["method"]))),
            nodes.paragraph(
                "",
                "",
                nodes.Text("The function "),
                nodes.inline("", "", nodes.literal("", function), derives=function),
                *powers(
                    " derives all of them without the library. A computed number agrees if it is "
                    f"off by no more than {tolerance['absolute']:.0e} + "
                    f"{tolerance['relative']:.0e} times "
                    "the size of the expected one."
                ),
            ),
            title=[nodes.Text("Derivation")],
        ),
        section(
            "origin",
            nodes.paragraph("", "", *prose(curled(origin["text"]))),
            *corrected,
            title=[nodes.Text("Origin and corrections" if corrected else "Origin")],
        ),
    ]


class WorkedExamplePage(SphinxDirective):
    """``{worked-example} SA016``: the page of an example."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Read the data and lay it out."""
        root, name = Path(self.env.srcdir), self.arguments[0]
        for path in (DATA / f"{name}.json", trying.SLIPS):
            self.env.note_dependency(str(root / path))
        found = documents(root)
        pages = {doc.removeprefix("book/") for doc in self.env.found_docs}
        return page(found[name], pages, found, trying.base_of(self.config))


class Catalog(SphinxDirective):
    """``{example-catalog}``: all examples in one table, by the part that teaches them."""

    def run(self) -> list[nodes.Node]:
        """Read all data; the parts are those of the table of contents."""
        root = Path(self.env.srcdir)
        found = documents(root)
        pages = {doc.removeprefix("book/") for doc in self.env.found_docs}
        captions: dict[str, str | None] = {}
        for tree in self.env.external_site_map.root.subtrees:  # type: ignore[attr-defined]
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


# Links


def link_ids(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Turn every id in the running text into a link to its page."""
    if app.builder.format != "html":
        return
    if EXAMPLE.fullmatch(page):
        top = next(doctree.findall(nodes.section))
        top.remove(top[0])  # the title, which the card has
    for inline in list(doctree.findall(lambda node: isinstance(node, nodes.inline))):
        if function := inline.get("derives"):
            source = defined_in(Path(app.srcdir), DERIVATIONS)[function]
            address = f"{app.builder.get_relative_uri(page, source)}#{function}"
            inline.replace_self(nodes.reference("", "", *inline.children, refuri=address))
    named: dict[str, None] = {}
    for text in list(doctree.findall(nodes.Text)):
        if ID.search(text) and not within(text, NOT_PROSE):
            linked = list(with_links(app, text, page))
            text.parent.replace(text, linked)
            named |= dict.fromkeys(n.astext() for n in linked if isinstance(n, nodes.reference))
    if named:
        found = documents(Path(app.srcdir))
        doctree += raw("".join(about(found[name]) for name in named))


def about(data: Mapping[str, Any]) -> str:
    """Return the card that stands beside a link to an example while one points at it."""
    name, title, why = (html.escape(curled(data[key])) for key in ("id", "title", "why"))
    takes, knows = (
        ", ".join(f"<code>{one}</code>" for one in data[group]) for group in ("inputs", "expected")
    )
    return (
        f'<div class="about" id="about-{name}" role="tooltip" popover="manual">'
        f"<p><b>{name}</b> {title}</p><p>{why}</p>"
        f"<p><small>Given: {takes}. Known: {knows}.</small></p></div>\n"
    )


NOT_PROSE = (
    nodes.FixedTextElement,
    nodes.Titular,
    nodes.literal,
    nodes.math,
    nodes.raw,
    nodes.reference,
    addnodes.desc_signature,
    addnodes.pending_xref,
)


def within(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
    """Tell whether a node stands inside an element of one of these kinds."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False


def with_links(app: Sphinx, text: nodes.Text, page: str) -> Iterator[nodes.Node]:
    """Yield the parts of a text, its ids as links."""
    end = 0
    for match in ID.finditer(text):
        name = f"book/examples/{match[0]}"
        if name in app.env.found_docs and name != page:
            yield nodes.Text(text[end : match.start()])
            address = app.builder.get_relative_uri(page, name)
            title = app.env.titles[name].astext()
            yield nodes.reference(
                "", match[0], refuri=address, reftitle=title, internal=True, classes=["id-link"]
            )
            end = match.end()
    yield nodes.Text(text[end:])


def around(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> str | None:
    """Tell the template of an example which comes before and after, and what stands on the page."""
    if page == INDEX:
        return "catalog.html"
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
    from derivations.documents import fingerprint, read

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
        trying.write_notebook(app, name, context["work"])
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


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension; the sources must be there before the table of contents is read."""
    write_sources(Path(app.srcdir))
    app.add_directive("worked-example", WorkedExamplePage)
    app.add_directive("example-catalog", Catalog)
    app.connect("doctree-resolved", link_ids, priority=950)
    app.connect("html-page-context", around, priority=960)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
