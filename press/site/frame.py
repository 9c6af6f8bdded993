"""What stands around the text of a page: its head, its place in the book, what comes next.

The theme in book/theme draws it; this module tells the theme what to draw.
"""

import hashlib
import html
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rjsmin
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx_external_toc.api import FileItem, SiteMap, TocTree

from book.figures import palette
from book.figures.palette import css_variables
from press import seams
from press.fonts import font_faces_css
from press.math.text import words
from press.site import citation
from selfattn_ref import __version__ as version

ROOT = Path(__file__).resolve().parents[2]
THEME = ROOT / "book" / "theme"
SHEETS = ("page.css", "math.css", "figures.css")  # one stylesheet for the reader
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
    config.html_theme = "theme"
    config.html_theme_path = ["book"]
    config.html_theme_options = {}
    seams.disconnect(app, UNUSED)


def name_book(app: Sphinx, config: Config) -> None:
    """Give the inventory what other books say beside a link to this one: its name and version."""
    config.project, config.version, config.release = config.html_title, version, version


def write_assets(app: Sphinx) -> None:
    """Put the stylesheet, the scripts and the licenses into the site, before pages ask for them.

    The colors are those of the figures' palette, which stands in front of the stylesheet.
    """
    if app.builder.format != "html":
        return

    static = Path(app.outdir, "_static")
    static.mkdir(parents=True, exist_ok=True)
    sheets = [(THEME / name).read_text("utf-8") for name in SHEETS]
    sheets = [font_faces_css(), css_variables(), *sheets]
    (static / "page.css").write_text("\n".join(sheets), encoding="utf-8")
    for name in ("page.js", "search.js", "catalog.js"):
        copy_script(THEME / name, static / name)
    shutil.copyfile(THEME / "favicon.svg", static / "favicon.svg")
    # Who publishes several versions side by side names them here: press/edition/publish.py.
    (static / "versions.js").write_text("bookVersions = null;\n", encoding="utf-8")
    shutil.copyfile(ROOT / "LICENSE", static / "LICENSE.txt")


def copy_script(source: Path, target: Path) -> None:
    """Copy a script without its comments and indentation, a fifth of what would travel."""
    text = source.read_text("utf-8")
    if re.search(r"\$\{[^`}]*`", text):  # its spaces would be lost
        raise ValueError(f"{source.name}: a template literal stands within another")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(rjsmin.jsmin(text), encoding="utf-8")


def pages_of(site_map: SiteMap, tree: TocTree) -> Iterator[str]:
    """Yield the pages of a part in reading order, those below others too."""
    for item in tree.items:
        if isinstance(item, FileItem):
            yield str(item)
            for below in site_map[str(item)].subtrees:
                yield from pages_of(site_map, below)


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
            text = " ".join(words(paragraph).split())
            return text if len(text) <= 200 else text[:200].rsplit(" ", 1)[0] + " …"
    return ""


def entry_of(app: Sphinx, page: str, name: str) -> dict[str, Any]:
    """Return what a link from `page` to the page `name` says and where it leads."""
    return {
        "href": app.builder.get_relative_uri(page, name),
        "title": app.env.titles[name].astext(),
        "question": app.env.metadata.get(name, {}).get("question", ""),
        "here": name == page,
    }


def parts_of(app: Sphinx, page: str) -> list[dict[str, Any]]:
    """Return the parts of the book, each with its pages and levels, as seen from a page."""
    parts = []
    site_map = seams.site_map(app.env)
    for tree in (tree for tree in site_map.root.subtrees if tree.caption):
        names = list(pages_of(site_map, tree))
        levels = [n for name in names for n in level_of(app.env, name).split("–") if n]
        parts.append(
            {
                "name": tree.caption,
                "pages": [
                    entry_of(app, page, name)
                    | {"before": page in names and names.index(name) < names.index(page)}
                    for name in names
                ],
                "here": page in names,
                "level": "–".join(sorted({min(levels), max(levels)})) if levels else "",
            }
        )
    return parts


