"""Every promise names a test that there is, and a change that can be made."""

import ast
import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from sphinx.errors import ExtensionError

from press.reference.promises import TRIED, items, often, runs, targets
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


def test_when_a_target_runs_is_read_from_the_workflows():
    assert runs(ROOT, "test") == runs(ROOT, "check-site") == "on each change"
    assert runs(ROOT, TRIED) == runs(ROOT, "examples") == "every night"
    with pytest.raises(ExtensionError, match="no workflow runs make nothing"):
        runs(ROOT, "nothing")


@pytest.mark.parametrize(
    "starts, answer",
    [
        ({"push": None, "pull_request": None}, "on each change"),
        ({"schedule": [{"cron": "17 3 * * *"}]}, "every night"),
        ({"schedule": [{"cron": "43 4 * * 1"}]}, "every week"),
        ({"schedule": [{"cron": "17 3 1 1 *"}]}, None),
        ({"workflow_dispatch": None}, None),
    ],
)
def test_how_often_is_read_from_what_starts_a_workflow(starts, answer):
    if answer is None:
        with pytest.raises((ExtensionError, KeyError)):
            often({True: starts})
    else:
        assert often({True: starts}) == answer


def test_a_script_that_no_workflow_starts_runs_nothing():
    jobs = {"one": {"steps": [{"run": "bash .ci/run"}, {"run": "make lint"}]}}
    assert targets({"jobs": jobs}, {"test"}) == {"test", "lint"}
    jobs["one"]["steps"].pop(0)
    assert targets({"jobs": jobs}, {"test"}) == {"lint"}


def test_what_contributors_are_told_of_the_nights_is_true():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    (nights, changes) = re.search(
        r"\n\n([^\n]*(?:\n[^\n]+)*?)They run every night; ([^\n]+)", text
    ).groups()
    for name in re.findall("`make ([a-z-]+)`", nights):
        assert runs(ROOT, name) == "every night", name
    (name,) = re.findall("`make ([a-z-]+)`", changes)
    assert runs(ROOT, name) == "on each change"
