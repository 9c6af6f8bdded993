"""Arrays as tables, shaded by size, and as lists to copy."""

import html
import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from press.example import trace
from press.example.axes import heads
from press.example.data import flat

NARROW = 100  # letters of the heads of all columns; longer names leave no room for the numbers
NOT_FINITE = {"nan": "NaN", "inf": "∞", "-inf": "−∞"}
STRONGEST = 38  # percent of the color in the cell with the largest number: text stays readable


def decimals(values: list[Any]) -> int:
    """Return how many decimals the numbers need, six at most."""
    values = [value for value in values if math.isfinite(value)]
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
    if not math.isfinite(value):
        return NOT_FINITE[str(float(value))]
    if (abs(value) < 1e-3 and round(value, 6) != value) or abs(value) >= 1e7:
        mantissa, _, exponent = f"{value:.5e}".partition("e")
        return f"{mantissa}×10<sup>{int(exponent)}</sup>".replace("-", "−")
    return f"{value:.{places}f}".replace("-", "−")


def digits(value: Any) -> str:
    """Write an array as Python reads it, with all digits, a row a line."""
    if np.shape(value)[1:]:
        return "[\n " + ",\n ".join(digits(part).replace("\n", "\n ") for part in value) + "\n]"
    return repr(value)


def cell(value: Any, text: str, largest: float, marks: str = "") -> str:
    """Write a cell of a table, shaded by its size; `marks` are further attributes."""
    if isinstance(value, str):
        return f'<td class="word">{html.escape(value)}</td>'
    if isinstance(value, bool):
        mark, style = ("●", f' style="--a:{STRONGEST}%"') if value else ("·", ' class="no"')
        return (
            f'<td{style}><span aria-hidden="true">{mark}</span>'
            f'<span class="unseen">{value}</span></td>'
        )
    if not math.isfinite(value):
        return f'<td class="no"{marks}>{text}</td>'
    share = round(STRONGEST * abs(value) / largest) if largest else 0
    sign = ' class="negative"' if value < 0 else ""
    attributes = f'{sign} style="--a:{share}%"' if value else ' class="no"'
    return f"<td{attributes}{marks}>{text}</td>"


def matrix(
    title: str,
    marks: str,
    columns: Sequence[str],
    rows: Iterable[tuple[str, str]],
    caption: str = "",
) -> str:
    """Write a table; a row is its name, if it has one, and its cells. Columns may have no names."""
    lines, corner = [], ""
    for name, cells in rows:
        start = f'<th scope="row">{html.escape(name)}</th>' if name else ""
        corner = "<td></td>" if name else ""
        lines.append(f"<tr>{start}{cells}</tr>\n")
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in columns)
    head = f"<thead><tr>{corner}{head}</tr></thead>\n" if any(columns) else ""
    above = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="table"><table class="matrix" aria-label="{html.escape(title)}"{marks}>{above}'
        f"{head}<tbody>{''.join(lines)}</tbody></table></div>"
    )


def tables(name: str, data: Mapping[str, Any]) -> str:
    """Write an array as a table, and one of more than two dimensions as a table for each matrix."""
    entry = {**data["inputs"], **data["expected"]}[name]
    value = entry["value"]
    sizes = np.shape(value)
    numbers = [entry for entry in flat(value) if not isinstance(entry, str | bool)]
    places, largest = (
        decimals(numbers),
        float(max(filter(math.isfinite, map(abs, numbers)), default=0)),
    )
    role = entry.get("role", "soft")
    if role == "weight":
        largest = max(largest, 1.0)  # a share of the whole
    if "indices_of" in entry:
        largest = 0.0  # an index is no size
    *others, columns = heads(name, data)
    if sum(map(len, columns)) > NARROW:
        columns = [f"{index}" for index in range(sizes[-1])]
    *captions, rows = others or [[""]]
    style = f' style="--role:var(--{role})"'
    found = []
    for place in itertools.product(*map(range, sizes[:-2])):
        part = value
        for index in place:
            part = part[index]
        label = ", ".join(caption[index] for caption, index in zip(captions, place, strict=True))
        at = name + "".join(f"[{index}]" for index in place)
        traced = ""
        if is_traced := trace.is_traced(data["id"], at):
            traced = f' data-example="{data["id"]}" data-array="{at}"'
        lines = part if len(sizes) > 1 else [part]

        def marks(*index: int, at: str = at, has_address: bool = is_traced) -> str:
            own = index if len(sizes) > 1 else index[1:]
            return f' id="{trace.address(at, *own)}"' if has_address else ""

        cells = [
            "".join(cell(e, shown(e, places), largest, marks(i, j)) for j, e in enumerate(entries))
            for i, entries in enumerate(lines)
        ]
        title = f"{name} {label}".strip()
        found.append(matrix(title, traced + style, columns, zip(rows, cells, strict=True), label))
    return "\n".join(found) if len(found) == 1 else f'<div class="slices">{"".join(found)}</div>'


def wide(name: str, data: Mapping[str, Any]) -> bool:
    """Tell whether a row of an array needs more room than the column of the text has."""
    value = {**data["inputs"], **data["expected"]}[name]["value"]
    entries = list(flat(value))
    places = decimals([e for e in entries if not isinstance(e, str | bool)])
    lengths = [len(re.sub("<.*?>", "", shown(e, places))) + 2 for e in entries]
    columns = np.shape(value)[-1]
    return sum(max(lengths[column::columns]) for column in range(columns)) > 60


def whole(value: Any) -> str:
    """Write an array as a list that can be copied, folded below its table."""
    exact = all(
        isinstance(e, str | bool) or not math.isfinite(e) or round(e, 6) == e for e in flat(value)
    )
    summary = "As a list" if exact else "All digits"
    return (
        f'<details class="digits copied"><summary>{summary}</summary>'
        f"<pre>{html.escape(digits(value), quote=False)}</pre></details>"
    )
