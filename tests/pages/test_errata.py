"""Every erratum names a page, an edition and a test that there are, and has been mended."""

import ast

import pytest

from press.reference import errata
from selfattn_ref import __version__
from tests.pages.sources import ROOT, pages, relative

PAGES = {relative(page): page for page in pages()}


@pytest.mark.parametrize("entry", errata.entries(ROOT), ids=lambda entry: entry["page"])
def test_an_erratum_is_mended_and_stays_so(entry):
    assert list(entry) == ["page", "old", "new", "found", "edition", "test"]
    assert entry["old"] not in PAGES[entry["page"]].read_text("utf-8")
    edition, newest = (tuple(map(int, v.split("."))) for v in (entry["edition"], __version__))
    assert edition <= newest
    file, _, name = entry["test"].partition("::")
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
