"""Small books with the settings, the extensions and the build command of the real one."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.pages.sources import ROOT

DATA = Path("selfattn_ref", "worked_examples", "data")
EXAMPLES = ("SA001", "SA002", "SA009")  # the checker begins with SA009: attention and no more
CALLING = "test_the_library_does_what_the_example_knows"
CALLS = f'class TestTheData:\n    def {CALLING}(self):\n        """Stand for all calls."""\n'
STATEMENTS = "from tests.theorems.statement import Case, Statement\n"
STATED = """
class Test{0}(Statement):
    \"\"\"{1}: it is so.\"\"\"
    kind, neighbors, draw, holds = "existence", {{}}, lambda *_: Case(), lambda *_: True
"""
HEADER = "---\nfile_format: mystnb\nkernelspec: {name: python3, display_name: Python 3}\n---\n"


def build(folder, pages):
    """Build a book of the given pages as `make book` does."""
    write(folder, pages)
    return rebuild(folder)


def write(folder, pages):
    """Write the sources of a book of the given pages.

    It has few of the worked examples and of the tests: the site shows each of them.
    """
    for name in (
        "selfattn_ref",
        "press",
        "book/figures",
        "book/theme",
        "tests/mutation",
        "tests/theorems",
        "tests/support",
        "derivations",
        "tests/examples",
        ".ci",  # when commands run
        ".github",
    ):
        shutil.copytree(ROOT / name, folder / name)
    kept = {*EXAMPLES, *re.findall(r"SA\d{3}", f"{pages}")}
    ledger = folder / "derivations" / "released.json"
    released = json.loads(ledger.read_text("utf-8"))
    for name in released.keys() - kept:
        released[name] = None
        (folder / DATA / f"{name}.json").unlink(missing_ok=True)
    ledger.write_text(json.dumps(released))
    for path in (folder / "tests" / "theorems").glob("test_*.py"):
        if path.stem != "test_concepts":
            path.unlink()
    stated = re.findall(r":label: (thm-[a-z]+)", f"{pages}")
    tests = [STATED.format(number, label) for number, label in enumerate(stated)]
    (folder / "tests" / "theorems" / "test_stated.py").write_text(STATEMENTS + "".join(tests))
    # Most tests of the examples need all of them. Their number stands on a page, too.
    for path in (folder / "tests" / "examples").glob("test_*.py"):
        if path.stem == "test_calls":
            path.write_text(CALLS)
        elif path.stem != "test_recomputed":
            path.unlink()
    for name in ("contracts", "library", "pages"):
        (folder / "tests" / name).mkdir()
        (folder / "tests" / name / "__init__.py").touch()
    files = (
        "_config.yml",
        "requirements.txt",
        "pyproject.toml",
        "LICENSE",
        "README.md",
        "CITATION.cff",
        "tests/conftest.py",
        "tests/site/test_live.py",
        "book/examples/public_bugs.py",
        "book/examples/public-bugs.yml",
        "book/reference/other_libraries.py",
    )
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    shutil.copy(ROOT / "book" / "references.bib", folder / "book")
    fonts = Path("_build", ".cache", "fonts")  # of `make book`: each is named after its recipe
    if (ROOT / fonts).exists():
        shutil.copytree(ROOT / fonts, folder / fonts)
    (folder / "book" / "index.md").write_text("# Index\n")
    (folder / "book" / "dot.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    for name, (text, _) in pages.items():
        page = folder / "book" / f"{name}.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text(text)
    chapters = "".join(f"  - file: book/{name}\n" for name in pages)
    (folder / "_toc.yml").write_text(f"format: jb-book\nroot: book/index\nchapters:\n{chapters}")


def rebuild(folder):
    """Build a book where needed."""
    environment = os.environ | {"PYTHONPATH": ""}
    return subprocess.run(
        [sys.executable, "-m", "press", "build"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
