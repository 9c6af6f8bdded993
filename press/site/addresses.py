"""Give every page the address that it keeps: /, /causal/masking.html, /SA016/.

A citation of a page must resolve for longer than the folders of the sources stay as they are. A
link names the file, SA016/index.html, so that a copy of the site on a disk works, too.
"""

import html
import re
from pathlib import Path
from urllib.parse import quote

from sphinx.application import Sphinx
from sphinx.config import Config

from press import seams
from press.math.text import words
from press.seams import STATEMENTS
from press.site import moved
from press.site.scope import is_partial

EXAMPLE = re.compile(r"book/examples/(SA\d{3})")


def address(page: str) -> str:
    """Return where a page stands in the site, without its suffix."""
    example = EXAMPLE.fullmatch(page)
    return f"{example[1]}/index" if example else page.removeprefix("book/")


def base_of(config: Config) -> str:
    """Return the public address of the site; nothing as long as it has none."""
    return str(config.html_baseurl or "").rstrip("/")


def sources_of(config: Config) -> str:
    """Return the public address of the sources; nothing as long as they have none."""
    return str(config.html_theme_options.get("repository_url", "")).rstrip("/")


def elsewhere(base: str, notebook: str) -> str:
    """Return where a browser runs a notebook of the site: JupyterLite, which fetches it."""
    return f"https://jupyter.org/try-jupyter/lab/?fromURL={quote(f'{base}/{notebook}', safe='')}"


def public_path(app: Sphinx, page: str) -> str:
    """Return the address of a page below that of the site, without the name of an index."""
    return re.sub(r"(^|/)index\.html$", r"\1", app.builder.get_target_uri(page))


class BookBuilder(seams.Builder):
    """The builder "html", with the addresses of the book."""

    def address(self, page: str) -> str:
        """Return where a page stands in the site, without its suffix."""
        return address(page)

    def before_inventory(self) -> bool:
        """List statements and equations, too, for books that refer to them as to any label."""
        if is_partial(self.app):
            return False
        labels = seams.labels(self.env)
        for page in set(seams.statements(self.env).values()):
            for one in self.env.get_doctree(page).findall(lambda n: isinstance(n, STATEMENTS)):
                labels[one["label"]] = (page, one["label"], words(one[0]))
        for label, page in seams.equations(self.env).items():
            anchor = f"equation-{label}"
            number = seams.number_of(self.env, page, anchor)
            labels[label] = (page, anchor, f"Equation {number}")
        return True


def write_sitemap(app: Sphinx) -> None:
    """List the addresses of the pages for search engines, once the site has a public address."""
    base = base_of(app.config)
    if base:
        paths = sorted(public_path(app, page) for page in app.env.found_docs)
        lines = "".join(f"<url><loc>{html.escape(f'{base}/{at}')}</loc></url>\n" for at in paths)
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        Path(app.outdir, "sitemap.xml").write_text(
            f'<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="{space}">\n{lines}</urlset>\n',
            encoding="utf-8",
        )


def write_moved(app: Sphinx) -> None:
    """Write, at the address of each page that has moved, a page that leads to the new one."""
    there = {address(page) for page in app.env.found_docs}
    for old, new in moved.PAGES.items():
        if new in there:
            Path(app.outdir, f"{old}.html").write_text(moved.leading(old), encoding="utf-8")
            Path(app.outdir, "_static", "lead.js").write_text(moved.LEAD, encoding="utf-8")


def register(app: Sphinx) -> None:
    """Register the builder."""
    app.add_builder(BookBuilder, override=True)
