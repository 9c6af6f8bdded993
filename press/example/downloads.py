"""What can be taken along: the data of all examples, their notebooks, the library."""

import contextlib
import hashlib
import io
import json
import shutil
from pathlib import Path

from sphinx.application import Sphinx

from derivations.traces import write_traces
from press.example.notebook import cells_of
from press.example.sheets import of_example
from press.example.spreadsheet import write_spreadsheets
from press.lesson.notebook import save
from press.site.addresses import base_of, elsewhere
from press.site.archives import archive
from press.site.citation import Work
from press.site.library import FOLDER, build_wheel, install
from selfattn_ref.worked_examples.__main__ import main

ARCHIVE = "worked-examples.zip"
VECTORS = "selfattn-vectors.zip"  # what `export` writes, and nothing else but the license


def write_files(app: Sphinx) -> None:
    """Put what can be taken along into the site: each file by itself, and in two archives.

    One has the data of all examples; the other has these, their traces, spreadsheets and notebooks,
    and the library that these install.
    """
    folder = Path(app.outdir, FOLDER)
    with contextlib.redirect_stdout(io.StringIO()):
        main(["export", f"{folder}"])
    listed = folder / "manifest.json"
    manifest = json.loads(listed.read_text("utf-8"))

    terms = Path(shutil.copyfile(Path(__file__).parents[2] / "LICENSE", folder / "LICENSE.txt"))

    def pack(name: str, top: str) -> None:
        files = [terms, *(folder / one for one in (*manifest["files"], listed.name))]
        archive(folder, files, folder / name, top)

    pack(VECTORS, "selfattn-vectors/")
    made = [build_wheel(folder), *write_traces(folder), *write_spreadsheets(folder)]
    for path in (*made, *folder.glob("SA*.ipynb")):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        manifest["files"][path.name] = f"sha256:{digest}"
    manifest["files"] = dict(sorted(manifest["files"].items()))
    listed.write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
    pack(ARCHIVE, "worked-examples/")


def write_notebook(app: Sphinx, name: str, work: Work) -> None:
    """Put the notebook of an example into the site, before `write_files` looks for it."""
    cells = list(cells_of(name, install(base_of(app.config)), work))
    save(Path(app.outdir, FOLDER, f"{name}.ipynb"), cells, name.lower())


def buttons(name: str, base: str = "", *, runs: bool = True) -> str:
    """Return links to the files of an example; only one that is in use has a notebook."""
    files = {"Notebook (.ipynb)": f"{name}.ipynb"} if runs else {}
    files |= {"JSON": f"{name}.json", "NumPy (.npz)": f"{name}.npz"}
    files |= {"safetensors": f"{name}.safetensors"}
    files |= {"Spreadsheet (.xlsx)": f"{name}.xlsx"} if of_example(name) else {}
    files |= {"Trace (JSON)": f"{name}.trace.json", "All examples (.zip)": ARCHIVE}
    links = [f'<a href="../{FOLDER}/{to}" download>{what}</a>' for what, to in files.items()]
    if base and runs:
        there = elsewhere(base, f"{FOLDER}/{name}.ipynb")
        links.insert(1, f'<a href="{there}">Run in the browser</a>')
    return f'<p class="buttons">{" ".join(links)}</p>'