def around(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> str | None:
    """Tell the templates where a page belongs; return the template of its kind."""
    env = app.env
    parts = parts_of(app, page)
    pages = [entry_of(app, page, str(app.config.master_doc))]
    pages += [one for part in parts for one in part["pages"]]
    places = [place for place, one in enumerate(pages) if one["here"]]
    before = pages[places[0] - 1] if places and places[0] > 0 else None
    after = pages[places[0] + 1] if places and places[0] + 1 < len(pages) else None
    context.update(parts=parts, previous_page=before, next_page=after)
    context["question"] = env.metadata.get(page, {}).get("question", "")
    context["level"] = level_of(env, page)
    context["sections"] = [
        {"id": section["ids"][0], "title": section[0].astext()}
        for section in (doctree.findall(nodes.section) if doctree else ())
        if isinstance(section.parent, nodes.section) and section.parent.parent is doctree
    ]
    if doctree is not None:
        context["sections"] += [
            {"id": one["ids"][0], "title": one["fullname"]}
            for one in doctree.findall(addnodes.desc_signature)
            if one["ids"]
        ]
    head(app, page, context, doctree)
    if page == app.config.master_doc:
        return "front.html"
    if is_lesson(page):
        return "lesson.html"
    return None


def is_lesson(page: str) -> bool:
    """Tell whether a page is a lesson."""
    return (page.split("/")[1:2] or [""])[0] in LESSONS


def address_of(app: Sphinx, page: str) -> str:
    """Return the address of a page below that of the site."""
    return "/" + re.sub(r"(^|/)index\.html$", r"\1", app.builder.get_target_uri(page))


def plain(title: str) -> str:
    """Return a title without markup."""
    return html.unescape(re.sub(r"<[^>]+>", "", title))


def work_of(app: Sphinx, page: str, title: str) -> citation.Work:
    """Return what is cited when a page is."""
    released = citation.released(ROOT)
    return citation.Work(
        book=str(app.config.html_title or app.config.project),
        version=version,
        date=released or str(app.config.copyright),
        is_released=bool(released),
        at=address_of(app, page)[1:],
        base=str(app.config.html_baseurl or "").rstrip("/"),
        title="" if page == app.config.master_doc else title,
    )


def head(app: Sphinx, page: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Tell the head of a page its description, its address and what it loads."""
    title = str(app.config.html_title or app.config.project)
    context["book_title"] = title
    context["description"] = html.escape(describe(doctree) or f"{context.get('title')}, {title}")
    baseurl = str(app.config.html_baseurl or "").rstrip("/")
    context["canonical"] = baseurl and baseurl + address_of(app, page)
    context["promise"] = describe(doctree)
    context["social_card"] = f"{baseurl}/_static/card.png"
    context["base"] = f"{baseurl}/" if baseurl and page == "404" else ""
    static = Path(app.outdir, "_static")

    def asset(name: str) -> str:
        digest = hashlib.sha256((static / name).read_bytes()).hexdigest()[:8]
        return f"{context['pathto'](f'_static/{name}', 1)}?v={digest}"

    context["asset"] = asset

    context["paper"], context["ink"] = palette.PAPER, palette.INK
    context["version"] = version
    context["released"] = citation.released(ROOT)
    context["year"] = str(app.config.copyright)
    titles = app.env.titles
    title = words(titles[page]) if page in titles else plain(str(context.get("title")))
    context["work"] = work_of(app, page, title)


class Map(SphinxDirective):
    """Draw the map of the book: its parts with their levels, its pages by their questions."""

    def run(self) -> list[nodes.Node]:
        """Leave the place; `draw_map` fills it when all pages are known."""
        return [nodes.comment("", "map", classes=["map"])]


def draw_map(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Fill the place that the directive left."""
    for place in [n for n in doctree.findall(nodes.comment) if "map" in n["classes"]]:
        rows = []
        for part in parts_of(app, page):
            if not part["level"]:
                continue
            links = "".join(
                f'<li><a href="{one["href"]}">{html.escape(one["question"])}</a>'
                f" <small>{html.escape(one['title'])}</small></li>"
                for one in part["pages"]
            )
            rows.append(
                f"<dt>{part['name']}<small>level {part['level']}</small></dt>"
                f"<dd><ul>{links}</ul></dd>"
            )
        drawn = nodes.raw("", f'<dl class="map">{"".join(rows)}</dl>', format="html")
        place.parent.replace(place, drawn)


def lost(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Add the page for wrong addresses."""
    yield "404", {"title": "No such page"}, "404.html"


def write_sitemap(app: Sphinx, exception: Exception | None) -> None:
    """List the addresses of the pages for search engines, once the site has a public address."""
    baseurl = str(app.config.html_baseurl or "").rstrip("/")
    if exception is None and app.builder.format == "html" and baseurl:
        found = sorted(address_of(app, page) for page in app.env.found_docs)
        lines = "".join(f"<url><loc>{html.escape(baseurl + at)}</loc></url>\n" for at in found)
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        Path(app.outdir, "sitemap.xml").write_text(
            f'<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="{space}">\n{lines}</urlset>\n',
            encoding="utf-8",
        )


def register(app: Sphinx) -> None:
    """Register what Sphinx has to know of it."""
    app.add_directive("map", Map)
