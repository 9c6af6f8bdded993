"""The tests can fail: the table of mutants is in order, and one of them dies here.

All of them: `python -m tests.meta.mutants`.
"""

import ast
import pathlib

import pytest

from tests.meta import mutants


def test_names_are_unique_and_changes_are_changes():
    assert len({mutant.name for mutant in mutants.MUTANTS}) == len(mutants.MUTANTS) >= 25
    assert all(mutant.old != mutant.new for mutant in mutants.MUTANTS)


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: mutant.name)
def test_the_text_stands_exactly_once_and_the_mutant_is_python(mutant):
    text = (mutants.ROOT / mutant.source).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1
    ast.parse(text.replace(mutant.old, mutant.new))
    assert all((mutants.ROOT / path).is_file() for path in mutants.test_files(mutant.module))


def test_a_softmax_that_adds_up_to_two_is_noticed():
    doubled = next(mutant for mutant in mutants.MUTANTS if mutant.name == "softmax doubled")
    one_class = "tests/test_weights.py::TestSoftmax"
    assert mutants.outcome(doubled, one_class) == "killed"


def test_without_a_mutant_the_same_run_passes(tmp_path: pathlib.Path):
    mutants.copy_tree(mutants.ROOT, tmp_path)
    one_class = "tests/test_weights.py::TestSoftmax"
    assert mutants.run_tests(tmp_path, one_class) == mutants.PASSED
