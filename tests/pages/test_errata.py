"""Every erratum names a page, an edition and a test that there are, and has been mended.

Of each sentence that holds, an assertion of this test, or of the page, quotes words; so does the
test of each sentence that was wrong or said less.
"""

import ast
import importlib
import inspect
import textwrap

import pytest

from press.reference import errata
from selfattn_ref import __version__
from tests.pages.sources import ROOT, pages, relative
from tests.pages.test_quotes import not_held, quotes, quotes_of, sentences, words_of

PAGES = {relative(page): page for page in pages()}
ENTRIES = pytest.mark.parametrize("entry", errata.entries(ROOT), ids=lambda entry: entry["page"])


def named(entry):
    """Return the class of the test that an erratum names, and the test."""
    file, name, method = entry["test"].split("::")
    module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    return getattr(module, name), getattr(getattr(module, name), method)


@ENTRIES
def test_an_erratum_is_mended_and_stays_so(entry):
    assert entry["old"] not in words_of(PAGES[entry["page"]].read_text("utf-8"))
    if entry.get("test", "").startswith("tests/theorems/"):  # of a statement that the page has
        label = named(entry)[0].__doc__.partition(":")[0]
        assert label in PAGES[entry["page"]].read_text("utf-8")
    edition, newest = (tuple(map(int, v.split("."))) for v in (entry["edition"], __version__))
    assert edition <= newest
    if "without" in entry:  # in which the claim fails, as its test requires
        assert named(entry)[0].hypotheses[entry["without"]].without is not None
    if "refutes" in entry:
        assert entry["refutes"] in named(entry)[0].neighbors


@ENTRIES
def test_what_holds_is_quoted_by_what_guards_it(entry):
    if "test" in entry:
        source = textwrap.dedent(inspect.getsource(inspect.unwrap(named(entry)[1])))
        quoted = quotes(ast.parse(source).body)
        said = [*sentences(entry["new"]), *sentences(entry["old"])]
        assert not [quote for quote in quoted if not any(quote in one for one in said)]
        assert not not_held(sentences(entry["old"]), quoted)
    else:
        quoted = quotes_of(PAGES[entry["page"]].read_text("utf-8"))
    assert not not_held(sentences(entry["new"]), quoted)
