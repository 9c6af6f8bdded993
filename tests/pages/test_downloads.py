"""What a page says to try with an example works as it stands there."""

import contextlib
import io
import re
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import numpy as np
import pytest

import selfattn_ref
from press.example import downloads, slip_catalog, snippets
from press.site import library
from press.site.library import WHEEL
from selfattn_ref.worked_examples import WorkedExampleMismatch, ids, load, slips
from selfattn_ref.worked_examples.__main__ import main

WORK: Any = SimpleNamespace(  # as much of one as a notebook needs
    url="https://book.test/SA016/", sentence=lambda: "A sentence.", bibtex=lambda: "@misc{key}"
)
CALLING = [name for name in ids() if load(name).calls]


class TestSnippets:
    @pytest.mark.parametrize("name", CALLING)
    def test_their_lines_fit_the_page(self, name):
        for lines in snippets.snippets(name).values():
            assert max(map(len, lines.splitlines())) <= snippets.WIDTH

    @pytest.mark.parametrize("name", CALLING)
    def test_the_lines_for_numpy_test_a_function(self, name):
        lines = snippets.snippets(name)["NumPy"]
        mine = lines.rpartition("test(")[2].rstrip(")")
        theirs = snippets.ATTENTION if mine == "my_attention" else mine.removeprefix("my_")
        names = {mine: getattr(selfattn_ref, theirs)}
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(lines, names)
        assert said.getvalue().startswith(f"{name} checked: ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return taken_along(tmp_path_factory.mktemp("site"))


def taken_along(site):
    """Put into the site what the build puts there to be taken along; return the folder."""
    for name in ids():
        downloads.write_notebook(built_into(site), name, WORK)
    downloads.write_files(built_into(site))
    return site / "examples"


def built_into(site, baseurl=""):
    return SimpleNamespace(outdir=str(site), config=SimpleNamespace(html_baseurl=baseurl))


class TestFiles:
    def test_every_link_of_an_example_leads_to_a_file(self, folder):
        for name in ids():
            for link in downloads.buttons(name).split('href="../examples/')[1:]:
                assert (folder / link.partition('"')[0]).is_file()

    def test_the_archive_has_them_all(self, folder):
        with zipfile.ZipFile(folder / downloads.ARCHIVE) as files:
            names = {Path(name).name for name in files.namelist()}
        archives = {downloads.ARCHIVE, downloads.VECTORS}
        assert names == {path.name for path in folder.iterdir()} - archives
        assert names >= {"manifest.json", "schema.json", WHEEL}
        kinds = (".json", ".npz", ".safetensors", ".trace.json", ".ipynb")
        assert names >= {f"SA001{suffix}" for suffix in kinds}

    def test_the_vectors_are_what_is_exported_with_a_manifest_of_it(self, folder, tmp_path):
        with contextlib.redirect_stdout(io.StringIO()):
            main(["export", f"{tmp_path}"])
        with zipfile.ZipFile(folder / downloads.VECTORS) as files:
            held = {name: files.read(name) for name in files.namelist()}
        assert held.pop("selfattn-vectors/LICENSE.txt") == Path("LICENSE").read_bytes()
        assert held == {
            f"selfattn-vectors/{path.name}": path.read_bytes() for path in tmp_path.iterdir()
        }
        assert (folder / downloads.VECTORS).stat().st_size <= 1_000_000

    @pytest.mark.parametrize("name", ["", downloads.ARCHIVE, downloads.VECTORS])
    def test_the_folder_and_the_archives_are_verified(self, folder, name, capsys):
        assert main(["verify", f"{folder / name}"]) == 0
        assert f"\n{len(ids())} examples are those that " in capsys.readouterr().out


class TestInstalling:
    def test_a_page_links_the_file_that_its_line_installs(self, folder):
        here, there = (
            library.how_to_install(base, "../../") for base in ("", "https://book.test/of")
        )
        for told in (here, there):
            (link,) = re.findall('href="(.*?)"', told[0].astext())
            assert link == f"../../examples/{WHEEL}"
            assert (folder / Path(link).name).is_file()
        assert here[1].astext() == f"pip install ./{WHEEL}"
        assert there[1].astext() == f"pip install https://book.test/of/examples/{WHEEL}"


class TestNotebooks:
    @pytest.mark.parametrize("name", ids())
    def test_every_cell_runs_and_says_that_all_agrees(self, folder, name):
        notebook = nbformat.read(folder / f"{name}.ipynb", as_version=4)
        nbformat.validate(notebook)
        names = {}
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            for cell in notebook.cells:
                if cell.cell_type == "code":
                    exec(compile(cell.source, f"{name}.ipynb", "exec"), names)
        example = load(name)
        assert names["computed"].keys() == example.expected.keys()
        assert all(f"{given}: " in said.getvalue() for given in example.inputs)
        asked = [call for call in example.calls if call.function == calls_of(example)]
        assert said.getvalue().count(f"{name} checked: ") == len(asked)
        assert bool(asked) == bool(example.calls)

    def test_a_wrong_library_is_noticed(self, folder, monkeypatch):
        cells = nbformat.read(folder / "SA005.ipynb", as_version=4).cells
        code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        monkeypatch.setattr(selfattn_ref, "softmax", lambda x: np.exp(x))
        with pytest.raises(WorkedExampleMismatch, match="SA005"):
            exec(code, {})

    def test_it_installs_the_library_of_its_site_and_cites_the_example(self, tmp_path):
        downloads.write_notebook(built_into(tmp_path, "https://book.test"), "SA016", WORK)
        cells = nbformat.read(tmp_path / "examples" / "SA016.ipynb", as_version=4).cells
        assert f"# %pip install https://book.test/examples/{WHEEL}" in cells[1].source
        assert WORK.url in cells[0].source
        assert cells[-1].source.endswith("A sentence.\n\n```bibtex\n@misc{key}\n```")


def calls_of(example):
    return snippets.tested(example)[0] if example.calls else ""


def test_what_an_example_catches_is_what_the_catalog_says():
    caught = slip_catalog.slips_of()
    assert {slip.id for found in caught.values() for slip in found} == set(slips.SLIPS)
    for name, calls in slip_catalog.matrix().items():
        assert all(slips.SLIPS[name] in caught[call.example] for call in calls)
