"""Numbers for the prose, and labeled tables for the cells."""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from myst_nb import glue

np.set_printoptions(precision=4, suppress=True, linewidth=76)  # fits a phone held sideways


def number(value: float, digits: int = 3) -> str:
    """Write a number with a true minus sign, and no minus before zero."""
    text = f"{float(value):.{digits}f}"
    return text.replace("-", "−") if float(text) else text.replace("-", "")


def say(digits: int = 3, **values: Any) -> None:
    """Name values for the prose, which shows one as {glue:text}`name`.

    A float gets `digits` digits, an integer none; a vector is put in parentheses.
    """
    for name, value in values.items():
        if isinstance(value, str):
            text = value
        elif isinstance(value, int | np.integer):
            text = str(value)
        elif np.ndim(value) == 0:
            text = number(value, digits)
        else:
            text = "(" + ", ".join(number(entry, digits) for entry in np.ravel(value)) + ")"
        glue(name, _Text(text), display=False)


class _Text:
    """A text that represents itself without quotation marks."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class Table:
    """A matrix with a name for each row and column."""

    def __init__(
        self,
        matrix: npt.ArrayLike,
        rows: Sequence[str],
        columns: Sequence[str] | None = None,
        *,
        digits: int = 3,
        corner: str = "",
    ) -> None:
        entries = np.asarray(matrix)
        self.header = (corner, *(rows if columns is None else columns))
        expected = (len(rows), len(self.header) - 1)
        if entries.shape != expected:
            raise ValueError(f"matrix {entries.shape} and names {expected}: they must match")
        self.lines = [
            (name, *(_entry(value, digits) for value in line))
            for name, line in zip(rows, entries, strict=True)
        ]

    def __repr__(self) -> str:
        lines = [self.header, *self.lines]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in lines
        )

    def _repr_html_(self) -> str:
        def row(cells: Sequence[str], tag: str) -> str:
            first, *rest = (html.escape(cell) for cell in cells)
            name = f'<th scope="row">{first}</th>' if tag == "td" else f"<td>{first}</td>"
            scope = "" if tag == "td" else ' scope="col"'
            return f"<tr>{name}{''.join(f'<{tag}{scope}>{cell}</{tag}>' for cell in rest)}</tr>"

        body = "".join(row(line, "td") for line in self.lines)
        head = row(self.header, "th")
        return f'<table class="numbers"><thead>{head}</thead><tbody>{body}</tbody></table>'


def _entry(value: Any, digits: int) -> str:
    if isinstance(value, str | np.str_):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return number(value, digits)
