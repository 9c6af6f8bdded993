"""The wheel that the site serves, used far from the sources: `make test-project`."""

import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from press.site.addresses import address
from selfattn_ref import __version__
from selfattn_ref.worked_examples import ids
from tests.pages.sources import ROOT
from tests.pages.test_downloads import taken_along
from tests.project.rehearsal import copied

USE = """
import importlib.metadata, pathlib, sys
import numpy
import selfattn_ref, selfattn_ref.streaming
from selfattn_ref.worked_examples import ids, load

assert pathlib.Path(selfattn_ref.__file__).is_relative_to(sys.argv[1])
assert importlib.metadata.version("selfattn_ref") == selfattn_ref.__version__
x = load("SA006").inputs["embeddings"]
load("SA006").check(context=selfattn_ref.streaming_attention(x, x, x, scale=1.0))
print(*ids())
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return a copy of what one can take along from the site."""
    made, copy = (tmp_path_factory.mktemp(name) for name in ("made", "copy"))
    taken_along(made)
    return Path(shutil.copytree(made, copy / "site"))


@pytest.fixture(scope="module")
def wheel(site):
    (path,) = site.rglob("*.whl")
    return path


def test_what_pip_makes_of_a_copy_of_the_project_holds_the_same(wheel, tmp_path):
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    made = run(*command, "--quiet", "--wheel-dir", tmp_path, copied(tmp_path / "p"), cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    archives = [zipfile.ZipFile(path) for path in (wheel, tmp_path / wheel.name)]
    ours, theirs = ({name: one.read(name) for name in one.namelist()} for one in archives)
    assert ours == theirs


def test_it_holds_the_library_its_data_its_types_and_nothing_else(wheel):
    assert wheel.name == f"selfattn_ref-{__version__}-py3-none-any.whl"
    package = Path(__file__).parents[2] / "selfattn_ref"
    sources = {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.suffix in {".py", ".json", ".typed", ".mplstyle"}
    }
    held = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in held if ".dist-info/" not in name} == sources
    assert {"selfattn_ref/py.typed", "selfattn_ref/book.mplstyle"} <= held
    assert any(name.endswith("licenses/LICENSE") for name in held)


def test_it_declares_what_it_needs(wheel):
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
    fields = archive.read(name).decode().partition("\n\n")[0].splitlines()
    assert {f"Version: {__version__}", "Requires-Python: >=3.11", "License-Expression: MIT"} <= {
        *fields
    }
    assert [f for f in fields if f.startswith("Requires-Dist")] == ["Requires-Dist: numpy>=2.0"]


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """Return the Python of a new environment that has the wheel, and NumPy as this one has it."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    (place,) = folder.glob("lib/python*/site-packages")
    (place / "numpy.pth").write_text(sysconfig.get_path("purelib"))
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", place]
    subprocess.run([sys.executable, *install, wheel], check=True)
    return folder / "bin" / "python"


def run(*command, cwd):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def test_installed_elsewhere_it_loads_every_example_and_computes(python, tmp_path):
    used = run(python, "-I", "-W", "error", "-c", USE, python.parents[1], cwd=tmp_path)
    assert used.returncode == 0, used.stderr
    assert used.stdout.split() == list(ids())


def test_a_program_that_uses_it_is_checked_by_its_types(python, tmp_path):
    (tmp_path / "program.py").write_text(
        "from selfattn_ref.worked_examples import load\n"
        "from selfattn_ref import causal_mask\n"
        "reveal_type(load)\n"
        "causal_mask(3, ofset=1)\n"
    )
    mypy = (sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "program.py")
    told = run(*mypy, cwd=tmp_path).stdout
    assert "WorkedExample" in told
    assert 'Unexpected keyword argument "ofset"' in told


@pytest.mark.parametrize("name", ["SA005", "SA022"])
def test_a_notebook_runs_in_a_kernel(name, site):
    notebook = nbformat.read(site / "examples" / f"{name}.ipynb", as_version=4)
    NotebookClient(notebook, kernel_name="python3").execute(cwd=str(ROOT))
    told = [str(output) for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any(f"{name} checked: " in output for output in told)


def test_the_example_of_the_readme_holds(python, site, tmp_path):
    (block,) = re.findall(
        "## An example in a shell.*?```sh\n(.*?)```",
        (ROOT / "README.md").read_text("utf-8"),
        re.S,
    )
    opened, copied_, installed, *asked = block.replace("\\\n", "").splitlines()
    page, file = opened.split()[1], copied_.split()[1]
    assert page == f"{address('book/examples/SA016')}.html"
    assert (site / file).is_file()
    assert (site / installed.removeprefix("pip install ")).is_file()
    assert len(asked) == 3
    code = "from selfattn_ref import scaled_dot_product_attention as my_attention\n"
    (tmp_path / "mymodule.py").write_text(code, "utf-8")
    for line in asked:
        assert line.startswith("python -m ")
        done = subprocess.run(
            f"{python.parent}/{line}", shell=True, cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
