"""What a page asks for, what it weighs, and what its policy and its console say."""

from pathlib import Path

from press.build.server import transfer_size
from press.measure.budgets import Reading, budget, counted
from press.measure.visit import Visit, Way


@budget("requests elsewhere", "0", *Way)
def elsewhere(visit: Visit) -> Reading:
    """List what is fetched from another origin."""
    return counted([f"asks for {url}" for url in visit.asked if not url.startswith(visit.own)])


@budget("violations of the policy", "0", Way.SERVER, Way.DISK)
def policy(visit: Visit) -> Reading:
    """List what the page's policy has stopped."""
    return counted(visit.page.evaluate("window.violations"))


@budget("console messages", "0", *Way)
def console(visit: Visit) -> Reading:
    """List what the console says: messages of any kind, and errors."""
    return counted([f"says {text}" for text in visit.said])


@budget("failed requests", "0", *Way)
def failed(visit: Visit) -> Reading:
    """List what did not come."""
    return counted([f"could not load {url}" for url in visit.failed])


@budget("kB on a first visit", "≤ 200, median ≤ 160", Way.SERVER, median=160)
def first_visit(visit: Visit) -> Reading:
    """Weigh the page and all that it loads, compressed."""
    return weighed(visit.first_loaded, 200)


@budget("kB on the next page", "≤ 60", Way.SERVER)
def next_page(visit: Visit) -> Reading:
    """Weigh what is not in the cache after a visit to the front page."""
    return weighed(visit.first_loaded - visit.front, 60)


def weighed(files: frozenset[Path], limit: float) -> Reading:
    """Return the weight of files in kB, and the heaviest of them if it is above the limit."""
    weights = {path: transfer_size(path) / 1000 for path in files}
    total = sum(weights.values())
    heaviest = sorted(weights, key=lambda path: -weights[path])[:4]
    parts = ", ".join(f"{path.name} {weights[path]:.0f}" for path in heaviest)
    return Reading(total, [f"{total:.0f} kB: {parts}"] if total > limit else [])
