"""LibreOffice recalculates every spreadsheet with another input, and the library agrees.

`make test-peers`, which wants LibreOffice Calc.
"""

import csv
import os
import re
import shutil
import subprocess
from zipfile import ZipFile

import numpy as np
import pytest

import selfattn_ref
from press.example.spreadsheet import write_spreadsheets
from selfattn_ref.worked_examples import WorkedExampleMismatch, load, recipes
from tests.support.spreadsheets import SHEET, number, stored

AS_CSV = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false"  # with all digits
SETTINGS = """<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode"
oor:op="fuse"><value>0</value></prop></item></oor:items>"""  # recalculate whatever is opened
MORE = 0.25  # than an input was
CHOSEN = {"output_first_wins"}  # the value of the largest score: a formula does not choose again


@pytest.fixture(scope="module")
def office():
    found = shutil.which("soffice")
    if found is None and os.environ.get("PEERS") != "required":
        pytest.skip("there is no LibreOffice here: `make test-peers` runs this test")
    assert found, "there is no LibreOffice: install libreoffice-calc-nogui"
    return found


def another_input(name):
    """Change one number that matters; return the array, the place in it, and what follows."""
    example, recipe = load(name), recipes.recipe(name)
    for array, values in example.inputs.items():
        if isinstance(values, np.ndarray) and values.dtype.kind == "f" and values.ndim:
            at = tuple(size - 1 for size in values.shape)
            changed = values.copy()
            changed[at] += MORE
            computed = recipe(selfattn_ref, {**example.inputs, array: changed})
            try:
                example.check(**computed)
            except WorkedExampleMismatch:
                return array, at, computed
    raise AssertionError(f"{name}: no input matters")


def write_with(path, target, at, value):
    """Copy a spreadsheet with another number in a cell, and with the results that it had."""
    cell = re.compile(rf'(<c r="{at}"[^>]*><v>)[^<]+')
    with ZipFile(path) as files, ZipFile(target, "w") as written:
        for name in files.namelist():
            text = files.read(name).decode()
            if name == SHEET:
                text, count = cell.subn(rf"\g<1>{value!r}", text)
                assert count == 1
            written.writestr(name, text)


def recalculated(office, paths, folder):
    """Let LibreOffice recalculate; return the rows of each spreadsheet as it shows them."""
    settings = folder / "settings"
    (settings / "user").mkdir(parents=True)
    (settings / "user" / "registrymodifications.xcu").write_text(SETTINGS)
    command = [office, "--headless", f"-env:UserInstallation={settings.as_uri()}"]
    command += ["--convert-to", AS_CSV, "--outdir", f"{folder}"]
    subprocess.run([*command, *map(str, paths)], check=True, capture_output=True, timeout=300)
    return {
        one.stem: [*csv.reader(one.read_text("utf-8").splitlines())] for one in folder.glob("*.csv")
    }


def shown(table, cell):
    """Return what a cell shows as a number; NaN if it is empty."""
    column, row = re.fullmatch(r"([A-Z]+)(\d+)", cell).groups()
    text = table[int(row) - 1][number(column) - 1]
    return {"TRUE": 1.0, "FALSE": 0.0}[text] if text[1:2].isalpha() else float(text or "nan")


def test_the_formulas_follow_an_input_as_the_library_does(office, tmp_path):
    (tmp_path / "changed").mkdir()
    books, expected = {}, {}
    for path in write_spreadsheets(tmp_path):
        name, book = path.stem, stored(path)
        array, at, expected[name] = another_input(name)
        cell = book.cells(array, load(name).inputs[array].shape)[at]
        value = float(book.sheets[0][cell].value) + MORE
        write_with(path, tmp_path / "changed" / path.name, cell, value)
        books[name] = book
    changed = sorted((tmp_path / "changed").iterdir())
    tables = recalculated(office, changed, tmp_path / "recalculated")
    assert tables.keys() == books.keys()
    for name, book in books.items():
        moved = 0.0
        for array in expected[name].keys() - CHOSEN:
            wanted = np.asarray(expected[name][array], float)
            cells = book.cells(array, wanted.shape)
            got = np.vectorize(lambda cell, name=name: shown(tables[name], cell))(cells)
            seen = ~np.isnan(got)
            np.testing.assert_allclose(
                got[seen], wanted[seen], 1e-9, 1e-12, err_msg=f"{name}: {array}"
            )
            before = np.asarray(load(name).expected[array], float)
            moved = max(moved, np.abs(got - before)[seen].max(initial=0))
        assert moved > 1e-6, name
