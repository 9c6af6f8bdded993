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
from press.site.sources import FORMERLY, RECIPES, RECOMPUTED, SHOWN, THEOREMS, modules, places


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
        for tested, label in re.findall(r'^class (\w+):\n    """(thm-[a-z-]+):', text, re.M):
            if label in statements:
                address = app.builder.get_target_uri(statements[label])
                found[tested] = {"theorem": f"{address}#{label}"}
    return found


def forwarded(root: Path) -> str:
    """Return links with the ids that recipes and their helpers had on the page of their tests."""
    _, _, defined = modules(root, RECIPES)[RECIPES].partition("\n# --- ")
    page = f"{'../' * RECOMPUTED.count('/')}{RECIPES}.html"
    links = (
        f'<a id="{FORMERLY * name.startswith("sa")}{name}" href="{page}#{name}">{name}</a>'
        for name in re.findall(r"^def (\w+)\(", defined, re.M)
    )
    return f"<p>What is tested here: {', '.join(links)}.</p>\n"


def collect(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for every module."""
    if is_partial(app):
        return
    used = uses(app)
    for folder in SHOWN:
        for page, text in modules(Path(app.srcdir), folder).items():
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
            head = forwarded(Path(app.srcdir)) if page == RECOMPUTED else ""
            body = f"<h1>{title}</h1>\n{head}{before}{opened}" + "\n".join(lines)
            yield page, {"title": title, "body": body}, "page.html"
