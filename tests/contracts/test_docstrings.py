"""Docstrings: numpydoc's own checks, the sections of every function, shapes as in the table."""

import importlib
import inspect
import pathlib
import re

import pytest
from numpydoc.docscrape import FunctionDoc
from numpydoc.validate import validate

import selfattn_ref
from tests.contracts.calls import CALLS

FUNCTIONS = [call for call in CALLS if "." not in call.name]
PACKAGE = pathlib.Path(selfattn_ref.__file__).parent
MODULES = [*PACKAGE.glob("*.py"), *PACKAGE.glob("streaming/*.py")]


@pytest.mark.parametrize("call", FUNCTIONS, ids=str)
class TestDocstring:
    def test_numpydoc_finds_nothing_and_every_section_is_there(self, call):
        # All its checks: sections and their order, parameters against the signature, periods.
        assert validate(f"selfattn_ref.{call.name}")["errors"] == []
        doc = FunctionDoc(call.public)
        for section in ("Summary", "Parameters", "Returns", "Raises", "Examples"):
            assert doc[section], section
        assert [error.type for error in doc["Raises"]] == ["TypeError", "ValueError"]

    def test_the_formula_follows_the_summary(self, call):
        before_the_parameters = call.public.__doc__.partition("Parameters\n")[0]
        assert ".. math::" in before_the_parameters or ":math:" in before_the_parameters

    def test_parameters_have_the_axes_of_the_table_and_are_optional_if_they_have_a_default(
        self, call
    ):
        documented = {
            single.strip(): parameter.type
            for parameter in FunctionDoc(call.public)["Parameters"]
            for single in parameter.name.split(",")
        }
        assert documented.keys() == call.parameters.keys()
        for name, entry in call.parameters.items():
            assert documented[name].endswith("optional") == bool(entry.default), name
            shapes = re.findall(r"\(.*?\)", documented[name])
            if shapes:
                assert f"({', '.join(entry.axes)})" in shapes, name

    def test_results_are_arrays_with_the_shape_of_the_table_or_numbers(self, call):
        results = FunctionDoc(call.public)["Returns"]
        if results[0].type == "AttentionState":
            assert call.results[0].name == "sums"
            return
        for result, entry in zip(results, call.results, strict=True):
            axes = f"({', '.join(call.axes(entry))})"
            kind = {"bool": "ndarray of bool", "float64": "ndarray of float64"}.get(entry.name)
            same = [f"ndarray, shape of {name}" for name in ("x", "scores", entry.name)]
            assert result.type in [f"{kind or 'ndarray'}, shape {axes}", *same, "float"]
            assert (result.type == "float") == (entry.name == "float")

    def test_references_are_cited_and_names_exist(self, call):
        listed = set(re.findall(r"^\s*\.\. \[(\d+)\]", call.public.__doc__, flags=re.MULTILINE))
        assert set(re.findall(r"\[(\d+)\]_", call.public.__doc__)) == listed
        for group, _ in FunctionDoc(call.public)["See Also"]:
            for other, _ in group:
                assert other in selfattn_ref.__all__


@pytest.mark.parametrize(
    "name",
    [
        "cases",
        "ids",
        "load",
        "WorkedExample.check",
        "Call.check",
        "Call.test",
        "slips.matrix",
        "calls",
        "report",
    ],
)
def test_what_worked_examples_offer_is_documented_too(name):
    errors = validate(f"selfattn_ref.worked_examples.{name}")["errors"]
    assert {code for code, _ in errors} <= {"ES01"}  # one sentence may be enough


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_modules_say_what_they_are_for_and_name_pages_of_the_book(path):
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    doc = importlib.import_module(name.removesuffix(".__init__")).__doc__
    assert inspect.cleandoc(doc).splitlines()[0].endswith((".", ":"))
    titles = {
        re.search(r"^# (.+)$", page.read_text("utf-8"), re.M)[1]
        for page in (PACKAGE.parent / "book").rglob("*.md")
    }
    text = " ".join(path.read_text("utf-8").split())
    assert set(re.findall(r'the page "([^"]+)"', text)) <= titles
