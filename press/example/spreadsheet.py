"""Worked examples of attention as spreadsheets, SA016.xlsx: their cells are formulas.

A formula is what the derivation recorded. A step that no array lists is written within the formula
that uses it, or, if several do, in a cell of the second sheet.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from xlsxwriter import Workbook
from xlsxwriter.utility import xl_range_abs, xl_rowcol_to_cell

from derivations.recording import Step
from derivations.traces import Recording, recording_of
from press.example.axes import heads
from press.example.data import documents
from press.example.sheets import of_example
from press.example.trace import look_through
from press.site.rights import CODE
from press.site.theme import ROOT
from selfattn_ref.worked_examples import load

CELL_LIKE = re.compile(r"[A-Za-z]{1,3}\d+|[RrCc]")  # a name that looks like one is refused
BARE = re.compile(r"\w+(\([^()]*\))?")  # needs no parentheses within another formula
SIGNS = {"sum": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "^"}
SIGNS |= {"equal": "=", "at most": "<="}
FORMS = {"choose": "{0}", "negate": "-{0}", "root": "{0}^(1/{1})"}
FUNCTIONS = {"absolute": "ABS", "log": "LN"}  # others are called as the step is


class Block(NamedTuple):
    """A matrix of an example, and the row of the sheet in which its entries begin."""

    name: str
    entries: Any
    heads: list[list[str]]  # of its rows and of its columns
    top: int
    is_weights: bool


def blocks(data: Mapping[str, Any], recording: Recording) -> Iterator[Block]:
    """Yield the matrices of an example, which stand below each other, inputs first."""
    top = 4
    for name, nested in {**recording.inputs, **recording.expected}.items():
        array = np.array(nested, dtype=object)
        around = [[""], [""], *heads(name, data)][-max(array.ndim, 2) :]
        role = {**data["inputs"], **data["expected"]}[name].get("role")
        for place in np.ndindex(array.shape[:-2]):
            entries = np.atleast_2d(array[place])
            label = "_".join([name, *map(str, place)])
            label += "_" * bool(CELL_LIKE.fullmatch(label))
            yield Block(label, entries, around[-2:], top, role == "weight")
            top += len(entries) + 3


def is_hidden(entry: Any, block: Block) -> bool:
    """Tell whether an entry stays empty: a score of −∞, the weight of what a mask hides."""
    if isinstance(entry, str) or isinstance(entry.value, bool):
        return False
    made_of = look_through(entry)
    nothing = made_of.operation == "constant" and made_of.value == 0
    return not np.isfinite(float(entry.value)) or (block.is_weights and nothing)


class Formulas:
    """The formula of every step of a recording, and the cells of those that are referred to."""

    def __init__(self, recording: Recording, cells: Mapping[int, str]) -> None:
        self.cells = dict(cells)
        self.steps: list[Step] = []  # those of the second sheet
        self.uses = Counter(id(look_through(o)) for s in recording.steps for o in s.operands)

    def of(self, step: Step) -> str:
        """Return the formula of a step, without the sign in front."""
        operands = [*map(self.term, step.operands)]
        if not operands:
            return str(plain(step)).removesuffix(".0").upper()
        if step.operation == "dot":
            return "+".join(f"{x}*{y}" for x, y in zip(*[iter(operands)] * 2, strict=True))
        if form := FORMS.get(step.operation):
            return form.format(*operands)
        if sign := SIGNS.get(step.operation):
            return sign.join(operands)
        name = FUNCTIONS.get(step.operation, step.operation.upper())
        return f"{name}({','.join(operands)})"

    def term(self, step: Step) -> str:
        """Return a step as it stands in the formula of another."""
        if id(step) in self.cells or step.operation == "choose":
            return self.cells.get(id(step)) or self.term(step.operands[0])
        if step.operands and self.uses[id(step)] > 1:
            self.steps.append(step)
            return self.cells.setdefault(id(step), f"steps!$A${len(self.steps)}")
        text = self.of(step)
        return text if BARE.fullmatch(text) else f"({text})"


def write_spreadsheet(name: str, path: Path) -> None:
    """Write an example as a spreadsheet, with the same bytes each time."""
    data, recording = documents(ROOT)[name], recording_of(name)
    listed = [*blocks(data, recording)]
    entries = [
        (one, (block.top + i, j + 1))
        for block in listed
        for (i, j), one in np.ndenumerate(block.entries)
        if not is_hidden(one, block)
    ]
    cells: dict[int, str] = {}
    for one, at in entries:
        if not isinstance(one, str) and (one.operands or one.operation == "input"):
            cells.setdefault(id(one), f"@{xl_rowcol_to_cell(*at)}")
    formulas = Formulas(recording, cells)
    with Workbook(path) as book:
        book.set_properties({"title": name, "created": datetime.fromisoformat(data["released"])})
        sheet, steps = book.add_worksheet(name), book.add_worksheet("steps")
        sheet.set_column(0, 0, 16)
        bold = book.add_format({"bold": True})
        sheet.write_string(0, 0, f"{name}: {data['title']}", bold)
        sheet.write_string(1, 0, f"{load(name).citation} {CODE.name}, {CODE.address}")
        for block in listed:
            (rows, columns), top = block.heads, block.top
            sheet.write_string(top - 2, 0, block.name, bold)
            sheet.write_row(top - 1, 1, columns)
            sheet.write_column(top, 0, rows)
            last = top + len(rows) - 1, len(columns)
            book.define_name(block.name, f"='{name}'!{xl_range_abs(top, 1, *last)}")
        for one, at in entries:
            here = f"@{xl_rowcol_to_cell(*at)}"
            first = here if isinstance(one, str) else cells.get(id(one), here)
            if isinstance(one, str) or (first == here and not one.operands):
                sheet.write(*at, one if isinstance(one, str) else plain(one))
                continue
            formula = formulas.of(one) if first == here else first
            sheet.write_formula(*at, "=" + formula.replace("@", ""), None, plain(one))
        for row, one in enumerate(formulas.steps):  # which grow while their formulas are written
            formula = formulas.of(one).replace("@", f"'{name}'!")
            steps.write_formula(row, 0, f"={formula}", None, plain(one))


def plain(step: Step) -> bool | float:
    """Return the value of a step as a spreadsheet holds it."""
    return step.value if isinstance(step.value, bool) else float(step.value)


def write_spreadsheets(folder: Path) -> list[Path]:
    """Write all examples that have a Sheet."""
    paths = [folder / f"{name}.xlsx" for name in filter(of_example, documents(ROOT))]
    for path in paths:
        write_spreadsheet(path.stem, path)
    return paths
