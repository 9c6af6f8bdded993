"""The sources that are pages of the site, and where in them something is defined."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
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
PROMISES = Path("book", "reference", "promises.yml")  # the tests that it names are shown, too


@cache
def modules(root: Path, folder: str) -> dict[str, str]:
    """Return the text of every module of a folder, or of one module, by the name of its page."""
    paths = sorted((root / folder).glob("[a-z]*.py")) or [root / f"{folder}.py"]
    return {
        path.relative_to(root).with_suffix("").as_posix(): path.read_text("utf-8") for path in paths
    }


def promises(root: Path) -> list[dict[str, Any]]:
    """Return what is promised of the checks, in order; a small book promises nothing."""
    file = root / PROMISES
    found: list[dict[str, Any]] = yaml.safe_load(file.read_text("utf-8")) if file.exists() else []
    return found


def shown(root: Path) -> dict[str, str]:
    """Return the text of every module that is a page of the site, by the name of its page."""
    kept = [one["kept"].partition(".py")[0] for one in promises(root)]
    return {page: text for one in (*SHOWN, *kept) for page, text in modules(root, one).items()}


def to_test(app: Sphinx, page: str, test: str) -> nodes.Node:
    """Return the name of a test; if the site shows the test, as a link on a page."""
    path, _, name = test.partition("::")
    module, said = path.removesuffix(".py"), nodes.literal("", test)
    if module not in shown(Path(app.srcdir)):
        return said
    address = app.builder.get_relative_uri(page, module)
    anchor = f"#{name.replace('::', '.')}" if name else ""
    return nodes.reference("", "", said, refuri=address + anchor, internal=True)


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
