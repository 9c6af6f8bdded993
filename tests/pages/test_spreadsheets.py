"""A spreadsheet of an example holds what the trace says: its values, and formulas for them."""

import json
import math
import re
import zipfile
from fractions import Fraction

import numpy as np
import pytest

from derivations.traces import trace_text
from press.example import downloads
from press.example.data import documents
from press.example.sheets import of_example
from press.example.spreadsheet import write_spreadsheet, write_spreadsheets
from press.site.rights import CODE
from press.site.theme import ROOT
from tests.support.spreadsheets import stored

NAMES = [name for name in documents(ROOT) if of_example(name)]
CALLED = {  # what formulas call, as Python has it
    **{name.upper(): getattr(math, name) for name in ("cos", "exp", "sin", "tanh")},
    "LN": math.log,
    "MAX": lambda *x: max(x),
    "AND": lambda *x: all(x),
    "NOT": lambda x: not x,
    "TRUE": True,
    "FALSE": False,
}
REFERENCE = re.compile(r"((?:steps|'\w+')!)?\$?([A-Z]+)\$?(\d+)")
ENDLESS = ("Infinity", "-Infinity", "NaN")


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    paths = write_spreadsheets(tmp_path_factory.mktemp("spreadsheets"))
    return {path.stem: (path, stored(path)) for path in paths}


def test_each_example_that_has_a_sheet_is_a_spreadsheet(held):
    assert [*held] == NAMES
    for name in documents(ROOT):
        assert (f"{name}.xlsx" in downloads.buttons(name)) == (name in NAMES)


@pytest.mark.parametrize("name", NAMES[:2])
def test_it_has_the_license_of_the_data(held, name):
    with zipfile.ZipFile(held[name][0]) as files:
        assert f" {CODE.name}, {CODE.address}<" in files.read("xl/sharedStrings.xml").decode()


@pytest.mark.parametrize("name", NAMES)
def test_its_values_are_those_of_the_trace_and_what_is_hidden_is_empty(held, name):
    trace, book = json.loads(trace_text(name)), held[name][1]
    data = documents(ROOT)[name]
    for array, steps in {**trace["inputs"], **trace["expected"]}.items():
        places = np.array(steps, dtype=object)
        is_weight = {**data["inputs"], **data["expected"]}[array].get("role") == "weight"
        for place, cell in zip(places.flat, book.cells(array, places.shape).flat, strict=True):
            found = book.sheets[0].get(cell)
            if isinstance(place, str):  # a word
                assert found.kind == "s"
                continue
            step, value = trace["steps"][place], trace["steps"][place]["value"]
            is_hidden = value in ENDLESS or (is_weight and value == "0")
            assert (found is None) == is_hidden, (array, cell)
            if found is not None:
                typed = array in trace["inputs"] or step["operation"] == "constant"
                assert (found.formula == "") == typed, (array, cell)
            if isinstance(value, bool):
                assert (found.kind, found.value) == ("b", f"{value:d}")
            elif found is not None:
                exact = float(Fraction(value)) if isinstance(value, str) else value
                assert float(found.value) == exact, (array, cell)


@pytest.mark.parametrize("name", NAMES)
def test_its_formulas_refer_to_cells_that_exist_and_give_what_is_stored(held, name):
    book = held[name][1]
    for here, cells in enumerate(book.sheets):

        def value(reference, here=here):
            sheet, column, row = reference.groups()
            there = {None: here, f"'{name}'!": 0, "steps!": 1}[sheet]
            return f"({book.sheets[there][f'{column}{row}'].value})"

        for cell in filter(lambda cell: cell.formula, cells.values()):
            assert len(cell.formula) < 8192  # as Excel allows
            text = re.sub("(?<!<)=", "==", REFERENCE.sub(value, cell.formula).replace("^", "**"))
            got = eval(text, dict(CALLED))
            assert got == pytest.approx(float(cell.value), 1e-12, 1e-13), cell.formula


def test_names_are_legal_and_told_apart(held):
    for _, book in held.values():
        assert len({name.lower() for name in book.names}) == len(book.names)
        assert not any(re.fullmatch(r"[A-Za-z]{1,3}\d+|[RrCc]|.*\W.*", one) for one in book.names)


def test_the_same_bytes_are_written_twice(held, tmp_path):
    for name in ("SA016", "SA081"):
        write_spreadsheet(name, tmp_path / "again.xlsx")
        assert (tmp_path / "again.xlsx").read_bytes() == held[name][0].read_bytes()
