"""What people have to read because nothing computes it, as it was when it was last read.

`last_read.json` has a digest of each such text: a statement with its proofs, the words of a worked
example and of its page, the texts in the code of a derivation, of a drawing and of a script, the
docstrings of the library, the text of a page with the texts in its cells, and whole those that
draw, plot or write a sheet, and the files that are listed here. If one changes, a test says so.
Whoever has read it again, beside its numbers and sources, enters it with
`python -m tests.pages.last_read`.
"""

import ast
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pygments.lexers.javascript import JavascriptLexer
from pygments.token import String

from derivations.documents import example_files
from tests.pages.sources import CELL, OPTIONS, ROOT, pages, relative

LAST = Path(__file__).with_suffix(".json")
BLOCK = re.compile(r"^(:::+) ?\{prf:(\w+)\}[^\n]*\n(?::label: (\S+)\n)?.*?^\1\n", re.M | re.S)
EXAMPLES = re.compile(r"^ *>>>.*(?:\n *\S.*)*", re.M)
DRAWS = re.compile(  # or plots, or writes a sentence or a sheet to print
    r"^  figure:|^(?:Handout|Poster|own_sentence)\(|^plt\.show\(\)", re.M
)
FILES = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "book/references.bib"),
    *("book/reference/errata.yml", "book/reference/promises.yml", "book/examples/public-bugs.yml"),
)


def in_words(value: Any) -> Iterator[str]:
    """Yield the strings of a document of JSON that are no data of an array."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            if name != "value" or isinstance(one, dict):  # an array may have this name
                yield from in_words(one)
    elif isinstance(value, list):
        for one in value:
            yield from in_words(one)


def texts(code: str) -> Iterator[str]:
    """Yield what code says, such as a derivation or a drawing: the texts in it."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def docstrings(code: str) -> Iterator[str]:
    """Yield the docstrings of a module that do not run: its examples are tested."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield EXAMPLES.sub("", ast.get_docstring(node) or "")


def texts_of_script(code: str) -> Iterator[str]:
    """Yield the texts in JavaScript."""
    for kind, text in JavascriptLexer().get_tokens(code):
        if kind in String:
            yield text


#: What says something to readers, and how its texts are found.
SAYING: dict[str, Callable[[str], Iterator[str]]] = {
    "derivations/*.py": texts,
    "book/figures/**/*.py": texts,
    "book/figures/**/*.js": texts_of_script,
    "book/theme/*.js": texts_of_script,
    "press/example/*.py": texts,
    "selfattn_ref/**/*.py": docstrings,
    ".github/workflows/*.yml": lambda text: iter([text]),
}


def statements(page: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the statements and the proofs of a page, each with the label of the statement."""
    label = page
    for block in BLOCK.finditer(text):
        label = block[3] or label
        yield label, block[0]


def text_of(page: str) -> str:
    """Return what a page says outside of its statements, with the cells that draw or write it.

    A drawing may take its words from other cells, of which the texts are here.
    """

    def said(cell: re.Match[str]) -> str:
        if DRAWS.search(cell[0]):
            return cell[0]
        return "\n".join(texts(OPTIONS.sub("", cell[1])))

    return CELL.sub(said, BLOCK.sub("", page))


def read() -> dict[str, str]:
    """Return what is to be read, by its name."""
    found: dict[str, list[str]] = {}
    for name, path in example_files().items():
        found[name] = [*in_words(json.loads(path.read_text("utf-8")))]
    for path in sorted(ROOT.glob("selfattn_ref/worked_examples/data/*schema.json")):
        found[path.name] = [*in_words(json.loads(path.read_text("utf-8")))]
    for pattern, texts in SAYING.items():
        for path in sorted(ROOT.glob(pattern)):
            found[path.relative_to(ROOT).as_posix()] = [*texts(path.read_text("utf-8"))]
    for page in pages():
        for label, block in statements(relative(page), page.read_text("utf-8")):
            found.setdefault(label, []).append(block)
    for page in pages():
        found[relative(page)] = [text_of(page.read_text("utf-8"))]
    for name in FILES:
        found[name] = [(ROOT / name).read_text("utf-8")]
    return {name: "\n".join(parts) for name, parts in found.items() if parts}


def digest(text: str) -> str:
    """Return what a text is known by; how its lines are broken does not matter."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16]


def changed(now: dict[str, str], last: dict[str, str]) -> list[str]:
    """Return the names of the texts that are not what was last read, and of those that are gone."""
    digests = {name: digest(text) for name, text in now.items()}
    return sorted(name for name in {*digests, *last} if digests.get(name) != last.get(name))


def main() -> None:
    """Enter all texts as they are, and name those that changed."""
    now = read()
    for name in changed(now, json.loads(LAST.read_text("utf-8")) if LAST.is_file() else {}):
        print(f"read: {name}")
    digests = {name: digest(now[name]) for name in sorted(now)}
    LAST.write_text(json.dumps(digests, indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
