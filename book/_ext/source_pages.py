"""Show the sources of what is tested and derived as pages of the site."""

import html
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from incremental import is_partial
from sphinx.application import Sphinx
from sphinx.pycode.parser import Parser

THEOREMS = "tests/theorems"
DERIVATIONS = "derivations"
RECOMPUTED = "tests/examples/test_recomputed"
RECOMPUTING = "TestTheLibraryReproducesEveryExample"  # a function for each example
CALLS = "tests/examples/test_calls"
CALLING = "TestTheData.test_the_library_does_what_the_example_knows"
SHOWN = (THEOREMS, DERIVATIONS, RECOMPUTED, CALLS)


@cache
def modules(root: Path, folder: str) -> dict[str, str]:
    """Return the text of every module of a folder, or of one module, by the name of its page."""
    paths = sorted((root / folder).glob("[a-z]*.py")) or [root / f"{folder}.py"]
    return {
        path.relative_to(root).with_suffix("").as_posix(): path.read_text("utf-8") for path in paths
    }


@cache
def places(text: str) -> dict[str, tuple[int, int]]:
    """Return the first and the last line of every class and function of a module, by name."""
    parser = Parser(text)
    parser.parse()
    found = parser.definitions.items()
    return {name: (first, last) for name, (kind, first, last) in found if kind in {"class", "def"}}


@cache
def defined_in(root: Path, folder: str) -> dict[str, str]:
    """Return the page of the source of every class and function of a folder, by name."""
    return {
        name: page
        for page, text in modules(root, folder).items()
        for name in places(text)
        if "." not in name
    }


def recomputing(example: str) -> str:
    """Return the function that computes every value of an example with the library."""
    return f"{RECOMPUTING}.{example.lower()}"


def uses(app: Sphinx) -> dict[str, dict[str, str]]:
    """Return, for names in the sources, what they check or derive: a text and its address."""
    from examples import documents

    found: dict[str, dict[str, str]] = {}
    for name, data in documents(Path(app.srcdir)).items():
        page = f"book/examples/{name}"
        if page in app.env.found_docs:
            for function in (data["derivation"]["function"], recomputing(name)):
                found.setdefault(function, {})[name] = app.builder.get_target_uri(page)
    statements = getattr(app.env, "proof_list", {})
    for text in modules(Path(app.srcdir), THEOREMS).values():
        for tested, label in re.findall(r'^class (\w+):\n    """(thm-[a-z-]+):', text, re.M):
            if label in statements:
                address = app.builder.get_target_uri(statements[label]["docname"])
                found[tested] = {"theorem": f"{address}#{label}"}
    return found


def collect(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for every module."""
    if is_partial(app):
        return
    highlighter = app.builder.highlighter  # type: ignore[attr-defined]
    used = uses(app)
    for folder in SHOWN:
        for page, text in modules(Path(app.srcdir), folder).items():
            lines = highlighter.highlight_block(text, "python").split("\n")
            before, opened, first_line = lines[0].partition("<pre>")
            lines[0] = first_line
            root = "../" * page.count("/")
            for name, (first, _) in places(text).items():
                links = "".join(
                    f'<a class="used" href="{root}{address}">{html.escape(one)}</a>'
                    for one, address in used.get(name, {}).items()
                )
                lines[first - 1] = f'<span id="{name}">{links}</span>{lines[first - 1]}'
            title = f"{page}.py"
            body = f"<h1>{title}</h1>\n{before}{opened}" + "\n".join(lines)
            yield page, {"title": title, "body": body}, "page.html"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("html-collect-pages", collect)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
