"""What holds of the tests themselves: budgets follow the profile, nothing private is asked."""

import ast
import pathlib

import pytest

TESTS = pathlib.Path(__file__).parents[1]
PROPERTIES = sorted(path for path in TESTS.rglob("*.py") if "@given" in path.read_text("utf-8"))
LIBRARY = sorted(TESTS.glob("library/*.py"))


def own_budgets(text):
    """Return the lines on which a property is given a budget of its own."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.keyword) and node.arg in {"max_examples", "derandomize"}
    ]


def private_names(text):
    """Return the names with an underscore that a text imports, or takes of a module by its name."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            found += [*(node.module or "").split("."), *(alias.name for alias in node.names)]
        if isinstance(node, ast.Import):
            found += [part for alias in node.names for part in alias.name.split(".")]
        if isinstance(node, ast.Attribute) and node.attr != "_fields":
            found.append(node.attr)
    return [name for name in found if name.startswith("_") and not name.startswith("__")]


@pytest.mark.parametrize("path", PROPERTIES, ids=lambda path: path.stem)
def test_the_budget_of_a_property_is_that_of_the_profile(path):
    assert own_budgets(path.read_text("utf-8")) == []  # `make test-deep` deepens what has none


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_the_tests_of_the_library_name_nothing_private(path):
    assert private_names(path.read_text("utf-8")) == []
