"""The proof that two builds are the same notices when they are not. Run by `make test-project`."""

import subprocess
import sys
from pathlib import Path

import pytest

from press.build.reproduce import difference
from tests.project.rebuilds import PAGES
from tests.project.small_books import HEADER, write

# What differs between the two, and what must not.
CELL = "```{code-cell} python\nprint('hello')\nprint(hash('hello') % 10**9)\n```\n"


def folders(path: Path, one: dict[str, bytes], two: dict[str, bytes]) -> tuple[Path, Path]:
    tops = path / "one", path / "two"
    for top, contents in zip(tops, (one, two), strict=True):
        for name, content in contents.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_bytes(content)
    return tops


SAME = {"a.html": b"<p>1\n<p>2\n<p>3", "b/c.npz": b"\0\xff\n"}


@pytest.mark.parametrize(
    "name, content, told",
    [
        ("a.html", b"<p>1\n<p>4\n<p>3", ("a.html, line 2, byte 8:", "<p>2", "<p>4")),
        ("a.html", b"<p>1\n<p>2\n<p>3\n", ("a.html, line 3, byte 14:",)),
        ("b/c.npz", b"\0\xfe\n", ("b/c.npz, line 1, byte 1:",)),
        ("b/d", b"", ("b/d is in ", "two alone")),
    ],
)
def test_the_first_difference_is_named(
    name: str, content: bytes, told: tuple[str, ...], tmp_path: Path
) -> None:
    said = difference(*folders(tmp_path, SAME, SAME | {name: content}))
    assert [part for part in told if part not in said] == []


def test_two_that_are_the_same_are(tmp_path: Path) -> None:
    assert difference(*folders(tmp_path, SAME, SAME)) == ""


def test_a_cell_that_depends_on_the_seed_of_hashes_is_found(tmp_path: Path) -> None:
    pages = PAGES | {"seeded": f"{HEADER}\n# Seeded\n\n{CELL}"}
    write(tmp_path / "book", {name: (text, "") for name, text in pages.items()})
    command = [sys.executable, "-m", "press", "reproduce", "--no-pdf"]
    ran = subprocess.run(command, cwd=tmp_path / "book", capture_output=True, text=True)
    assert ran.returncode == 1
    assert "not the same: html/seeded.html, line " in ran.stderr, ran.stdout + ran.stderr
    assert "hello" in ran.stderr
