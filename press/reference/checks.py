"""What is checked, and how much of it: counted as the book is built."""

import json
import re
from collections import Counter
from itertools import chain
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book.reference.other_libraries import TABLE
from press import seams
from press.example.data import documents, flat
from press.lesson.folds import aside
from press.markup import paragraph, row, table
from press.measure.budgets import BUDGETS
from press.measure.site import HEAVIEST, WRITTEN_ALIKE
from press.measure.visit import Way
from press.reference.beside import Beside
from press.reference.promises import SCRIPT, WORKFLOWS, runs
from press.reference.theorem_index import SEARCHED
from press.site import moved
from press.site.placeholders import LateDirective
from selfattn_ref.worked_examples import slips

FOLDERS = tuple(f"tests/{name}" for name in ("contracts", "examples", "library", "pages"))
# A test runs for each example, page or source.
COLLECTED = Beside(
    "cases",
    ("-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider", *FOLDERS),
    ("tests", "selfattn_ref", "press", "book", "derivations", "_toc.yml"),
)


class Checks(LateDirective):
    """``{checks}``: how much is checked, and by which command."""

    def run(self) -> list[nodes.Node]:
        """Begin to collect the tests, which takes seconds."""
        COLLECTED.start(Path(self.env.srcdir))
        return super().run()

    @staticmethod
    def content(app: Sphinx) -> list[nodes.Node]:
        """Return the list."""
        root = Path(app.srcdir)
        lines = [
            paragraph(
                *(nodes.strong("", much), f" {what}: ", nodes.literal("", command)),
                f", {runs(root, command.removeprefix('make '))}",
            )
            for much, what, command in counted(root, len(seams.statements(app.env)))
        ]
        return [nodes.bullet_list("", *(nodes.list_item("", line) for line in lines))]


class Budgets(SphinxDirective):
    """``{budgets}``: what a browser measures on the pages, how they are opened, and what not."""

    def run(self) -> list[nodes.Node]:
        """Say it, with a table that is folded."""
        root = Path(self.env.srcdir)
        for name in (SCRIPT, *WORKFLOWS):
            self.env.note_dependency(str(root / name))
        every, sample = runs(root, "measure"), runs(root, "check-site")
        ways = [str(way) for way in Way]
        opened = paragraph(
            f"Chromium opens each page {len(ways)} times: {', '.join(ways[:-1])} and {ways[-1]}. "
            "The table says in which windows, colors and sizes of text. All pages are visited "
            f"{every}. {sample.capitalize()}, where a program writes many pages alike, the "
            f"{HEAVIEST} largest stand in for the rest: addresses that begin with ",
            *chain.from_iterable((nodes.literal("", kind), ", ") for kind in WRITTEN_ALIKE[:-1]),
            "or ",
            nodes.literal("", WRITTEN_ALIKE[-1]),
            ".",
        )
        left = paragraph(
            "Nothing is measured in other browsers, on real phones or printers, or with a screen "
            f"reader. Left out, too, are {len(moved.PAGES)} old addresses that only lead to where "
            "a page has moved; a test follows each, with script and without."
        )
        return [opened, budgets(), left]


def budgets() -> nodes.Node:
    """Return the table of the budgets: the limit of each, and where it is measured."""
    rows = [row(b.name, b.limit, "; ".join(map(str, b.modes))) for b in BUDGETS]
    title = nodes.title("", f"The {len(BUDGETS)} budgets, and where each is measured")
    return aside("", title, table(("Budget", "Limit", "Measured"), rows))


def cases(root: Path) -> Counter[str]:
    """Return how many cases `make test` has in each folder of tests."""
    found: Counter[str] = Counter()
    for folder, number in re.findall(r"^tests/(\w+)/\S+: (\d+)$", COLLECTED.text(root), re.M):
        found[folder] += int(number)
    return found


def counted(root: Path, statements: int) -> list[tuple[str, str, str]]:
    """Return how much there is, what happens to it, and the command."""
    tests = cases(root)
    found = documents(root)
    numbers = sum(
        len(list(flat(e["value"]))) for d in found.values() for e in d["expected"].values()
    )
    calls = sum(len(data["calls"]) for data in found.values())
    searched = json.loads(SEARCHED.text(root)).values()
    tried = sum(one["cases"] for one in searched)
    needed = sum(not reason for one in searched for reason in one["hypotheses"].values())
    neighbors = sum(len(one["neighbors"]) for one in searched)
    cells = sum(
        len(answer) if isinstance(answer, dict) else 1
        for name, library in TABLE.items()
        if name != "here"
        for answer in library.values()
    )
    # In the list of errors an arrow stands before the name of each.
    mutants = (root / "tests" / "mutation" / "slips.txt").read_text("utf-8").count("←")
    return [
        (f"{numbers:,} expected values", "are derived again without the library", "make test"),
        (
            f"{tests['examples']:,} tests",
            f"are of the examples: {len(found)} worked ones with {calls} calls, generated cases, "
            "public bugs, the command line",
            "make test",
        ),
        (
            f"{tests['library'] + tests['contracts']:,} tests",
            "try the functions: their numbers, properties, shapes, errors and names",
            "make test-deep",
        ),
        (
            f"{statements} statements",
            f"are tried in {tried:,} cases; {needed} hypotheses are dropped, one at a time, and "
            f"{neighbors} false neighbors refuted",
            "make test",
        ),
        (
            f"{tests['pages']:,} tests",
            "are of the pages, and of the programs that make them: form, cells, numbers, links",
            "make test",
        ),
        (
            f"{len(slips.SLIPS)} wrong attentions",
            "are run on the worked examples that call attention, and have to be caught",
            "make test",
        ),
        (
            f"{mutants} errors",
            "are put into the library, the tests of the statements and the form that these "
            "share, one at a time, and have to be noticed",
            "make mutants",
        ),
        (
            f"{cells} answers",
            f"of {len(TABLE) - 1} interfaces of other libraries are asked for again",
            "make test-peers",
        ),
        (f"{len(BUDGETS)} budgets", "are measured on the pages, in a browser", "make measure"),
    ]
