"""Every expected value of every worked example, computed with the library.

The build of the book calls the same recipes, before a page says that the library agrees.
"""

import re
import subprocess
import sys

import pytest

import selfattn_ref
from selfattn_ref.worked_examples import ids, load, recipes
from tests.examples.each import IN_USE


class TestTheLibraryReproducesEveryExample:
    def test_every_example_is_recomputed(self):
        # A second list of the ids: who loses one has to lose it here as well.
        recomputed = {name.upper() for name in vars(recipes) if re.fullmatch(r"sa\d{3}", name)}
        assert set(IN_USE) <= recomputed <= set(ids())

    @pytest.mark.parametrize("example_id", IN_USE)
    def test_it_agrees_in_every_expected_value(self, example_id):
        example = load(example_id)
        computed = recipes.recipe(example_id)(selfattn_ref, example.inputs)
        assert set(computed) == set(example.expected)
        assert example.check(**computed).names == tuple(computed)


class TestRecipes:
    def test_a_source_has_what_the_recipe_needs_and_no_more(self):
        source = recipes.source("SA037")
        first, *_ = source.splitlines()
        assert first == 'ROLES = ("query", "key", "value")'
        assert re.findall(r"^def (\w+)", source, re.M) == ["matrices", "projected", "sa037"]

    @pytest.mark.parametrize("name", ["SA999", "sa016", "masked", 16])
    def test_what_has_no_recipe_is_refused(self, name):
        with pytest.raises(ValueError, match=f"there is no recipe for {name!r}"):
            recipes.recipe(name)

    def test_they_are_loaded_only_when_they_are_asked_for(self):
        code = "import sys, selfattn_ref.worked_examples as w\nw.load('SA001')\nprint(*sys.modules)"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "selfattn_ref.worked_examples._files" in run.stdout.split()
        assert "selfattn_ref.worked_examples.recipes" not in run.stdout.split()
