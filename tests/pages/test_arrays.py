"""Which arrays of the examples a cell shows is known by what they are, not by their numbers."""

import json
from typing import Any

import nbformat
import numpy as np
import pytest
from lxml.html import fromstring
from nbclient import NotebookClient
from sphinx.errors import ExtensionError

from book.figures import record
from press.build.execution import ROOT
from press.example.arrays import NOTE, Plain, Table, brief, laid_out, text_of
from selfattn_ref.worked_examples import load

E = load("SA036").inputs["embeddings"]  # (5, 2), of the words money, bank, grows, river, flows
HEADS = load("SA026").expected["query_heads"]  # (2, 3, 2)
SCORES = load("SA005").inputs["scores"]
OTHER = load("SA037").inputs["embeddings"]
COMPUTED, CHANGED = E.copy(), E.copy()
FIRST = COMPUTED[[0, 1]]
LONGER = np.append(E, 1.0)  # as the last number of the example


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load two examples, and compare some arrays."""
    monkeypatch.setattr(record, "KNOWN", [])
    record.these_are(load("SA036"), embeddings=E)
    record.these_are(load("SA026"), query_heads=HEADS)
    record.these_are(load("SA005"), scores=SCORES)
    record.these_are(load("SA036"), embeddings=COMPUTED)
    record.these_are(load("SA036"), embeddings=CHANGED)
    record.these_are(load("SA036"), rows=[0, 1], embeddings=FIRST)
    record.these_are(load("SA036"), embeddings=LONGER[:10].reshape(5, 2))


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (E, {"embeddings": np.ndindex(5, 2)}),
        (E[1], {"embeddings": [(1, 0), (1, 1)]}),
        (E[3:], {"embeddings": [(3, 0), (3, 1), (4, 0), (4, 1)]}),
        (E[:, 1], {"embeddings": [(i, 1) for i in range(5)]}),
        (E[:2].T, {"embeddings": [(0, 0), (1, 0), (0, 1), (1, 1)]}),
        (COMPUTED[2:3], {"embeddings": [(2, 0), (2, 1)]}),
        (FIRST[1], {"embeddings": [(1, 0), (1, 1)]}),
        (HEADS, {"query_heads[0]": np.ndindex(3, 2), "query_heads[1]": np.ndindex(3, 2)}),
        (HEADS[1, 2], {"query_heads[1]": [(2, 0), (2, 1)]}),
        (HEADS[:, 2], {}),  # rows of two matrices
        (LONGER[8:], {}),  # more than a part
        (E.copy(), {}),  # the same numbers are not the same array
        (E.round(1), {}),
        (OTHER, {}),  # of an example that this page has not loaded
        (E[1, 1:1], {}),
    ],
)  # fmt: skip
def test_an_array_is_known_by_what_it_is(array: Any, found: Any) -> None:
    shown = {one["array"]: [tuple(p) for row in one["at"] for p in row]
             for one in record.matrices(array)}  # fmt: skip
    assert shown == {name: [*places] for name, places in found.items()}


def test_an_array_that_has_been_changed_is_another() -> None:
    before = CHANGED.copy()
    assert [*record.matrices(CHANGED, before)]
    assert not [*record.matrices(CHANGED, before + 1)]


@pytest.mark.parametrize(
    "value, largest, text",
    [(-0.003, 1.5, "−0.00"), (0.0, 1.5, "0"), (0.003, 0.003, "3.0e−3"), (0.0, 0.003, "0")],
)
def test_a_power_of_ten_stands_only_in_a_table_of_small_numbers(
    value: float, largest: float, text: str
) -> None:
    assert brief(value, 2, largest) == text


def test_who_says_what_arrays_are_must_be_right() -> None:
    with pytest.raises(AssertionError, match="embeddings"):
        record.these_are(load("SA036"), embeddings=COMPUTED + 1e-6)
    with pytest.raises(ExtensionError, match="other numbers"):
        Table("SA036", "weights_money", [[[0, 0], [0, 1]]], [[0.787, 0.1066]])


UNKNOWN = np.ones((2, 2))
ROWS = [part for word, row in zip("abc", E, strict=False) for part in (f"{word}: ", row, "\n")]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["E", "\n", E, "\n"], ["5 × 2 E", ""]),
        (["two lines\nE:\n", E, "\n"], ["two lines", "5 × 2 E", ""]),
        (["", E, "\n", UNKNOWN, "\n"], ["5 × 2 ", "[[1.0, 1.0], [1.0, 1.0]] ", ""]),
        (["mask\n", UNKNOWN[0] > 0, "\n"], ["[[True, True]] mask", ""]),
        (["some\n", UNKNOWN[0], "\n", "E ", E], ["[[1.0, 1.0]] some", "5 × 2 E"]),
        (["of both\n", UNKNOWN[0], "\n", E], ["of both", "[[1.0, 1.0]] ", "5 × 2 "]),
        (["scores ", SCORES, "\n", "E\n", E], ["1 × 5 scores", "5 × 2 E"]),
        (["words\n", np.array(["a"]), "\n", E], ["words", "['a']", "5 × 2 "]),
        (["many\n", np.zeros(101), "\n"], ["many", f"{np.zeros(101)}", ""]),
        (["heads", "\n", HEADS, "\n"], ["3 × 2 heads", "3 × 2 heads", ""]),
        (["words:\n", *ROWS], ["3 × 2 words a: b: c:", ""]),
        (["bank ", E[1], "\n"], ["bank [1. 1.]", ""]),  # a row in a line says little
        (["bank\n", E[1], "\n"], ["1 × 2 bank", ""]),
        (["sum ", UNKNOWN[0], " of ", E, "\n"], ["sum [1. 1.] of " + f"{E}", ""]),
        ([*ROWS[:2], " and more\n", *ROWS[3:5], " and more\n"],
         ["a: [2. 0.] and more", "b: [1. 1.] and more", ""]),
        (["a ", E[0, :1], " ", E[0, 1:], "\n", "b ", E[1, :1], " ",
          E[1, 1:], "\n"], ["2 × 2  a b", ""]),
    ],
)  # fmt: skip
def test_matrices_are_laid_out_with_their_names(pieces: Any, expected: list[str]) -> None:
    def noted(one: Any) -> Any:
        return record.facts(record.shown(one, f"{one}"))

    def told(one: Any) -> str:
        if isinstance(one, Table):
            return " ".join([f"{len(one.at)} × {len(one.at[0])}", one.caption, *one.labels])
        return f"{one.values} {one.caption}" if isinstance(one, Plain) else text_of(one)

    assert [*map(told, laid_out(map(noted, pieces)))] == expected


def test_an_array_of_no_example_is_a_table_without_a_number_to_press() -> None:
    table = fromstring(Plain([[0.25, -1.5], [0.0, float("nan")]], "shares").html())
    assert table.xpath("string(.//caption)") == "shares"
    assert [th.text for th in table.iter("th")] == ["0", "1", "0", "1"]
    cells = [td.text for td in table.iter("td")]
    assert cells == [None, "0.25", "−1.50", "0", "NaN"]
    assert not table.xpath(".//@data-array")
    head, row = fromstring(Plain([[True, False]]).html()).iter("tr")
    assert [one.text for one in head] == ["0", "1"]
    assert [one[0].text for one in row] == ["●", "·"]


def test_a_kernel_tells_of_an_array_that_is_compared_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    lines = (
        "from book.figures.glue import say\nfrom selfattn_ref.worked_examples import load",
        "example = load('SA005')\ns = example.inputs['scores']\nprint('scores', s)",
        "import numpy as np\ne = np.exp(s)\nprint('e', flush=True)\nprint(e, flush=True)\ns.copy()",
        "try:\n    example.check(exponentials=2 * e)\nexcept AssertionError:\n    print(s.copy())",
        "example.check(exponentials=e)",
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in lines])
    NotebookClient(book, kernel_name="python3", coalesce_streams=True).execute()
    told = []
    for cell in book.cells:
        texts = [one.get("data", {}).get("text/html", "") for one in cell.outputs]
        facts = [json.loads(found[1]) for text in texts if (found := NOTE.match(text))]
        pieces = [one for each in facts for one in each["printed"] + each["value"]]
        arrays = [one["matrices"] for one in pieces if isinstance(one, dict)]
        told.append([(one["array"], one["values"]) for each in arrays for one in each])
    scores = load("SA005").inputs["scores"].tolist()
    exponentials = np.exp(scores).tolist()
    assert told == [[], [("scores", [scores])], [("exponentials", [exponentials])], [], []]
