"""Put the pages through all checks, on all cores."""

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from press.build.server import serving
from press.measure import access, layout, traffic
from press.measure.budgets import BUDGETS, Budget, Row
from press.measure.visit import Visit, launched

EVERY_MODULE = (access, layout, traffic)  # they fill BUDGETS
PREFIX = "/a-book/"  # links that begin with a slash lead elsewhere
KEPT = ExitStack()  # open browsers


def examine(
    visit: Visit,
    site: Path,
    address: str,
    page: str,
    front: frozenset[Path] = frozenset(),
    budgets: Sequence[Budget] = BUDGETS,
) -> list[Row]:
    """Measure budgets on one page, from a server; what it asks for and says, from a disk, too."""
    rows: list[Row] = []

    def take(budget: Budget, mode: str) -> None:
        if (reading := budget.check(visit)) is not None:
            rows.append(Row(budget.name, page, mode, reading))

    heard = [budget for budget in budgets if not budget.modes]
    for from_disk in (False, True) if heard else (False,):
        visit.open(site, address, page, from_disk=from_disk, front=front)
        # A mode after the other, as each costs a layout; first the one in which it was opened.
        modes = {mode for b in budgets for mode in b.modes} if not from_disk else ()
        for mode in sorted(modes, reverse=True):
            visit.enter(mode)
            for budget in budgets:
                if mode in budget.modes:
                    take(budget, str(mode))
        # What the page has said comes last: the other checks have put it through everything.
        for budget in heard:
            take(budget, "from disk" if from_disk else "from a server")
    return rows


@cache
def own_visit() -> Visit:
    """Return the tab that a process of the pool keeps; its browser ends with the process."""
    return Visit(KEPT.enter_context(launched()))


def examine_in_pool(*where: Any) -> list[Row]:
    """Measure one page."""
    return examine(own_visit(), *where)


def visit_all(site: Path, pages: list[str]) -> Iterator[tuple[str, list[Row]]]:
    """Examine pages on all cores, as they are ready."""
    spawn = multiprocessing.get_context("spawn")
    with serving(site, PREFIX) as address:
        with launched() as browser:
            visit = Visit(browser)
            visit.open(site, address, "index.html")
        with ProcessPoolExecutor(os.cpu_count(), spawn) as pool:
            # The heaviest first, so that no core waits for the other at the end.
            order = sorted(pages, key=lambda page: -(site / page).stat().st_size)
            jobs = {
                pool.submit(examine_in_pool, site, address, page, visit.first_loaded): page
                for page in order
            }
            for job in as_completed(jobs):
                yield jobs[job], job.result()
