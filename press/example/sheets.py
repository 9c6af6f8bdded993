"""The sheets of an example: one for each call of attention that it makes, of one head or sequence.

What is drawn is what the call is given; words and axes come from the data of the arrays that the
call names. Which slips change something is computed with the catalog.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import count, groupby, islice
from typing import Any

import numpy as np
from docutils import nodes

from book.figures.sheet import LETTERS, MOST, Sheet, root, tabs
from book.figures.sheet import of_heads as heads_of
from press.example.axes import heads
from press.example.data import documents
from press.example.slip_catalog import caught_by
from press.example.text import curled
from press.markup import raw, section
from press.site.theme import ROOT
from selfattn_ref.worked_examples import Axis, Call, load, slips

ARRAYS = {
    "self_attention": ("x", "w_query", "w_key", "w_value"),
    "scaled_dot_product_attention": ("query", "key", "value"),
}
HEADS = "multi_head_attention"
WEIGHTS = ("w_query", "w_key", "w_value", "w_output")
REFERENCE = re.compile(r"(\w+)(?:\[(\w+|\d+:\d+)\])?")
SCRIPT = ROOT / "book" / "figures" / "attention.js"
WHY_DIVIDE = (
    "The scores are divided by the root of the width of a key: "
    '<a href="../concepts/attention-equation.html#why-divide-by-the-root">why</a>.'
)
FIRST = 6  # sheets of an example; one with two sequences and three heads has 42
OPTIONS = ("scale", "soft_cap", "causal", "offset")


def sheets(data: Mapping[str, Any]) -> Iterator[Sheet]:
    """Yield the sheets of an example, those with the matrices of the roles first."""
    known: list[Any] = []
    calls = load(data["id"]).calls
    order = (HEADS, "self_attention")  # those with matrices first
    for call in sorted(calls, key=lambda call: call.function not in order):
        inputs = (x for x in call.arguments.values() if isinstance(x, np.ndarray))
        finite = all(np.isfinite(x).all() for x in inputs)  # JSON has no word for the others
        if call.function not in (HEADS, *ARRAYS) or call.expected is None or not finite:
            continue
        for sheet in (of_heads if call.function == HEADS else of_call)(call, data):
            arrays = sheet.arrays()
            names = [name for name in ("weights", "output", "sum") if name in arrays]
            shown = [np.nan_to_num(arrays[name]).round(9).tolist() for name in names]
            narrow = all(array.shape[1] <= MOST for array in arrays.values())
            if shown not in known and narrow:
                known += [shown, shown[:2]]
                yield sheet


@cache
def of_example(name: str) -> tuple[Sheet, ...]:
    """Return the sheets that stand on the page of an example."""
    return tuple(islice(sheets(documents(ROOT)[name]), FIRST))


@cache
def in_the_script() -> set[str]:
    """Return the slips that the script of the sheets can do."""
    return set(re.findall(r'^    "([a-z0-9-]+)": \{', SCRIPT.read_text("utf-8"), re.M))


def broken_by(slip: str) -> list[str]:
    """Return the examples whose first sheet opens broken at the name of a slip."""
    if slip not in in_the_script():
        return []
    return [
        name
        for name, data in documents(ROOT).items()
        if not data.get("withdrawn") and any(slip in one.slips for one in of_example(name)[:1])
    ]


def section_of(data: Mapping[str, Any]) -> list[nodes.Node]:
    """Return the section of an example with its sheets, the first of them open; or nothing."""
    drawn: list[str] = []
    numbers = count(1)
    titles = {sheet.call: sheet.title for sheet in of_example(data["id"])}
    for call, group in groupby(of_example(data["id"]), lambda sheet: sheet.call):
        title = html.escape(titles[call])
        if [*titles.values()].count(titles[call]) > 1:
            title += f" (call {call})"
        is_open = "" if drawn else " open"
        heads = list(group)
        width = heads[0].arrays()["key"].shape[1]
        bodies = [numbered(next(numbers), sheet) for sheet in heads]
        if heads[0].head:
            bodies = [tabs(heads, bodies, f"call-{call}")]
        head = f"<summary>{title}</summary>{meanings(call, width, data)}"
        drawn += [f'<details class="one"{is_open}>{head}{body}</details>' for body in bodies]
    if not drawn:
        return []
    if (many := sum(1 for _ in sheets(data))) > FIRST:
        drawn.append(f'<p class="uses">These are the first {FIRST} of {many} sheets.</p>')
    name = nodes.inline("", "On one sheet", classes=["unseen"])
    return [section("on-one-sheet", [name], raw("".join(drawn)))]


def meanings(call: int, width: int, data: Mapping[str, Any]) -> str:
    """Say what the matrices of a call do, in the words of the data, and what it divides by."""
    given = data["calls"][call]["arguments"]
    described = {name: data["inputs"][given[name]] for name in WEIGHTS if name in given}
    if not described:
        return ""
    said = [
        f'<dt style="--role:var(--{name.removeprefix("w_")})">{LETTERS[name][0]}</dt>'
        f"<dd>{html.escape(curled(array['description']))}</dd>"
        for name, array in described.items()
    ]
    if "scale" not in given and width > 1:
        said.append(f"<dt>÷ {root(width)}</dt><dd>{WHY_DIVIDE}</dd>")
    return f'<dl class="meanings">{"".join(said)}</dl>'


def numbered(number: int, sheet: Sheet) -> str:
    """Write a sheet with its address."""
    name = f"sheet-{number}" if number > 1 else "sheet"
    return f'<div id="{name}">{sheet.html}</div>'


def of_heads(call: Call, data: Mapping[str, Any]) -> Iterator[Sheet]:
    """Yield the sheet of each head of multi-head attention, with what it adds to the output."""
    references, given = data["calls"][call.number]["arguments"], call.arguments
    heads = given["num_heads"]
    of_keys = given.get("num_key_value_heads", heads)
    known = {"x_query", "x_key_value", *WEIGHTS, "num_heads", "num_key_value_heads"}
    if references["x_query"] != references["x_key_value"] or set(given) - known:
        return
    counts = dict(zip(WEIGHTS, (heads, of_keys, of_keys, heads), strict=True))
    rows = labels_of(references["x_query"], data, -2)
    words, axis = is_named(references["x_query"], data), axes_of(references["x_query"], data)[-2]
    sheets = heads_of(
        data["id"],
        given["x_query"],
        {name: given[name] for name in WEIGHTS},
        counts,
        title=f"{' '.join(rows) if words else f'{len(rows)} {axis.name}s'}, {heads} "
        + ("head" if heads == 1 else "heads"),
        rows=rows,
        columns=rows,
        features=labels_of(references["x_query"], data, -1),
        outputs=labels_of(references["w_output"], data, -1),
        nouns=nouns_of(references["x_query"], references["x_query"], references["w_output"], data),
        call=call.number,
    )
    slips = {name: said for sheet in sheets for name, said in broken(sheet).items()}
    for sheet in sheets:
        yield replace(sheet, slips=slips)


def of_call(call: Call, data: Mapping[str, Any]) -> Iterator[Sheet]:
    """Yield the sheet of a call, or one for each head and each sequence that it is made for."""
    references = data["calls"][call.number]["arguments"]
    names, arguments = ARRAYS[call.function], call.without_capabilities().arguments
    given = {name: np.asarray(arguments[name]) for name in names}
    given |= {name: arguments[name] for name in ("mask", "bias") if name in arguments}
    if len({references[name] for name in names}) == 1:  # query, key and value in one
        given = {"x": given["query"]} | {n: given[n] for n in ("mask", "bias") if n in given}
    first, last = references[names[0]], references[names[-1]]
    key = references.get("key", first)
    labels: dict[str, Any] = {
        "rows": labels_of(first, data, -2),
        "columns": labels_of(key, data, -2),
        "features": labels_of(first, data, -1) if "x" in given else (),
        "outputs": labels_of(last, data, -1) if "value" in given else (),
        "nouns": nouns_of(first, key, last, data),
    }
    options = {name: arguments[name] for name in OPTIONS if name in arguments}
    words = is_named(first, data)
    queries, keys = (len(labels[name]) for name in ("rows", "columns"))
    sizes = f"{queries} {'queries' if queries > 1 else 'query'}, {keys} keys"
    said = [f"{n}={x}" for n, x in call.arguments.items() if not isinstance(x, np.ndarray)]
    said += [name for name in ("mask", "bias") if name in call.arguments]
    title = ", ".join([" ".join(labels["rows"]) if words else sizes, *said])
    most = max((*names, *given.keys() & {"mask", "bias"}), key=lambda n: np.ndim(arguments[n]))
    for place in np.ndindex(np.shape(arguments[most])[:-2]):
        one = {name: at(array, place) for name, array in given.items()}
        size = len(labels["rows"]), len(labels["columns"])
        for name in ("mask", "bias"):
            if name in one:
                one[name] = np.broadcast_to(one[name], size)
        which = ", ".join(
            f"{axis.name} {i}"
            for axis, i in zip(axes_of(references[most], data), place, strict=False)
        )
        labels |= {"options": options, "call": call.number, "head": which}
        sheet = Sheet(data["id"], one, title=title, **labels)
        yield replace(sheet, slips=broken(sheet))


def at(array: Any, place: Sequence[int]) -> Any:
    """Return the matrix of a head or sequence; an axis of length 1 stands for all of them."""
    own = place[len(place) - (array.ndim - 2) :] if array.ndim > 2 else ()
    return array[tuple(0 if size == 1 else i for i, size in zip(own, array.shape, strict=False))]


def axes_of(reference: str, data: Mapping[str, Any]) -> Sequence[Axis]:
    """Return the axes of the array that a call names."""
    return load(data["id"]).axes[reference.partition("[")[0]]


def nouns_of(query: str, key: str, value: str, data: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the axes of a sheet, by what the sheet calls them."""
    rows, features = (axis.name for axis in axes_of(query, data)[-2:])
    columns, outputs = axes_of(key, data)[-2].name, axes_of(value, data)[-1].name
    return {"rows": rows, "columns": columns, "features": features, "outputs": outputs}


