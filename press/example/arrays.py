"""Show the arrays of the examples that a lesson prints as tinted tables that answer.

The kernel has noted which arrays those are (book/figures/record.py). What was printed stays one
click away, and is what the notebook of the lesson shows.
"""

import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any, NamedTuple

import numpy as np
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from press.example import trace
from press.example.axes import heads
from press.example.tables import cell, decimals, matrix, shown
from press.markup import ancestors, raw
from press.site.contents import is_lesson, parts

NOTE = re.compile(r'<script type="application/json" class="arrays">(.*)</script>', re.S)
HINT = (
    '<small class="scripted">Press a number<span class="keys">, or go to it with the arrow keys,'
    "</span> to see how it was computed.</small>"
)
NARROW = 6  # columns that have room for four decimals on a phone
LONG = 36  # letters of the heads of all columns; longer ones stand upright


@dataclass
class Table:
    """A matrix of an example as a cell shows it: where there each entry stands, and its number."""

    example: str
    array: str
    at: list[list[list[int]]]
    values: list[list[float]]
    caption: str = ""
    labels: Sequence[str] = ()  # of the rows, if they were printed one by one
    is_open: bool = False  # with what made its first entry

    def __post_init__(self) -> None:
        self.trace = trace.trace_of(self.example)
        self.known = self.trace.known[self.array]
        expected = [self.known.values[tuple(place)] for place in chain(*self.at)]
        if not np.allclose(expected, [*chain(*self.values)], rtol=1e-6, atol=1e-9, equal_nan=True):
            raise ExtensionError(f"{self.array} of {self.example} is shown with other numbers")

    def is_vector(self) -> bool:
        """Tell whether it is all of an array that has one row."""
        return len(self.at) == 1 and (1, len(self.at[0])) == self.known.values.shape

    def is_made(self) -> bool:
        """Tell whether it follows from others."""
        return bool(self.trace.lines(self.array, *self.at[0][0]))

    def heads(self) -> list[list[str]]:
        """Return what stands above it, at its rows and above its columns."""
        names = [[f"{i}" for i in range(size)] for size in self.known.values.shape]
        if self.known.given:
            names = heads(self.known.given, self.trace.data)
        leading = re.findall(r"\[(\d+)\]", self.array)
        above = [names[axis][int(index)] for axis, index in enumerate(leading)]
        names = [[""], *names][-2:]
        down = {row[0][1] for row in self.at}
        across = int(len({i for i, _ in self.at[0]}) == len(down) == 1)  # of its columns
        columns = [names[across][place[across]] for place in self.at[0]]
        rows = [names[1 - across][row[0][1 - across]] for row in self.at]
        return [above, [*self.labels] or (rows if len(rows) > 1 else [""]), columns]

    def row(self, i: int, places: int, largest: float) -> str:
        """Write the cells of a row, each with its place in the array if that is another."""
        cells = []
        for j, (value, place) in enumerate(zip(self.values[i], self.at[i], strict=True)):
            marks = "" if place == [i, j] else ' data-at="{},{}"'.format(*place)
            marks += " data-open" * (self.is_open and i == j == 0)
            cells.append(cell(value, brief(value, places, largest), largest, marks))
        return "".join(cells)

    def html(self) -> str:
        """Write it."""
        data, numbers = self.trace.data, [*chain(*self.values)]
        role = {**data["inputs"], **data["expected"]}.get(self.known.given, {}).get("role", "soft")
        largest = max([abs(x) for x in numbers if np.isfinite(x)] + [1.0] * (role == "weight"))
        places = min(decimals(numbers), 4 if len(self.at[0]) <= NARROW else 2)
        above, names, columns = self.heads()
        tall = " data-tall" * (sum(map(len, columns)) > LONG)
        called = ", ".join([self.caption or self.array.partition("[")[0].replace("_", " "), *above])
        return matrix(
            called,
            f' data-example="{self.example}" data-array="{self.array}"{tall}'
            f' style="--role:var(--{role})"',
            columns,
            [(name, self.row(i, places, largest)) for i, name in enumerate(names)],
            called,
        )

    def worked(self) -> str:
        """Say what made the first entry, as the script does when one presses it."""
        _, made, _, _, title, uses = self.trace.entry(self.array, *self.at[0][0])
        said = "".join(f'<p class="made">{line}</p>' for line in made)
        return f'<div class="worked"><p>{title}</p>{said}<p class="uses">{uses}</p></div>'


@dataclass
class Plain:
    """A matrix of no example, in a cell that shows some of examples."""

    values: list[list[Any]]
    caption: str = ""

    def html(self) -> str:
        """Write it."""
        numbers = [*chain(*self.values)]
        largest = max((abs(x) for x in numbers if np.isfinite(x)), default=0)
        places = min(decimals(numbers), 4)
        rows = [
            "".join(cell(x, brief(x, places, largest), largest) for x in row) for row in self.values
        ]
        names = [f"{i}" for i in range(len(rows))] if len(rows) > 1 else [""]
        columns = [f"{j}" for j in range(len(self.values[0]))]
        style = ' style="--role:var(--soft)"'
        named = [*zip(names, rows, strict=True)]
        return matrix(self.caption or "array", style, columns, named, self.caption)


class Piece(NamedTuple):
    """An array that was printed: the matrices of examples that it shows, its numbers, and how."""

    tables: list[Table]
    text: str
    values: list[list[Any]] | None


Line = list[Piece | str]


def brief(value: float, places: int, largest: float) -> str:
    """Write a number in the width of a cell: by its power of ten if all of its table are small."""
    if value and largest < 0.5 / 10**places:
        return f"{value:.1e}".replace("e-0", "e-").replace("-", "−")
    return f"{value:.{places}f}".replace("-", "−") if 0 < abs(value) < 1e6 else shown(value, places)


