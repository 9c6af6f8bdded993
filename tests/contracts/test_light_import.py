"""Importing the package costs NumPy and nothing else."""

import pathlib

import selfattn_ref
from tests.contracts.light_import import imported_modules, strangers

ROOT = pathlib.Path(selfattn_ref.__file__).parents[1]


def test_only_numpy_and_the_standard_library_are_imported():
    modules = imported_modules(ROOT)
    assert "numpy" in modules
    assert strangers(modules) == set()
    # `import selfattn_ref` is for computing: the examples are loaded by who asks for them.
    assert not any(name.startswith("selfattn_ref.worked_examples") for name in modules)
