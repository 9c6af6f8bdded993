"""Show the sources of what is tested and derived as pages of the site."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from press import seams
from press.example.data import documents
from press.site.scope import is_partial
from press.site.sources import (
    FORMERLY,
    MOVED,
    RECIPES,
    RECOMPUTED,
    THEOREMS,
    modules,
    places,
    shown,
)

TESTED = r'^class (\w+)\(.*\):\n    """(thm-[a-z-]+):'  # a class, and what it tests


def uses(app: Sphinx) -> dict[str, dict[str, str]]:
    """Return, for names in the sources, what they check or derive: a text and its address."""
    found: dict[str, dict[str, str]] = {}
    for name, data in documents(Path(app.srcdir)).items():
        page = f"book/examples/{name}"
        if page in app.env.found_docs:
            for function in (data["derivation"]["function"], name.lower()):
                found.setdefault(function, {})[name] = app.builder.get_target_uri(page)
    statements = seams.statements(app.env)
    for text in modules(Path(app.srcdir), THEOREMS).values():
        for tested, label in re.findall(TESTED, text, re.M):
            if label in statements:
                address = app.builder.get_target_uri(statements[label])
                found[tested] = {"theorem": f"{address}#{label}"}
    return found


def moved(root: Path, page: str) -> dict[str, str]:
    """Return where the functions stand now that an old address on a page names."""
    if page != RECOMPUTED:
        return MOVED.get(page, {})
    _, _, defined = modules(root, RECIPES)[RECIPES].partition("\n# --- ")
    return {
        f"{FORMERLY * name.startswith('sa')}{name}": f"{RECIPES}.html#{name}"
        for name in re.findall(r"^def (\w+)\(", defined, re.M)
    }


def forwarded(root: Path, page: str) -> str:
    """Return links with the ids of what has moved from a page; nothing where nothing has."""
    up = "../" * page.count("/")
    links = (
        f'<a id="{old}" href="{up}{to}">{to.partition("#")[2]}</a>'
        for old, to in moved(root, page).items()
    )
    told = ", ".join(links)
    return f"<p>Stands elsewhere now: {told}.</p>\n" if told else ""


def collect(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for every module."""
    if is_partial(app):
        return
    used = uses(app)
    for page, text in shown(Path(app.srcdir)).items():
        lines = seams.colored(app, text).split("\n")
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
        head = forwarded(Path(app.srcdir), page)
        body = f"<h1>{title}</h1>\n{head}{before}{opened}" + "\n".join(lines)
        yield page, {"title": title, "body": body}, "page.html"