def is_named(reference: str, data: Mapping[str, Any]) -> bool:
    """Tell whether the rows of an array are called by words."""
    labels = axes_of(reference, data)[-2].labels
    return labels is not None and all(isinstance(label, str) for label in labels)


def labels_of(reference: str, data: Mapping[str, Any], axis: int) -> Sequence[str]:
    """Return what the entries along an axis of an array are called, or of rows of it."""
    match = REFERENCE.fullmatch(reference)
    if match is None:
        raise ValueError(f"{data['id']}: {reference!r} names no array")
    name, rows = match.groups()
    labels = heads(name, data)[axis]
    if rows is None or axis != -2 or len(axes_of(reference, data)) > 2:
        return labels
    if ":" in rows:
        return labels[slice(*map(int, rows.split(":")))]
    arrays = {**data["inputs"], **data["expected"]}
    chosen = [int(rows)] if rows.isdigit() else map(int, arrays[rows]["value"])
    return [labels[i] for i in chosen]


def broken(sheet: Sheet) -> dict[str, tuple[str, int]]:
    """Return the slips that change the output of a sheet: what each does, and who catches it."""
    arrays = sheet.arrays()
    # A query that sees nobody is another matter: most slips give NaN there.
    seeing = ~np.isnan(arrays["weights"]).all(axis=1)
    keywords: dict[str, Any] = {n: sheet.given[n] for n in ("mask", "bias") if n in sheet.given}
    found = {}
    for name, slip in slips.SLIPS.items():
        if name not in in_the_script():
            continue
        query, key, value = (arrays[role] for role in ("query", "key", "value"))
        try:
            output = slip(query, key, value, **keywords, **sheet.options)
        except (ValueError, IndexError):  # the shapes do not allow it
            continue
        same = output.shape == arrays["output"].shape
        if same and not np.allclose(output[seeing], arrays["output"][seeing], rtol=0, atol=1e-9):
            found[name] = (slip.effect, len(caught_by(name)))
    return found
