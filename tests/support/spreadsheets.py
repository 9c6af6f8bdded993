"""Read a spreadsheet as it is stored: what its cells hold, and where the names lead."""

import re
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
CELL = re.compile(
    r'<c r="([A-Z]+\d+)"(?: s="\d+")?(?: t="(\w+)")?>(?:<f>(.*?)</f>)?<v>(.*?)</v></c>'
)
RANGE = re.compile(r"'(\w+)'!\$([A-Z]+)\$(\d+)(?::\$([A-Z]+)\$(\d+))?")
SHEET = "xl/worksheets/sheet1.xml"


class Cell(NamedTuple):
    kind: str  # "b" for a truth value, "s" for a text, else a number
    formula: str
    value: str


class Stored(NamedTuple):
    sheets: list[dict[str, Cell]]
    names: dict[str, Array]  # of each name its cells, (rows, columns)

    def cells(self, name: str, shape: tuple[int, ...]) -> Array:
        """Return the cells of an array, whose matrices have names of their own."""
        found = np.empty(shape, dtype=object)
        for at in np.ndindex(shape[:-2]):
            found[*at, ...] = self.names["_".join([name, *map(str, at)])].reshape(shape[-2:])
        return found


def stored(path: Path) -> Stored:
    """Return what a spreadsheet holds."""
    with ZipFile(path) as files:
        book = files.read("xl/workbook.xml").decode()
        texts = [files.read(f"xl/worksheets/sheet{k}.xml").decode() for k in (1, 2)]
    sheets = [
        {at: Cell(kind, unescape(formula), value) for at, kind, formula, value in CELL.findall(one)}
        for one in texts
    ]
    named = re.findall(r'<definedName name="(\w+)">([^<]+)</definedName>', book)
    return Stored(sheets, {name: cells_of(place) for name, place in named})


def cells_of(place: str) -> Array:
    """Return the cells of a range."""
    match = RANGE.fullmatch(place)
    assert match, place
    _, left, top, right, bottom = match.groups()
    return np.array(
        [
            [f"{letters(k)}{row}" for k in range(number(left), number(right or left) + 1)]
            for row in range(int(top), int(bottom or top) + 1)
        ],
        dtype=object,
    )


def number(column: str) -> int:
    """Return the number of a column, from 1."""
    return 26 * number(column[:-1]) + ord(column[-1]) - 64 if column else 0


def letters(column: int) -> str:
    return letters((column - 1) // 26) + chr(65 + (column - 1) % 26) if column else ""
