"""The check of what the package imports notices what it is there to notice."""

import pathlib
import shutil

import pytest

import selfattn_ref
from tests.contracts.light_import import imported_modules, strangers

PACKAGE = pathlib.Path(selfattn_ref.__file__).parent


@pytest.mark.parametrize(
    "line, noticed",
    [
        ("", set()),
        ("import pytest", {"pytest"}),
        ("import selfattn_ref.worked_examples", {"selfattn_ref.worked_examples"}),
    ],
)
def test_what_a_module_imports_is_noticed(line, noticed, tmp_path):
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "selfattn_ref", ignore=ignore)
    with (tmp_path / "selfattn_ref" / "weights.py").open("a", encoding="utf-8") as module:
        module.write(f"\n{line}\n")
    modules = set(imported_modules(tmp_path))
    assert noticed <= modules
    assert ("pytest" in strangers(modules)) == ("pytest" in noticed)
    assert noticed or strangers(modules) == set()
