"""What a page asks for, what it weighs, and what its policy and its console say."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tools.serve_book import transfer_size
from tools.site.budgets import Reading, budget, counted
from tools.site.visit import Visit


@budget("requests elsewhere", "0")
def elsewhere(visit: Visit) -> Iterator[Reading]:
    """List what is fetched from another origin."""
    own = "file" if visit.from_disk else urlsplit(visit.address).netloc
    yield counted(
        [
            f"asks for {url}"
            for url in visit.asked
            if urlsplit(url).scheme != "data"
            and (urlsplit(url).scheme if visit.from_disk else urlsplit(url).netloc) != own
        ],
        where(visit),
    )


@budget("violations of the policy", "0")
def policy(visit: Visit) -> Iterator[Reading]:
    """List what the page's policy has stopped."""
    yield counted(visit.page.evaluate("window.violations"), where(visit))


@budget("console messages", "0")
def console(visit: Visit) -> Iterator[Reading]:
    """List what the console says: messages of any kind, and errors."""
    yield counted([f"says {text}" for text in visit.said], where(visit))


@budget("failed requests", "0")
def failed(visit: Visit) -> Iterator[Reading]:
    """List what did not come."""
    yield counted([f"could not load {url}" for url in visit.failed], where(visit))


@budget("kB on a first visit", "≤ 200, median ≤ 160", median=160)
def first_visit(visit: Visit) -> Iterator[Reading]:
    """Weigh the page and all that it loads, compressed."""
    if not visit.from_disk:
        yield weighed(visit.first_loaded, 200)


@budget("kB on the next page", "≤ 60")
def next_page(visit: Visit) -> Iterator[Reading]:
    """Weigh what is not in the cache after a visit to the front page."""
    if not visit.from_disk:
        yield weighed(visit.first_loaded - visit.front, 60)


def weighed(files: frozenset[Path], limit: float) -> Reading:
    """Return the weight of files in kB, and the heaviest of them if it is above the limit."""
    weights = {path: transfer_size(path) / 1000 for path in files}
    total = sum(weights.values())
    heaviest = sorted(weights, key=lambda path: -weights[path])[:4]
    parts = ", ".join(f"{path.name} {weights[path]:.0f}" for path in heaviest)
    return Reading(total, [f"{total:.0f} kB: {parts}"] if total > limit else [])


def where(visit: Visit) -> str:
    """Say from where the page came."""
    return "from disk" if visit.from_disk else "from a server"
