"""Docstrings: numpydoc's own checks, and the sections that every public function has."""

import importlib
import inspect
import pathlib
import re

import pytest
from numpydoc.docscrape import FunctionDoc
from numpydoc.validate import validate

import selfattn_ref

FUNCTIONS = sorted(
    name for name in selfattn_ref.__all__ if inspect.isfunction(getattr(selfattn_ref, name))
)
PACKAGE = pathlib.Path(selfattn_ref.__file__).parent
MODULES = sorted(
    [path.stem for path in PACKAGE.glob("*.py")]
    + [f"streaming.{path.stem}" for path in PACKAGE.glob("streaming/*.py")]
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpydoc_finds_nothing(name):
    # All its checks: sections and their order, parameters against the signature, periods.
    assert validate(f"selfattn_ref.{name}")["errors"] == []


def half_documented(x, axis=-1):
    """turns numbers into weights

    Parameters
    ----------
    axis : int
        the axis
    """


def test_numpydoc_would_find_something():
    codes = {code for code, _ in validate(f"{__name__}.half_documented")["errors"]}
    assert codes >= {"SS02", "SS03", "PR01", "PR08", "PR09", "EX01"}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("section", ["Summary", "Parameters", "Returns", "Raises", "Examples"])
def test_every_section_is_there(name, section):
    assert FunctionDoc(getattr(selfattn_ref, name))[section]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_formula_follows_the_summary(name):
    doc = getattr(selfattn_ref, name).__doc__
    before_the_parameters = doc.partition("Parameters\n")[0]
    assert ".. math::" in before_the_parameters or ":math:" in before_the_parameters


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_that_have_a_default_are_optional_and_no_others(name):
    function = getattr(selfattn_ref, name)
    documented = {
        single.strip(): parameter.type
        for parameter in FunctionDoc(function)["Parameters"]
        for single in parameter.name.split(",")
    }
    for parameter in inspect.signature(function).parameters.values():
        optional = parameter.default is not inspect.Parameter.empty
        assert documented[parameter.name].endswith("optional") == optional, parameter.name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_arrays_with_a_shape_or_numbers(name):
    documented = re.compile(r"ndarray( of bool| of float64)?, shape |float$|AttentionState$")
    for result in FunctionDoc(getattr(selfattn_ref, name))["Returns"]:
        assert documented.match(result.type)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_told_apart_by_kind_and_value(name):
    raised = [error.type for error in FunctionDoc(getattr(selfattn_ref, name))["Raises"]]
    assert raised == ["TypeError", "ValueError"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_references_are_cited_and_citations_listed(name):
    doc = getattr(selfattn_ref, name).__doc__
    listed = set(re.findall(r"^\s*\.\. \[(\d+)\]", doc, flags=re.MULTILINE))
    assert set(re.findall(r"\[(\d+)\]_", doc)) == listed


@pytest.mark.parametrize("name", FUNCTIONS)
def test_see_also_names_what_exists(name):
    for group, _ in FunctionDoc(getattr(selfattn_ref, name))["See Also"]:
        for other, _ in group:
            assert other in selfattn_ref.__all__


@pytest.mark.parametrize("name", MODULES)
def test_modules_say_what_they_are_for(name):
    full = f"selfattn_ref.{name}".removesuffix(".__init__")
    doc = importlib.import_module(full).__doc__
    assert doc
    assert doc.strip().splitlines()[0].endswith((".", ":"))


def test_a_page_that_a_docstring_names_is_in_the_book():
    titles = {
        re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.M)[1]
        for page in (PACKAGE.parent / "book").rglob("*.md")
    }
    for module in {*PACKAGE.glob("*.py"), *PACKAGE.glob("streaming/*.py")}:
        text = " ".join(module.read_text(encoding="utf-8").split())
        named = set(re.findall(r'the page "([^"]+)"', text))
        assert named <= titles, f"{module.name}: {named - titles}"
