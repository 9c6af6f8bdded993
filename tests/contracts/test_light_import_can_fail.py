"""The check of what the package imports notices what it is there to notice."""

import pathlib
import shutil

import pytest

import selfattn_ref
from tests.contracts.light_import import imported_modules, strangers

PACKAGE = pathlib.Path(selfattn_ref.__file__).parent


@pytest.fixture
def copied_package(tmp_path):
    """Return a copy of the package, to be spoiled."""
    ignore = shutil.ignore_patterns("__pycache__")
    return pathlib.Path(shutil.copytree(PACKAGE, tmp_path / "selfattn_ref", ignore=ignore))


def test_a_module_that_imports_another_package_is_noticed(copied_package):
    module = copied_package / "weights.py"
    module.write_text(module.read_text(encoding="utf-8") + "\nimport pytest\n", "utf-8")
    assert "pytest" in strangers(imported_modules(copied_package.parent))


def test_a_module_that_loads_the_worked_examples_is_noticed(copied_package):
    module = copied_package / "weights.py"
    line = "\nimport selfattn_ref.worked_examples\n"
    module.write_text(module.read_text(encoding="utf-8") + line, "utf-8")
    modules = imported_modules(copied_package.parent)
    assert "selfattn_ref.worked_examples" in modules


def test_an_unspoiled_copy_passes(copied_package):
    assert strangers(imported_modules(copied_package.parent)) == set()
