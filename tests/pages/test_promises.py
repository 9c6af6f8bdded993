"""Every promise names a test that there is, and a change that can be made."""

import ast
import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from sphinx.errors import ExtensionError

from press.reference.promises import TRIED, items, runs
from press.site.sources import places, promises, shown
from tests.pages.sources import ROOT


@pytest.mark.parametrize("entry", promises(ROOT), ids=lambda entry: entry["kept"])
def test_what_keeps_a_promise_is_there_and_what_breaks_it_can_be_done(entry):
    assert entry.keys() - {"caught"} == {"promise", "kept", "broken"}
    assert all(re.fullmatch("[0-9a-f]{7}", commit) for commit in entry.get("caught", {}))
    file, *names = entry["kept"].split("::")
    assert file.startswith(("tests/examples/test_", "tests/theorems/test_", "tests/pages/test_"))
    body = ast.parse((ROOT / file).read_text("utf-8")).body
    for name in names:
        (found,) = (node for node in body if getattr(node, "name", None) == name)
        body = found.body
    assert (ROOT / entry["broken"]["in"]).read_text("utf-8").count(entry["broken"]["old"]) == 1


def test_what_keeps_a_promise_is_linked_to_where_it_stands():
    builder = SimpleNamespace(get_relative_uri=lambda page, other: f"{other}.html")
    app = SimpleNamespace(srcdir=ROOT, builder=builder)
    links = [link for item in items(app, "page") for link in item.findall(nodes.reference)]
    assert [link.astext() for link in links] == [entry["kept"] for entry in promises(ROOT)]
    for link in links:
        page, _, anchor = link["refuri"].partition("#")
        assert page == link.astext().partition(".py")[0] + ".html"
        assert anchor == link.astext().partition("::")[2].replace("::", ".")
        assert not anchor or anchor in places(shown(ROOT)[page.removesuffix(".html")])


def test_when_a_target_runs_is_read_from_the_workflows(tmp_path):
    assert runs(ROOT, "test") == "on each change"
    assert runs(ROOT, TRIED) == runs(ROOT, "mutants") == "every night"
    with pytest.raises(ExtensionError, match="no workflow runs make nothing"):
        runs(ROOT, "nothing")
