"""What stands around the text of a page: its head, its place in the book, what comes next.

The theme in book/_theme/page draws it; this module tells the theme what to draw.
"""

import hashlib
import html
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from addresses import EXAMPLE, address
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx_external_toc.api import FileItem, SiteMap

ROOT = Path(__file__).resolve().parents[2]
THEME = ROOT / "book" / "_theme" / "page"
LEVELS = re.compile(r"[123](–[23])?")
# Jupyter Book loads these for its own theme; they would put scripts and styles into the pages.
UNUSED = {
    "pydata_sphinx_theme",
    "sphinx_book_theme",
    "sphinx_comments",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_thebe",
    "sphinx_togglebutton",
}
LESSONS = {"concepts", "analogies", "scaling", "causal", "beyond"}


def use_theme(app: Sphinx, config: Config) -> None:
    """Choose the theme; Jupyter Book would add the options of another one."""
    config.html_theme = "page"
    config.html_theme_path = [str(THEME.parent)]
    config.html_theme_options = {}
    for listeners in app.events.listeners.values():
        for listener in list(listeners):
            if (listener.handler.__module__ or "").partition(".")[0] in UNUSED:
                app.disconnect(listener.id)


def write_assets(app: Sphinx) -> None:
    """Put the stylesheet, the script and the licenses into the site, before pages ask for them.

    The colors are those of the figures' palette, which stands in front of the stylesheet.
    """
    if app.builder.format != "html":
        return
    from book._lib.palette import css_variables

    static = Path(app.outdir, "_static")
    static.mkdir(parents=True, exist_ok=True)
    sheets = [css_variables(), (THEME / "page.css").read_text("utf-8")]
    (static / "page.css").write_text("\n".join(sheets), encoding="utf-8")
    shutil.copyfile(THEME / "page.js", static / "page.js")
    shutil.copyfile(ROOT / "LICENSE", static / "LICENSE.txt")


def pages_of(site_map: SiteMap, name: str) -> Iterator[str]:
    """Yield the pages of a part in reading order, those below others too."""
    for tree in site_map[name].subtrees:
        for item in tree.items:
            if isinstance(item, FileItem):
                yield str(item)
                yield from pages_of(site_map, str(item))


def level_of(env: BuildEnvironment, page: str) -> str:
    """Return the level of a page, such as "1" or "2–3"; nothing for a page that teaches nothing."""
    level = str(env.metadata.get(page, {}).get("level", ""))
    if level and not LEVELS.fullmatch(level):
        raise ValueError(f"{page}: the level must be 1, 2, 3 or a range such as 2–3, got {level}")
    return level


def describe(doctree: nodes.document | None) -> str:
    """Return the first sentences of a page, as many as a list of search results shows."""
    if doctree is None:
        return ""
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section):
            text = " ".join(paragraph.astext().split())
            return text if len(text) <= 200 else text[:200].rsplit(" ", 1)[0] + " …"
    return ""


def around(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> str | None:
    """Tell the templates where a page belongs; return the template of its kind."""
    env, pathto = app.env, context["pathto"]
    site_map: SiteMap = env.external_site_map  # type: ignore[attr-defined]

    def entry(name: str) -> dict[str, Any]:
        title = env.titles[name].astext()
        question = env.metadata.get(name, {}).get("question", "")
        return {"href": pathto(name), "title": title, "question": question, "here": name == page}

    parts = []
    for tree in site_map.root.subtrees:
        names = []
        for item in tree.items:
            if isinstance(item, FileItem):
                names += [str(item), *pages_of(site_map, str(item))]
        pages = [entry(name) for name in names]
        here = page in names or (tree.caption == "Worked examples" and EXAMPLE.fullmatch(page))
        for place, one in enumerate(pages):
            one["before"] = page in names and place < names.index(page)
        levels = [level for name in names for level in level_of(env, name).split("–") if level]
        parts.append(
            {
                "name": tree.caption,
                "pages": pages,
                "here": bool(here),
                "beside": True,
                "level": "–".join(sorted({min(levels), max(levels)})) if levels else "",
            }
        )
    order = [str(app.config.master_doc)] + [
        name
        for tree in site_map.root.subtrees
        for item in tree.items
        if isinstance(item, FileItem)
        for name in (str(item), *pages_of(site_map, str(item)))
    ]
    place = order.index(page) if page in order else None
    context["parts"] = parts
    context["previous_page"] = entry(order[place - 1]) if place else None
    more = place is not None and place + 1 < len(order)
    context["next_page"] = entry(order[place + 1]) if more and place is not None else None
    context["question"] = env.metadata.get(page, {}).get("question", "")
    context["level"] = level_of(env, page)
    context["sections"] = [
        {"id": section["ids"][0], "title": section[0].astext()}
        for section in (doctree.findall(nodes.section) if doctree else ())
        if isinstance(section.parent, nodes.section) and section.parent.parent is doctree
    ]
    head(app, page, context, doctree)
    if page == app.config.master_doc:
        return "front.html"
    if page.split("/")[1:2] and page.split("/")[1] in LESSONS:
        return "lesson.html"
    return None


def head(
    app: Sphinx, page: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Tell the head of a page its description, its address and what it loads."""
    title = str(app.config.html_title or app.config.project)
    context["book_title"] = title
    context["description"] = html.escape(describe(doctree) or f"{context.get('title')}, {title}")
    baseurl = str(app.config.html_baseurl or "").rstrip("/")
    file = app.builder.get_target_uri(page)
    here = "/" + re.sub(r"(^|/)index\.html$", r"\1", file)
    context["canonical"] = f"{baseurl}{here}" if baseurl else ""
    context["social_card"] = f"{baseurl}/_static/card.png"
    context["base"] = f"{baseurl}/" if baseurl and page == "404" else ""
    static = Path(app.outdir, "_static")

    def asset(name: str) -> str:
        digest = hashlib.sha256((static / name).read_bytes()).hexdigest()[:8]
        return f"{context['pathto'](f'_static/{name}', 1)}?v={digest}"

    context["asset"] = asset
    from book._lib import palette

    context["paper"] = palette.NAMES.get("paper", palette.SURFACE)
    context["preloaded"] = []
    context["version"], context["commit"] = version(), commit()
    context["year"] = str(app.config.copyright)
    what = "" if page == app.config.master_doc else f"“{context.get('title')}.” "
    what += f"In Self-attention, computed" if what else "Self-attention, computed"
    context["citation"] = (
        f"The selfattn_ref contributors ({context['year']}). {what}, version {version()}."
    )


def version() -> str:
    """Return the version of the library, which is that of the book."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return str(settings["project"]["version"])


def commit() -> str:
    """Return the commit of the sources; nothing where they are no clone."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip()


def lost(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Add the page for wrong addresses."""
    yield "404", {"title": "No such page"}, "404.html"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("config-inited", use_theme, priority=0)
    app.connect("builder-inited", write_assets)
    app.connect("html-collect-pages", lost)
    app.connect("html-page-context", around, priority=950)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
