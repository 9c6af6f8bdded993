"""Pages are executed again whenever something that they import has changed."""

import ast
import re
import shutil
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook, writes

from press.build.book import INPUTS
from press.build.execution import READS_MORE
from press.build.fingerprint import DEPENDENCIES, fingerprint
from press.seams import Cache
from tests.pages.sources import BOOK, ROOT, cells, pages


@pytest.fixture
def copy(tmp_path):
    for name in DEPENDENCIES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name)
        else:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def imported(code):
    """Yield the modules of ours that a cell imports, as paths."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        else:
            continue
        paths = [Path(*name.split(".")) for name in names]
        paths = [file for one in paths for file in (one.with_suffix(".py"), one / "__init__.py")]
        yield from (file for file in paths if (ROOT / file).is_file())


def test_what_a_cell_imports_is_a_dependency_or_its_page_is_executed_anew():
    texts = [page.read_text("utf-8") for page in pages()]
    kept = {
        path
        for text in texts
        if not any(line in text for line in READS_MORE)
        for cell in cells(text)
        for path in imported(cell.code)
    }
    assert len(kept) > 5
    assert not [one for one in kept if not any(one.is_relative_to(top) for top in DEPENDENCIES)]


class TestFingerprint:
    def test_a_copy_has_the_fingerprint_of_the_original(self, copy):
        assert fingerprint(copy, DEPENDENCIES) == fingerprint(ROOT, DEPENDENCIES)

    @pytest.mark.parametrize(
        "name",
        [
            "selfattn_ref/weights.py",
            "selfattn_ref/worked_examples/data/SA005.json",
            "book/figures/charts.py",
            "book/figures/palette.py",
            "book/reference/other_libraries.py",
            "requirements.txt",
        ],
    )
    def test_a_changed_dependency_changes_it_and_restoring_restores_it(self, copy, name):
        before = fingerprint(copy, DEPENDENCIES)
        content = (copy / name).read_bytes()
        (copy / name).write_bytes(content + b"\n")
        assert fingerprint(copy, DEPENDENCIES) != before
        (copy / name).write_bytes(content)
        assert fingerprint(copy, DEPENDENCIES) == before

    def test_a_new_and_a_renamed_file_change_it(self, copy):
        before = fingerprint(copy, DEPENDENCIES)
        new = copy / "selfattn_ref" / "new.py"
        new.touch()
        with_new = fingerprint(copy, DEPENDENCIES)
        renamed = new.rename(new.with_name("renamed.py"))
        assert len({before, with_new, fingerprint(copy, DEPENDENCIES)}) == 3
        renamed.unlink()
        assert fingerprint(copy, DEPENDENCIES) == before

    def test_compiled_files_do_not_count(self, copy):
        before = fingerprint(copy, DEPENDENCIES)
        cache = copy / "selfattn_ref" / "__pycache__"
        cache.mkdir(exist_ok=True)
        (cache / "weights.cpython-311.pyc").write_bytes(b"x")
        assert fingerprint(copy, DEPENDENCIES) == before

    def test_what_the_cells_depend_on_is_an_input_of_the_build(self):
        page = (BOOK / "reference/architecture.md").read_text("utf-8")
        read = re.findall(r'\bsays\("([^"]+)"', page)
        assert read
        for one in (*DEPENDENCIES, *read):
            assert any(one == known or one.startswith(f"{known}/") for known in INPUTS), one


def test_a_result_is_kept_unless_the_page_is_to_be_executed_anew(tmp_path):
    cache, page = Cache(tmp_path / "cache"), tmp_path / "page.ipynb"
    page.write_text(writes(new_notebook(cells=[new_code_cell("1 + 1", execution_count=1)])))
    number = cache.add_nb_to_project(f"{page}").pk
    key = cache.missing(number)
    cache.cache_notebook_file(page)
    assert cache.missing(number) is None
    assert cache.missing(number, anew=True) == cache.missing(number) == key


def test_a_page_that_reads_code_or_another_page_is_executed_anew():
    pages = ("reference/architecture.md", "concepts/attention-equation.md")
    for page, line in zip(pages, READS_MORE, strict=True):
        assert line in (ROOT / "book" / page).read_text("utf-8")
