"""A miniature of the book: one lesson, one worked example, and what every page links to."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.pages.sources import ROOT
from tests.project.small_books import HEADER, write

LESSON = "concepts/similarity"
EXAMPLE = "SA001"  # which names this lesson as its page
CELL = "\n```{{code-cell}} python\n{}\n```\n"
PAGES = {
    LESSON: HEADER
    + """
(concepts-similarity)=
# Similarity

{cite:t}`vaswani2017attention` compare words.

$$
s = q \\cdot k
$$ (eq-score)

```{code-cell} python
import selfattn_ref.similarity
from selfattn_ref import dot_similarity
from selfattn_ref.worked_examples import load
example = load("SA001")
example.check(dot=dot_similarity(example.inputs["embeddings"]))
```

```{code-cell} python
print(selfattn_ref.similarity.__doc__.splitlines()[0])
```
""",
    "examples/index": "# Examples\n",
    "examples/checker": "# Check an output\n\n```{checker}\n```\n",
    f"examples/{EXAMPLE}": "",  # the build writes it
    "reference/bibliography": "# Sources\n\n```{bibliography}\n```\n",
    "reference/glossary": "# Glossary\n",
    "reference/how-to-cite": "# How to cite\n",
    "reference/theorems": "# Theorems\n",
}
BUILD = [sys.executable, "-m", "press.build.book"]
Run = subprocess.CompletedProcess[str]


class Book:
    """A miniature in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def written(cls, folder: Path) -> "Book":
        """Write the sources."""
        write(folder, {name: (text, "") for name, text in PAGES.items()})
        chapters = "".join(
            f"      - {'glob' if EXAMPLE in name else 'file'}: book/{name}\n" for name in PAGES
        )
        (folder / "_toc.yml").write_text(
            "format: jb-book\nroot: book/index\nparts:\n  - caption: All\n    chapters:\n"
            + chapters
        )
        shutil.copy(ROOT / "Makefile", folder)  # makes the environment
        return cls(folder)

    def copied(self, folder: Path) -> "Book":
        """Copy the sources and all that a build has made of them."""
        shutil.copytree(self.folder, folder)
        return Book(folder)

    def page(self, name: str = LESSON) -> Path:
        return self.folder / "book" / f"{name}.md"

    def data(self, name: str = EXAMPLE) -> Path:
        return self.folder / "selfattn_ref" / "worked_examples" / "data" / f"{name}.json"

    def add(self, text: str, name: str = LESSON) -> None:
        """Add something to the end of a page."""
        edit(self.page(name), "\\Z", lambda _: f"\n{text}\n")

    def add_cell(self, code: str) -> None:
        self.add(CELL.format(code))

    def run(self, *command: str | Path, before: Sequence[str] = (), **environment: str) -> Run:
        """Run a command here, after what limits it."""
        return subprocess.run(
            [*before, *command],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": ""} | environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )

    def build(self, before: Sequence[str] = (), **environment: str) -> Run:
        """Build where needed, as `make book` does."""
        return self.run(*BUILD, before=before, **environment)

    def site(self) -> dict[str, bytes]:
        """Return every file of the site."""
        top = self.folder / "_build" / "html"
        return {f"{p.relative_to(top)}": p.read_bytes() for p in top.rglob("*") if p.is_file()}


def edit(path: Path, old: str, new) -> None:
    """Replace what a pattern finds in a file, once."""
    text = path.read_text("utf-8")
    changed, times = re.subn(old, new, text, count=1)
    assert times == 1, (path, old)
    path.write_text(changed, "utf-8")


def causes(run: Run) -> list[str]:
    """Return the lines that name a cause: of a build, or of an environment."""
    _, built, told = run.stderr.partition("The book was not built: ")
    if built:
        return [line.strip() for line in told.splitlines()[1:]]
    lines = (run.stdout + run.stderr).splitlines()
    return [line.strip() for line in lines if line.startswith("error: ")]
