"""The sources that are pages of the site, and where in them something is defined."""

import re
from functools import cache
from pathlib import Path

from sphinx.pycode.parser import Parser

THEOREMS = "tests/theorems"
CHECKED_BY = re.compile(r"Checked by (tests/theorems/test_\w+)\.py::(\w+)\.")  # on a page
DERIVATIONS = "derivations"
RECIPES = "selfattn_ref/worked_examples/recipes"
RECOMPUTED = "tests/examples/test_recomputed"
FORMERLY = "TestTheLibraryReproducesEveryExample."  # before the name of a recipe in RECOMPUTED
# Where functions of a page stand now, by the names that their old addresses have.
MOVED = {
    "derivations/algebra": {"real": "derivations/recording.html#real"},
    "derivations/cases": {"times": "derivations/algebra.html#times"},
    "derivations/concepts": {"rounded": "derivations/recording.html#_rounded"},
}
CALLS = "tests/examples/test_calls"
CALLING = "TestTheData.test_the_library_does_what_the_example_knows"
SHOWN = (THEOREMS, DERIVATIONS, RECIPES, RECOMPUTED, CALLS)


@cache
def modules(root: Path, folder: str) -> dict[str, str]:
    """Return the text of every module of a folder, or of one module, by the name of its page."""
    paths = sorted((root / folder).glob("[a-z]*.py")) or [root / f"{folder}.py"]
    return {
        path.relative_to(root).with_suffix("").as_posix(): path.read_text("utf-8") for path in paths
    }


@cache
def places(text: str) -> dict[str, tuple[int, int]]:
    """Return the first and the last line of every class and function of a module, by name."""
    parser = Parser(text)
    parser.parse()
    found = parser.definitions.items()
    return {name: (first, last) for name, (kind, first, last) in found if kind in {"class", "def"}}


@cache
def defined_in(root: Path, folder: str) -> dict[str, str]:
    """Return the page of the source of every class and function of a folder, by name."""
    return {
        name: page
        for page, text in modules(root, folder).items()
        for name in places(text)
        if "." not in name
    }
