"""What a page says about the tests is counted when the book is built."""

import re
import shutil
import subprocess

import pytest
from docutils import nodes
from sphinx.errors import ExtensionError

from press.reference import checks
from tests.mutation.__main__ import SLIPS, read_slips
from tests.pages.sources import ROOT

MODULE = """import pytest

@pytest.mark.parametrize("n", [1, 2, 3])
def test_it(n):
    assert n
"""


class TestCases:
    @pytest.fixture
    def root(self, tmp_path):
        for name in checks.FOLDERS:
            (tmp_path / name).mkdir(parents=True)
        (tmp_path / "tests" / "library" / "test_one.py").write_text(MODULE)
        for name in ("selfattn_ref", "book", "press", "derivations"):
            (tmp_path / name).mkdir()
        shutil.copy(ROOT / "_toc.yml", tmp_path)
        return tmp_path

    def test_they_are_counted_again_only_if_what_decides_them_has_changed(self, root, monkeypatch):
        assert checks.cases(root) == {"library": 3}
        with monkeypatch.context() as patched:
            patched.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("again"))
            assert checks.cases(root) == {"library": 3}
        (root / "book" / "errata.yml").touch()  # tests may run for each entry of a file
        (root / "tests" / "pages" / "test_two.py").write_text(MODULE)
        assert checks.cases(root) == {"library": 3, "pages": 3}

    def test_tests_that_cannot_be_collected_end_the_build(self, root):
        (root / "tests" / "library" / "test_one.py").write_text("import not_there_at_all\n")
        with pytest.raises(ExtensionError, match=r"(?s)cases: .*not_there_at_all"):
            checks.cases(root)


def test_the_errors_that_are_counted_are_those_that_are_tried():
    text = SLIPS.read_text("utf-8")
    assert len(read_slips(text)) == text.count("←") > 200


def test_every_statement_has_errors_that_its_own_test_has_to_notice():
    named = {slip.module for slip in read_slips(SLIPS.read_text("utf-8"))}
    statements = {
        f"theorems/{path.stem}::{name}"
        for path in (ROOT / "tests" / "theorems").glob("test_*.py")
        for name in re.findall(r"^class (\w+)\(Statement\):", path.read_text("utf-8"), re.M)
    }
    assert len(statements) >= 60
    assert statements == {module for module in named if "::" in module}


def test_nothing_outside_of_the_tests_imports_them():
    folders = ("selfattn_ref", "derivations", "book", "press", "benchmarks")
    paths = [p for f in folders for s in ("py", "md") for p in (ROOT / f).rglob(f"*.{s}")]
    assert len(paths) > 100
    imports = ("from tests", "import tests")
    lines = [(p, line) for p in paths for line in p.read_text("utf-8").splitlines()]
    assert [(p.name, x) for p, x in lines if x.strip().startswith(imports)] == []


def test_the_table_of_budgets_names_every_one_with_its_limit_and_the_ways_it_is_opened():
    """Counted without importing it: each `@budget(` of the code, whose first word is its name."""
    code = [p.read_text("utf-8") for p in (ROOT / "press" / "measure").glob("*.py")]
    names = [name for text in code for name in re.findall(r'^@budget\(\s*"(.+?)"', text, re.M)]
    rows = [[c.astext() for c in r] for r in checks.budgets().findall(nodes.row)][1:]
    assert sorted(row[0] for row in rows) == sorted(names)
    told = {name: (limit, measured) for name, limit, measured in rows}
    assert told["console messages"] == ("0", "from a server; from a disk; without script")
    assert told["kB on the next page"] == ("≤ 60", "from a server")
    assert told["contrast on paper"] == ("≥ 4.5", "on paper, 718 px wide, dark")
    assert "390 px wide, dark, without script" in told["px beyond the window"][1]
    assert "1280 px wide, dark, forced colors, text at 200%" in told["contrast of text"][1]
