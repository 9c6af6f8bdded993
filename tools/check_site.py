"""Check the built site: every link leads somewhere, every image speaks, nobody else is asked."""

import sys
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from bs4 import BeautifulSoup, Tag

# What a browser fetches by itself. A link that a reader may follow is another matter.
FETCHED = (("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"))
FETCHED_RELATIONS = {"stylesheet", "preload", "icon", "modulepreload", "preconnect"}


def check_site(site: Path) -> list[str]:
    """Return a line per problem, each with its page and cause."""
    pages = {path: _parse(path) for path in sorted(site.rglob("*.html"))}
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
    for drawing in main.find_all(True, role="img"):
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
    found = check_site(Path(sys.argv[1]))
    print("\n".join(found))
    sys.exit(bool(found))
