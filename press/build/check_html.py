"""Check the built site as it is written.

The build refuses a site in which a link leads nowhere, somebody else is asked, or what is to be
installed is not there. `make check-site` also wants the frame of each page: its description, its
policy. What axe says of it (title, language, landmarks, order of headings) is not said again here,
nor what the build says of an image where it stands: press/lesson/figures.py.
"""

import json
import os
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

from lxml import html

from press.site.policy import POLICY

Page = Any  # lxml's element of a whole page

# What a browser fetches by itself. A link that a reader may follow is another matter.
FETCHED = (("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"))
FETCHED_RELATIONS = {"stylesheet", "preload", "icon", "modulepreload", "preconnect"}
LOADING = "preceding::*[self::script or self::link or self::style or self::img]"


def check_site(site: Path) -> list[str]:
    """Return a line per problem, each with its page and cause."""
    pages = _read(site)
    if not pages:
        return [f"{site}: no page was built"]
    anchors = {path: anchors_of(page) for path, page in pages.items()}
    wheels = {path.name for path in site.rglob("*.whl")}
    return [
        f"{path.relative_to(site)}: {problem}"
        for path, page in pages.items()
        for problem in (
            *_requests(page),
            *_links(path, page, anchors),
            *_ids(page),
            *_installs(wheels, page.text_content()),
        )
    ] + [
        f"{path.relative_to(site)}: {problem}"
        for path in sorted(site.rglob("*.ipynb"))
        for problem in _installs(wheels, path.read_text("utf-8"))
    ]


def check_frames(site: Path) -> list[str]:
    """Return a line per flaw of the frame of a page: its head, its title, its policy."""
    pages = _read(site)
    problems = [
        f"{path.relative_to(site)}: {problem}"
        for path, page in pages.items()
        for problem in _head(page)
    ]
    titles = Counter(page.findtext("head/title") for page in pages.values())
    problems += [f"{n} pages have the title {title!r}" for title, n in titles.items() if n > 1]
    if (site / "book").exists():
        problems.append("book/: the addresses of pages begin with the name of a folder")
    return problems


def html_files(site: Path) -> list[Path]:
    """Return the pages of the site."""
    return sorted(site.rglob("*.html"))


def parsed(path: Path) -> Page:
    """Read a page."""
    return html.document_fromstring(path.read_bytes(), parser=html.HTMLParser(encoding="utf-8"))


def _read(site: Path) -> dict[Path, Page]:
    return {path: parsed(path) for path in html_files(site)}


def anchors_of(page: Page) -> set[str]:
    """Return what links to a page can name: elements, and the slips by which its sheet opens."""
    sheets = page.xpath("//*[@id='sheet']/*[@data-sheet]/script/text()")
    slips = {slip for sheet in sheets for slip in json.loads(sheet)["slips"]}
    return slips.union(page.xpath("//@id | //a/@name"))


def _ids(page: Page) -> list[str]:
    seen = Counter(page.xpath("//@id"))
    return [f"the id {name!r} stands twice" for name, times in seen.items() if times > 1]


def _installs(wheels: set[str], text: str) -> list[str]:
    """Say which lines install something that the site does not have: no index has the library."""
    named = re.findall(r"pip install (\S+?\.whl|[^\s\"\\]+)", text)
    return [f"installs what is not here: {name}" for name in named if Path(name).name not in wheels]


def _requests(page: Page) -> list[str]:
    problems = []
    for name, attribute in FETCHED:
        for element in page.iter(name):
            relations = set(element.get("rel", "stylesheet").split())
            address = element.get(attribute, "")
            if relations & FETCHED_RELATIONS and urlsplit(address).netloc:
                problems.append(f"asks another site: {address}")
    return problems


def _links(path: Path, page: Page, anchors: dict[Path, set[str]]) -> list[str]:
    problems = []
    for link in page.xpath("//a/@href | //link/@href"):
        address, anchor = urldefrag(link.strip())
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            problems += [f"inline script: {link}"] * (parts.scheme == "javascript")
            continue
        target = _target(path.parent, parts.path) if parts.path else path
        if target is None:
            problems.append(f"broken link: {link}")
        elif anchor and target.suffix == ".html" and unquote(anchor) not in anchors.get(target, ()):
            problems.append(f"broken anchor: {link}")
    return problems


@cache  # the pages of a folder have most of their links in common
def _target(folder: Path, address: str) -> Path | None:
    """Return the file that a relative address leads to, if there is one."""
    target = Path(os.path.normpath(folder / unquote(address)))
    if target.is_dir():
        target = target / "index.html"
    return target if target.is_file() else None


def _head(page: Page) -> list[str]:
    problems = []
    described = "".join(page.xpath("//meta[@name='description']/@content")).strip()
    if not described or "<" in described:
        problems.append("no description in plain text")
    if (titles := len(page.findall(".//h1"))) != 1:
        problems.append(f"{titles} headings of level 1")
    policies = page.xpath("//meta[@http-equiv='Content-Security-Policy']")
    if [policy.get("content") for policy in policies] != [POLICY]:
        problems.append("not the policy")
    elif policies[0].getparent().tag != "head" or policies[0].xpath(LOADING):
        problems.append("the policy does not stand before all that loads")
    return problems
