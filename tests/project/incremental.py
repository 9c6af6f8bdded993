"""What is built of a change alone is what a clean build gives, byte for byte; nothing else is kept.

A small book is changed and built again; beside it, the changed book is built from nothing.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from press.build.book import COMMIT, MORE, STATE
from tests.project.lesson_blocks import lesson
from tests.project.small_books import rebuild

PAGES = {
    "concepts/first": lesson("first", "1"),
    "concepts/second": lesson("second", "2–3").replace(
        "A paragraph", "By {prf:ref}`thm-first`, a {term}`word`; {ref}`label-first`. A paragraph"
    ),
    "examples/SA005": "(SA005)=\n# SA005: Sum\n\n```{worked-example} SA005\n```\n",
    "examples/checker": "# Check an output\n\n```{checker}\n```\n",
    "examples/index": "# Examples\n",
    "reference/bibliography": "# Bibliography\n\n```{bibliography}\n```\n",
    "reference/for-teachers": "# For teachers\n\n```{objectives}\n```\n",
    "reference/glossary": "# Glossary\n\n```{glossary}\nword\n  A part of a text. Or not.\n```\n",
    "reference/how-to-cite": "# How to cite\n",
    "reference/how-the-numbers-are-checked": "# Checks\n\n```{checks}\n```\n",
    "reference/theorems": "# Theorems\n\n```{theorem-index}\n```\n",
}
PAGES["concepts/second"] += "\n```{code-cell} python\nprint('a')\n```\n"
# Edits of which no other page shows anything: page, what stood there, what stands there now.
OWN = [
    ("concepts/first", "and patience.", "and patience.\n\nA new paragraph, not far from here."),
    ("concepts/second", "A paragraph that", "One paragraph that"),
    ("concepts/second", "print('a')", "print('b')"),
]
# Those that another page shows.
SHOWN = {
    "a title": ("concepts/first", "# A lesson", "# One lesson"),
    "a heading": ("concepts/first", "A paragraph", "## A section\n\nA paragraph"),
    "a level": ("concepts/second", "level: 2–3", "level: 2"),
    "a question": ("concepts/second", "question: Is it?", "question: Was it?"),
    "the title of a statement": ("concepts/first", "One is one", "One is still one"),
    "a statement": ("concepts/first", "It is $1$.", "It is $2$."),
    "a promise": ("concepts/first", "You will prove one thing", "You will prove a thing"),
    "a definition": ("reference/glossary", "A part of a", "Something in a"),
    "a label": ("concepts/first", "ex-first", "ex-erste"),
    "a first citation": (
        "reference/how-to-cite",
        "# How to cite\n",
        "# How to cite\n\n{cite:t}`bahdanau2015neural`.\n",
    ),
}


def changed(pages: dict[str, str], *edits: tuple[str, str, str]) -> dict[str, str]:
    for name, old, new in edits:
        assert old in pages[name], old
        pages = pages | {name: pages[name].replace(old, new)}
    return pages


AFTER = changed(PAGES, *OWN)
BOOKS = {
    "before": {name: (text, "") for name, text in PAGES.items()},
    "after": {name: (text, "") for name, text in AFTER.items()},
}


def site(folder: Path) -> dict[str, bytes]:
    top = folder / "_build" / "html"
    return {f"{p.relative_to(top)}": p.read_bytes() for p in top.rglob("*") if p.is_file()}


def write(folder: Path, pages: dict[str, str]) -> None:
    """Write what differs."""
    for name, text in pages.items():
        path = folder / "book" / f"{name}.md"
        if path.read_text("utf-8") != text:
            path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def book(small_book: Callable[[str], Any]) -> Path:
    folder, built = small_book("before")
    assert built.returncode == 0, built.stdout + built.stderr
    return Path(folder)


def run_sphinx(book: Path, pages: list[str]) -> str:
    """Return what Sphinx says when it builds some pages, as the first step of a build."""
    for name in STATE:
        copied = book / "_build" / "new" / name
        shutil.rmtree(copied, ignore_errors=True)
        shutil.copytree(book / "_build" / name, copied)
    asked = json.dumps({"pages": [f"book/{name}.md" for name in pages]}) + "\n"
    command = [sys.executable, "-m", "press.build.run_sphinx"]
    with subprocess.Popen(
        command, cwd=book, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(asked)
        process.stdin.flush()
        return process.stdout.read()


class TestIncrementalBuild:
    @pytest.mark.parametrize("edit", SHOWN)
    def test_it_does_not_suffice_where_another_page_shows_what_has_changed(
        self, edit: str, book: Path
    ) -> None:
        write(book, changed(PAGES, SHOWN[edit]))
        said = run_sphinx(book, [SHOWN[edit][0]])
        write(book, PAGES)
        assert MORE in said, said

    def test_it_gives_what_a_clean_build_gives(
        self, book: Path, small_book: Callable[[str], Any]
    ) -> None:
        write(book, AFTER)
        built = rebuild(book)
        assert built.returncode == 0, built.stdout + built.stderr
        assert MORE not in built.stdout
        assert "book/reference/theorems" not in built.stdout
        clean, done = small_book("after")
        assert done.returncode == 0, done.stderr
        ours, theirs = site(book), site(clean)
        assert ours.keys() == theirs.keys()
        assert [name for name in ours if ours[name] != theirs[name]] == []

    def test_the_whole_book_follows_where_it_has_to(self, book: Path) -> None:
        pages = changed(AFTER, SHOWN["a title"])
        write(book, pages)
        built = rebuild(book)
        assert built.returncode == 0, built.stdout + built.stderr
        assert b"One lesson" in site(book)["concepts/second.html"]

    def test_nothing_is_done_where_nothing_has_changed(self, book: Path) -> None:
        built = rebuild(book)
        assert built.stdout.startswith("Nothing has changed")
        assert built.returncode == 0


class TestThePlainCommand:
    def test_jupyter_book_builds_the_same_site(
        self, tmp_path: Path, small_book: Callable[[str], Any]
    ) -> None:
        folder, _ = small_book("after")
        command = [f"{Path(sys.executable).with_name('jupyter-book')}", "build", "."]
        built = subprocess.run(
            [*command, "--path-output", f"{tmp_path}"], cwd=folder, capture_output=True, text=True
        )
        assert built.returncode == 0, built.stdout + built.stderr
        ours = site(folder)
        del ours[COMMIT]  # only `make book` names it
        assert site(tmp_path) == ours


class TestTheGoodSite:
    def test_it_stays_when_a_build_fails_and_comes_back_when_the_page_does(
        self, book: Path
    ) -> None:
        before = site(book)
        page = book / "book" / "concepts" / "first.md"
        good = page.read_text("utf-8")
        for defect in ("{ref}`nowhere`", "```{code-cell} python\n1 / 0\n```"):
            for _ in range(2):  # the second build forgives nothing that the first one refused
                page.write_text(f"{good}\n{defect}\n", "utf-8")
                assert rebuild(book).returncode == 1
                assert site(book) == before
        page.write_text(good, "utf-8")
        assert rebuild(book).stdout.startswith("Nothing has changed")

    def test_it_stays_when_a_build_is_killed(self, book: Path) -> None:
        before = site(book)
        page = book / "book" / "concepts" / "first.md"
        good = page.read_text("utf-8")
        page.write_text(f"{good}\nMore.\n", "utf-8")
        command = [sys.executable, "-m", "press", "build"]
        environment = os.environ | {"PYTHONPATH": ""}
        with subprocess.Popen(
            command, cwd=book, env=environment, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert any("updating environment" in line for line in process.stdout)
            process.kill()
        assert site(book) == before
        built = rebuild(book)
        assert built.returncode == 0, built.stderr
        assert site(book) != before
