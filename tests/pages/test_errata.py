"""Every erratum names a page, an edition and a test that there are, and has been mended."""

import importlib

import pytest

from press.reference import errata
from selfattn_ref import __version__
from tests.pages.sources import ROOT, pages, relative

PAGES = {relative(page): page for page in pages()}


@pytest.mark.parametrize("entry", errata.entries(ROOT), ids=lambda entry: entry["page"])
def test_an_erratum_is_mended_and_stays_so(entry):
    page = PAGES[entry["page"]].read_text("utf-8")
    assert entry["old"] not in page
    edition, newest = (tuple(map(int, v.split("."))) for v in (entry["edition"], __version__))
    assert edition <= newest
    if "asserts" in entry:
        assert entry["asserts"].startswith("assert ")
        assert entry["asserts"] in page
        return
    file, _, name = entry["test"].partition("::")
    test, _, method = name.partition("::")
    tested = getattr(importlib.import_module(file.removesuffix(".py").replace("/", ".")), test)
    if "without" in entry:  # in which the claim fails, as its test requires
        assert tested.hypotheses[entry["without"]].without is not None
    elif "refutes" in entry:
        assert entry["refutes"] in tested.neighbors
    else:
        assert callable(getattr(tested, method))
