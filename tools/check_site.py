"""Check the built site as it is written.

The build refuses a site in which a link leads nowhere, an image does not speak or somebody else is
asked. `make check-site` also wants the frame of each page: its head, its headings, its policy.
"""

import sys
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from bs4 import BeautifulSoup, Tag

# What a browser fetches by itself. A link that a reader may follow is another matter.
FETCHED = (("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"))
FETCHED_RELATIONS = {"stylesheet", "preload", "icon", "modulepreload", "preconnect"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'"
)
LOADING = ["script", "link", "style", "img"]  # what a policy has to precede


def check_site(site: Path) -> list[str]:
    """Return a line per problem, each with its page and cause."""
    pages = {path: _parse(path) for path in html_files(site)}
    if not pages:
        return [f"{site}: no page was built"]
    anchors = {path: _anchors(page) for path, page in pages.items()}
    problems = []
    for path, page in pages.items():
        name = path.relative_to(site)
        problems += [f"{name}: {problem}" for problem in _images(page)]
        problems += [f"{name}: {problem}" for problem in _requests(page)]
        problems += [f"{name}: {problem}" for problem in _links(path, page, anchors)]
        problems += [f"{name}: {problem}" for problem in _ids(page)]
    return problems


def check_frames(site: Path) -> list[str]:
    """Return a line per flaw of the frame of a page: its head, its headings, its policy."""
    pages = {path: _parse(path) for path in html_files(site)}
    problems = [
        f"{path.relative_to(site)}: {problem}"
        for path, page in pages.items()
        for problem in (*_head(page), *_headings(page), *_scripts(page))
    ]
    titles = Counter(page.title.get_text(strip=True) for page in pages.values() if page.title)
    problems += [f"{n} pages have the title {title!r}" for title, n in titles.items() if n > 1]
    if (site / "book").exists():
        problems.append("book/: the addresses of pages do not begin with the name of a folder")
    return problems


def html_files(site: Path) -> list[Path]:
    """Return the pages of the site."""
    return sorted(site.rglob("*.html"))


def _head(page: BeautifulSoup) -> list[str]:
    problems = []
    root, head = page.html, page.head
    if root is None or not root.get("lang"):
        problems.append("no language")
    if head is None or head.title is None or not head.title.get_text(strip=True):
        problems.append("no title")
    description = page.find("meta", attrs={"name": "description"})
    if not isinstance(description, Tag) or not str(description.get("content") or "").strip():
        problems.append("no description")
    if len(page.find_all("main")) != 1:
        problems.append(f"{len(page.find_all('main'))} main landmarks")
    policies = page.find_all("meta", attrs={"http-equiv": "Content-Security-Policy"})
    if [policy.get("content") for policy in policies] != [POLICY]:
        problems.append("not the policy")
    elif policies[0].parent != head or policies[0].find_previous(LOADING):
        problems.append("the policy does not stand before all that loads")
    return problems


def _headings(page: BeautifulSoup) -> list[str]:
    headings = page.find_all(["h1", "h2", "h3", "h4", "h5", "h6"])
    levels = [int(heading.name[1]) for heading in headings]
    problems = []
    if levels.count(1) != 1:
        problems.append(f"{levels.count(1)} headings of level 1")
    for heading, before, level in zip(headings[1:], levels, levels[1:], strict=False):
        if level > before + 1:
            text = heading.get_text(" ", strip=True)
            problems.append(f"level {level} follows level {before}: {text!r}")
    return problems


def _scripts(page: BeautifulSoup) -> list[str]:
    problems = []
    for tag in page.find_all(True):
        if tag.name == "script" and not tag.get("src"):
            problems.append(f"inline script: {tag.get_text()[:40]!r}")
        problems += [
            f"inline script: {name}={tag[name]!r}" for name in tag.attrs if name[:2] == "on"
        ]
        if str(tag.get("href") or "").strip().lower().startswith("javascript:"):
            problems.append(f"inline script: {tag['href']}")
    return problems


def _parse(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "lxml")


def _anchors(page: BeautifulSoup) -> set[str]:
    named = {str(tag["id"]) for tag in page.find_all(id=True)}
    return named | {str(tag["name"]) for tag in page.find_all("a", attrs={"name": True})}


def _ids(page: BeautifulSoup) -> list[str]:
    seen: set[str] = set()
    problems = []
    for tag in page.find_all(id=True):
        if str(tag["id"]) in seen:
            problems.append(f"the id {tag['id']!r} stands twice")
        seen.add(str(tag["id"]))
    return problems


def _images(page: BeautifulSoup) -> list[str]:
    problems = []
    main = page.find("main") or page
    assert isinstance(main, Tag)
    for image in main.find_all("img"):
        if not str(image.get("alt") or "").strip():
            problems.append(f"image without an alt text: {image.get('src')}")
    for drawing in main.find_all("svg", role="img"):
        if not str(drawing.get("aria-label") or "").strip():
            problems.append("drawing without a description")
        if drawing.find_parent("figure") is None:
            problems.append(f"drawing without a caption: {drawing.get('aria-label')}")
    return problems


def _requests(page: BeautifulSoup) -> list[str]:
    problems = []
    for tag_name, attribute in FETCHED:
        for tag in page.find_all(tag_name):
            relations = set(tag.get("rel") or FETCHED_RELATIONS)
            address = str(tag.get(attribute) or "")
            if relations & FETCHED_RELATIONS and urlsplit(address).netloc:
                problems.append(f"asks another site: {address}")
    return problems


def _links(path: Path, page: BeautifulSoup, anchors: dict[Path, set[str]]) -> list[str]:
    problems = []
    for link in page.find_all("a", href=True):
        address, anchor = urldefrag(str(link["href"]))
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
        if target.is_dir():
            target = target / "index.html"
        if not target.is_file():
            problems.append(f"broken link: {link['href']}")
        elif anchor and target in anchors and unquote(anchor) not in anchors[target]:
            problems.append(f"broken anchor: {link['href']}")
    return problems


if __name__ == "__main__":
    found = check_site(Path(sys.argv[1])) + check_frames(Path(sys.argv[1]))
    print("\n".join(found))
    sys.exit(bool(found))