def lines(pieces: Iterable[Any]) -> Iterator[Line]:
    """Yield what was printed line by line; an array does not end a line."""
    line: Line = []
    for piece in pieces:
        if isinstance(piece, str):
            first, *rest = piece.split("\n")
            line += [first] if first else []
            for text in rest:
                yield line
                line = [text] if text else []
        else:
            found = [[one[key] for key in Table.__match_args__[:4]] for one in piece["matrices"]]
            traced = all(trace.is_traced(*one[:2]) for one in found)
            shown = [Table(*one) for one in found if traced]
            line.append(Piece(shown, piece["text"], piece.get("values")))
    yield line


def arrays(line: Line) -> list[list[Table]]:
    """Return the matrices of each array in a line."""
    return [one.tables for one in line if isinstance(one, Piece)]


def text_of(line: Line) -> str:
    """Return what was printed."""
    return "".join(one if isinstance(one, str) else one.text for one in line)


def rows_in(line: Line) -> Any:
    """Return which rows a line shows, without their number; of other lines, what equals nothing."""
    found, more = arrays(line), any(isinstance(one, str) and one.strip() for one in line[1:])
    if more or not found or any(len(one) != 1 or len(one[0].at) > 1 for one in found):
        return object()
    return [(one.example, one.array, [j for _, j in one.at[0]]) for (one,) in found]


def joined(block: Sequence[Line]) -> list[Table]:
    """Return the matrices whose rows were printed one by one, maybe in pieces."""
    labels = [line[0].strip() if isinstance(line[0], str) else "" for line in block]
    found: dict[tuple[str, str], Table] = {}
    for number, line in enumerate(block):
        for one in chain(*arrays(line)):
            whole = found.setdefault((one.example, one.array), one)
            whole.labels = labels if any(labels) else ()
            if len(whole.at) == number:
                whole.at, whole.values = whole.at + one.at, whole.values + one.values
            elif whole is not one:
                whole.at[-1] += one.at[0]
                whole.values[-1] += one.values[0]
    return [*found.values()]


def alone(line: Line) -> Sequence[Table | Plain]:
    """Return the matrices in a line, with their names if it has them, or nothing."""
    if len(line) == 1 and isinstance(line[0], Piece) and line[0].values:
        return [Plain(line[0].values)]
    found, words = arrays(line), [one.strip() for one in line if isinstance(one, str)]
    named = [word.rstrip(":") for word in words if word] or [""] * len(found)
    whole = not words or all(len(one.at) > 1 or one.is_vector() for one in chain(*found))
    if not whole or not all(found) or len(named) != len(found):
        return []
    for name, some in zip(named, found, strict=True):
        for one in some:
            one.caption = name
    return [*chain(*found)]


def is_unnamed(found: Sequence[Table | Plain]) -> bool:
    """Tell whether there are matrices, and none has a name."""
    return bool(found) and not any(one.caption for one in found)


def laid_out(pieces: Iterable[Any]) -> list[Line | Table | Plain]:
    """Return the matrices that a cell shows, and the lines between them.

    Words above one array are its name; above several, they stay a line.
    """
    out: list[Line | Table | Plain] = []
    blocks = [[*group] for _, group in groupby(lines(pieces), rows_in)]
    shown = [joined(block) if len(block) > 1 else alone(block[0]) for block in blocks]
    for block, found, following in zip(blocks, shown, [*shown[1:], []], strict=True):
        before = out[-1] if out and isinstance(out[-1], list) else []
        given = {one.known.given if isinstance(one, Table) else "" for one in found}
        is_one = len(given) == 1 and is_unnamed(found) and not is_unnamed(following)
        if is_one and {*map(type, before)} == {str}:
            for one in found:
                one.caption = text_of(before).strip().rstrip(":")
            out.pop()
        out += found or block
    return out


def written(out: Sequence[Line | Table | Plain]) -> str:
    """Write matrices side by side, and the text between them."""
    found = []
    for is_text, group in groupby(out, lambda one: isinstance(one, list)):
        if is_text:
            text = "\n".join(text_of(one) for one in group if isinstance(one, list)).strip("\n")
            found.append(f"<pre>{html.escape(text, quote=False)}</pre>" if text else "")
        else:
            found += [one.html() for one in group if not isinstance(one, list)]
    return "".join(found)


def tint(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Show the arrays of a page that its cells have noted; on the first lesson, one stands open."""
    lessons = (name for _, names in parts(app.env) for name in names if is_lesson(name))
    may_open = page == next(lessons, "")
    for node in list(doctree.findall(nodes.raw)):
        if not (note := NOTE.match(node.astext())):
            continue
        facts = json.loads(note[1])
        whole = next(one for one in ancestors(node) if one.get("nb_element") == "cell_code")
        outputs = [b for b in whole.findall(nodes.literal_block) if "output" in b["classes"]]
        out = [one for pieces in facts.values() for one in laid_out(pieces)]
        found = [one for one in out if isinstance(one, Table)]
        place = node.parent
        place.remove(node)
        if not found or not outputs:
            continue
        noted = "\n".join(text_of(one) for pieces in facts.values() for one in lines(pieces))
        if noted.split() != "\n".join(one.astext() for one in outputs).split():
            raise ExtensionError(f"{page}: a cell prints what has not been noted:\n{noted}")
        said = ""
        if may_open and (made := [one for one in found if one.is_made()]):
            made[0].is_open, may_open, said = True, False, made[0].worked()
        for one in outputs:
            one.parent.remove(one)
        opens = '<details class="printed"><summary>As printed</summary>'
        tables = f'<div class="arrays">{written(out)}</div>{said}<div class="answers">{HINT}{opens}'
        place[:0] = [raw(tables), *outputs, raw("</details></div>")]
