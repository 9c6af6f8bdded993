"""Note in the kernel of a page which arrays of the worked examples its cells show.

An array is known by what it is, never by its numbers: `load` gave it, or `check` compared it, or it
is a part of one of these. An array may be printed in one cell and compared in a later one, so that
what the build is told beside the output of a cell is brought up to date after every cell.
press/example/arrays.py reads it. Of a small array that is of no example, its numbers are noted.
"""

import builtins
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from IPython.display import display
from numpy.typing import NDArray

from selfattn_ref import worked_examples
from selfattn_ref.worked_examples import WorkedExample

Array = NDArray[Any]


class Known(NamedTuple):
    """An array of an example, or some rows of one."""

    example: str
    name: str
    values: Array  # the whole array, as the example has it
    array: Array
    at: Array  # of each entry of `array`, which of `values` it is, counted in order


class Shown(NamedTuple):
    """An array that a cell shows, its numbers at that time, and how it was written."""

    array: Array
    values: Array
    text: str


KNOWN: list[Known] = []
MOST = 100  # entries of an array of no example that is shown as a table


def these_are(
    example: WorkedExample,
    /,
    rows: Sequence[int] | None = None,
    columns: Sequence[int] | None = None,
    **arrays: Array,
) -> None:
    """Note that arrays are those of an example, or some rows or columns; their numbers must agree.

    The build compares what the trace of the example names and the example does not list, such as
    ``scores of output``.
    """
    listed = {**example.inputs, **example.expected}
    for name, array in arrays.items():
        if isinstance(array, np.ndarray) and array.dtype.kind in "if" and array.ndim:
            values = listed.get(name, array)
            at = np.arange(values.size).reshape(values.shape)
            at = at if rows is None else at[rows]
            at = at if columns is None else at[..., columns]
            expected = values.ravel()[at]
            np.testing.assert_allclose(array, expected, rtol=1e-6, atol=1e-9, err_msg=name)
            KNOWN.append(Known(example.id, name, values, array, at))


def addresses(array: Array) -> list[int]:
    """Return where in memory each entry of an array stands, in order."""
    steps = np.moveaxis(np.indices(array.shape), 0, -1) @ np.array(array.strides, dtype=int)
    return list((array.__array_interface__["data"][0] + steps).ravel().tolist())


def matrices(array: Array, values: Array | None = None) -> Iterator[dict[str, Any]]:
    """Yield the matrices of examples that an array shows: which, where each entry stands there.

    Of several arrays of which it may be a part, the smallest is meant. `values` are the numbers
    that were shown, which may have been changed since.
    """
    values = array if values is None else values
    for known in sorted(KNOWN, key=lambda known: known.array.size):
        if array.ndim and np.may_share_memory(known.array, array):
            where = dict(zip(addresses(known.array), known.at.ravel().tolist(), strict=True))
            entries = [where.get(address, -1) for address in addresses(array)]
            if -1 not in entries:
                break
    else:
        return
    if not np.allclose(values.ravel(), known.values.ravel()[entries], atol=1e-9, equal_nan=True):
        return
    places = np.transpose(np.unravel_index(entries, np.atleast_2d(known.values).shape))
    index = places.reshape(*np.atleast_2d(array).shape, -1)
    for place in np.ndindex(index.shape[:-3]):
        leading = {tuple(one[:-2]) for row in index[place].tolist() for one in row}
        if len(leading) == 1:
            yield {
                "example": known.example,
                "array": known.name + "".join(f"[{one}]" for one in leading.pop()),
                "at": index[place][..., -2:].tolist(),
                "values": np.atleast_2d(values)[place].tolist(),
            }


class Notes:
    """What the cells of a page show."""

    def __init__(self, shell: Any) -> None:
        self.stdout, self.print = sys.stdout, builtins.print
        self.cells: list[dict[str, list[str | Shown]]] = []
        self.told: dict[int, str] = {}
        self.begin()
        builtins.print = self.printed
        shell.events.register("pre_run_cell", self.begin)
        shell.events.register("post_run_cell", self.end)

    def begin(self, *_: Any) -> None:
        """Begin a cell."""
        self.cells.append({"printed": [], "value": []})

    def printed(
        self, *values: Any, sep: str | None = " ", end: str | None = "\n", **how: Any
    ) -> None:
        """Print, and note what."""
        if (how.get("file") or sys.stdout) is self.stdout:
            self.tell(len(self.cells) - 1, {})
            for number, value in enumerate(values):
                between = (" " if sep is None else sep) if number else ""
                self.cells[-1]["printed"] += [between, shown(value, f"{value!s}")]
            self.cells[-1]["printed"].append("\n" if end is None else end)
        self.print(*values, sep=sep, end=end, **how)

    def end(self, result: Any) -> None:
        """End a cell, and tell what is known by now of those that show arrays."""
        if isinstance(result.result, np.ndarray):
            self.cells[-1]["value"].append(shown(result.result, repr(result.result)))
        for number, cell in enumerate(self.cells):
            if any(isinstance(piece, Shown) for pieces in cell.values() for piece in pieces):
                self.tell(number, {name: [*map(facts, cell[name])] for name in cell})

    def tell(self, number: int, noted: Any) -> None:
        """Tell the build what is noted of a cell, if that is more than before.

        What is told stands first in the output of a cell. nbclient finds it there when there is
        more to tell; it would not behind a text, which arrives in pieces that are joined later.
        """
        text = json.dumps(noted).replace("</", r"<\/")
        if (noted or number not in self.told) and text != self.told.get(number):
            inside = f'<script type="application/json" class="arrays">{text}</script>'
            which: Any = {"display_id": f"arrays-{number}", "update": number in self.told}
            display({"text/html": inside, "text/plain": ""}, raw=True, **which)  # type: ignore[no-untyped-call]
            self.told[number] = text


def shown(value: Any, text: str) -> str | Shown:
    """Note an array and its numbers, which may change; of anything else, the text."""
    return Shown(value, value.copy(), text) if isinstance(value, np.ndarray) else text


def facts(piece: str | Shown) -> Any:
    """Return what the build is told of an array or a text."""
    if isinstance(piece, str):
        return piece
    told = {"text": piece.text, "matrices": [*matrices(piece.array, piece.values)]}
    is_small = 1 <= piece.values.ndim <= 2 and 0 < piece.values.size <= MOST
    if not told["matrices"] and is_small and piece.values.dtype.kind in "bif":
        told["values"] = np.atleast_2d(piece.values).tolist()
    return told


def begin(shell: Any) -> None:
    """Note from now on what the cells show, what is loaded, and what is compared."""
    load, check = worked_examples.load, WorkedExample.check

    def noted_load(example_id: str) -> WorkedExample:
        example = load(example_id)
        these_are(example, **{**example.inputs, **example.expected})
        return example

    def noted_check(example: WorkedExample, **computed: Any) -> Any:
        agreement = check(example, **computed)
        these_are(example, **computed)
        return agreement

    worked_examples.load = noted_load
    WorkedExample.check = noted_check  # type: ignore[method-assign, assignment]
    Notes(shell)
