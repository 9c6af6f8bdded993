"""What a page says about the tests is counted when the book is built."""

import re
import shutil
import subprocess

import pytest
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
