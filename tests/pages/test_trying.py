"""What a page says to try with an example works as it stands there."""

import contextlib
import io
import json
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import selfattn_ref
from selfattn_ref.worked_examples import ids, load, slips
from tests.pages.sources import BOOK

sys.path.insert(0, str(BOOK / "_ext"))
import trying

CALLING = [name for name in ids() if load(name).calls]


class TestSnippets:
    @pytest.mark.parametrize("name", CALLING)
    def test_the_lines_for_numpy_test_a_function(self, name: str) -> None:
        lines = trying.snippets(name)["NumPy"]
        mine = lines.rpartition("test(")[2].rstrip(")")
        theirs = trying.ATTENTION if mine == "my_attention" else mine.removeprefix("my_")
        names: dict[str, Any] = {mine: getattr(selfattn_ref, theirs)}
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(lines, names)
        assert said.getvalue().startswith(f"{name} checked: ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    trying.write_files(built_into(site), None)
    return site / "examples"


def built_into(site: Path) -> Any:
    return SimpleNamespace(outdir=str(site), builder=SimpleNamespace(format="html"))


class TestFiles:
    def test_every_link_of_an_example_leads_to_a_file(self, folder: Path) -> None:
        for name in ids():
            for link in trying.buttons(name).split('href="../examples/')[1:]:
                assert (folder / link.partition('"')[0]).is_file()

    def test_the_files_hold_the_example(self, folder: Path) -> None:
        assert json.loads((folder / "SA016.json").read_text("utf-8"))["id"] == "SA016"
        with np.load(folder / "SA016.npz") as arrays:
            assert np.array_equal(arrays["weights"], load("SA016").expected["weights"])

    def test_the_archive_has_them_all_and_is_the_same_in_every_build(self, folder: Path) -> None:
        archive = folder / trying.ARCHIVE
        before = archive.read_bytes()
        with zipfile.ZipFile(archive) as files:
            names = {Path(name).name for name in files.namelist()}
        assert names >= {"manifest.json", "schema.json", "SA001.json", "SA001.npz"}
        app: Any = SimpleNamespace(
            outdir=str(folder.parent), builder=SimpleNamespace(format="html")
        )
        trying.write_files(app, None)
        assert archive.read_bytes() == before


def test_what_an_example_catches_is_what_the_catalog_says() -> None:
    caught = trying.slips_of()
    assert {slip.id for found in caught.values() for slip in found} == set(slips.SLIPS)
    for name, calls in slips.matrix().items():
        assert all(slips.SLIPS[name] in caught[call.example] for call in calls)
