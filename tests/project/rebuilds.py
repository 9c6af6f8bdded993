"""A book that changes, under `make book` and under `make serve`. Run by `make test-project`."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from press.build.book import COMMIT
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
BOOKS = {"book": {name: (text, "") for name, text in PAGES.items()}}


def site(folder: Path) -> dict[str, bytes]:
    top = folder / "_build" / "html"
    return {f"{p.relative_to(top)}": p.read_bytes() for p in top.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def book(small_book: Callable[[str], Any]) -> Path:
    folder, built = small_book("book")
    assert built.returncode == 0, built.stdout + built.stderr
    return Path(folder)


def edit(book: Path, name: str, old: str, new: str) -> None:
    page = book / "book" / f"{name}.md"
    text = page.read_text("utf-8")
    assert old in text
    page.write_text(text.replace(old, new), "utf-8")


@pytest.fixture
def address(book: Path, tmp_path: Path) -> Iterator[str]:
    """Yield where `make serve` serves the book."""
    said = tmp_path / "said.txt"
    command = [sys.executable, "-m", "press", "serve"]
    with (
        said.open("w") as output,
        subprocess.Popen(command, cwd=book, stdout=output, stderr=output) as process,
    ):
        yield until(lambda: re.findall(r"http://\S+", said.read_text("utf-8")))[0]
        process.kill()


def until(found: Callable[[], Any]) -> Any:
    """Wait until something is found, and return it."""
    for _ in range(1200):
        if now := found():
            return now
        time.sleep(0.1)
    raise AssertionError("it does not come")


def read(address: str) -> str:
    with urlopen(address, timeout=20) as answer:
        return str(answer.read().decode())


class TestServe:
    def test_a_page_is_shown_before_the_whole_book_follows(self, book: Path, address: str) -> None:
        def told() -> Any:
            return json.loads(read(f"{address}-/"))

        first, page = site(book), f"{address}concepts/first.html"
        assert "location.reload()" in read(f"{address}_static/page.js")
        edit(book, "concepts/first", "# A lesson", "# One lesson")
        until(lambda: told()["number"] == 1)
        assert told()["problems"] == ""
        assert "One lesson" in read(page)
        assert site(book) == first
        assert "One lesson" not in read(f"{address}concepts/second.html")
        until(lambda: told()["number"] == 2)
        assert told()["problems"] == ""
        assert "One lesson" in read(f"{address}concepts/second.html")

        good = site(book)
        edit(book, "concepts/first", "By looking.", "By {ref}`nowhere`.")
        until(lambda: "undefined label: 'nowhere'" in told()["problems"])
        assert site(book) == good
        edit(book, "concepts/first", "By {ref}`nowhere`.", "By looking.")
        until(lambda: told()["problems"] == "")
        assert site(book) == good

    def test_an_address_without_a_page_is_told(self, address: str) -> None:
        with pytest.raises(HTTPError) as error:
            read(f"{address}no/where.html")
        assert error.value.code == 404
        assert "No page has this address" in error.value.read().decode()


class TestNothingHasChanged:
    def test_nothing_is_done(self, book: Path) -> None:
        built = rebuild(book)
        assert built.stdout.startswith("Nothing has changed")
        assert built.returncode == 0


class TestThePlainCommand:
    def test_jupyter_book_builds_the_same_site(
        self, tmp_path: Path, small_book: Callable[[str], Any]
    ) -> None:
        folder, _ = small_book("book")
        program = Path(sys.executable).with_name("jupyter-book")
        command = [sys.executable, f"{program}", "build", "."]
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
