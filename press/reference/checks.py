"""What is checked, and how much of it: counted when the book is built."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from book.reference.other_libraries import TABLE
from press import seams
from press.build.fingerprint import fingerprint
from press.example.data import documents, flat
from press.markup import paragraph
from press.seams import STATEMENTS
from press.site.placeholders import LateDirective
from selfattn_ref.worked_examples import slips

COLLECTED = ("contracts", "examples", "library", "pages")  # folders of tests
# What decides how many cases there are. A test runs for each example, page or source.
DECIDING = ("tests", "selfattn_ref", "_toc.yml", "book/references.bib")
KEPT = Path("_build", ".cache", "cases.json")
COLLECTING: dict[Path, subprocess.Popen[str]] = {}


class Checks(LateDirective):
    """``{checks}``: how much is checked, and by which command."""

    def run(self) -> list[nodes.Node]:
        """Begin to collect the tests, which takes seconds."""
        collect(Path(self.env.srcdir))
        return super().run()

    @staticmethod
    def content(app: Sphinx) -> list[nodes.Node]:
        """Return the list."""
        statements = sum(
            isinstance(node, STATEMENTS)
            for page in set(seams.statements(app.env).values())
            for node in app.env.get_doctree(page).findall(nodes.Element)
        )
        lines = [
            paragraph(nodes.strong("", much), f" {what}: ", nodes.literal("", command))
            for much, what, command in counted(Path(app.srcdir), statements)
        ]
        return [nodes.bullet_list("", *(nodes.list_item("", line) for line in lines))]


def known(root: Path) -> tuple[str, Counter[str] | None]:
    """Return what decides the number of cases, as a hash, and the cases of each folder if kept."""
    state = fingerprint(root, DECIDING)
    kept = json.loads((root / KEPT).read_text("utf-8")) if (root / KEPT).is_file() else {}
    return state, Counter(kept[state]) if state in kept else None


def collect(root: Path) -> None:
    """Let pytest collect the cases in a process beside, unless they are known."""
    if known(root)[1] is None and root not in COLLECTING:
        options = ("--collect-only", "-qq", "-p", "no:cacheprovider")
        folders = [f"tests/{name}" for name in COLLECTED]
        COLLECTING[root] = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *folders],
            cwd=root,
            stdin=subprocess.DEVNULL,  # that of the build says when it has to end
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def cases(root: Path) -> Counter[str]:
    """Return how many cases `make test` has in each folder, once they are collected."""
    collect(root)
    state, found = known(root)
    if found is None:
        process = COLLECTING.pop(root)
        text, _ = process.communicate()
        if process.returncode:
            raise ExtensionError(f"pytest cannot collect the tests: {text.strip()[-300:]}")
        found = Counter()
        for folder, number in re.findall(r"^tests/(\w+)/\S+: (\d+)$", text, re.M):
            found[folder] += int(number)
        (root / KEPT).parent.mkdir(parents=True, exist_ok=True)
        (root / KEPT).write_text(json.dumps({state: found}), encoding="utf-8")
    return found


def counted(root: Path, statements: int) -> list[tuple[str, str, str]]:
    """Return how much there is, what happens to it, and the command."""
    tests = cases(root)
    found = documents(root)
    numbers = sum(
        len(list(flat(e["value"]))) for d in found.values() for e in d["expected"].values()
    )
    calls = sum(len(data["calls"]) for data in found.values())
    classes = sum(
        isinstance(node, ast.ClassDef)
        for path in (root / "tests" / "theorems").glob("test_*.py")
        for node in ast.parse(path.read_text("utf-8")).body
    )
    cells = sum(
        len(answer) if isinstance(answer, dict) else 1
        for library in TABLE.values()
        for answer in library.values()
    )
    site = (root / "press" / "measure").glob("*.py")
    budgets = sum(len(re.findall(r"^@budget\(", p.read_text("utf-8"), re.M)) for p in site)
    # In the list of errors an arrow stands before the name of each.
    mutants = (root / "tests" / "mutation" / "slips.txt").read_text("utf-8").count("←")
    return [
        (f"{numbers:,} expected values", "are derived again without the library", "make examples"),
        (
            f"{tests['examples']:,} tests",
            f"hold {len(found)} worked examples and {calls} calls to what they promise",
            "make test",
        ),
        (
            f"{tests['library'] + tests['contracts']:,} tests",
            "compare the functions with loops, with 50 digits, and with their properties",
            "make test-deep",
        ),
        (
            f"{statements} statements",
            f"are tried on numbers by {classes} classes of tests",
            "make test",
        ),
        (f"{tests['pages']:,} tests", "read the pages: form, cells, numbers, links", "make test"),
        (
            f"{len(slips.SLIPS)} wrong attentions",
            "run with every worked example and have to be caught",
            "make book",
        ),
        (
            f"{mutants} errors",
            "are put into the library, one at a time, and have to be noticed",
            "make mutants",
        ),
        (
            f"{cells} answers",
            f"of {len(TABLE) - 1} interfaces of other libraries are asked for again",
            "make test-peers",
        ),
        (f"{budgets} budgets", "are measured on each page, in a browser", "make measure"),
    ]
