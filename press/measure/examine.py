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
from press.measure.visit import NOT_DRAWN, Mode, Visit, Way, launched

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
    """Measure budgets on one page, which is opened in every way and put into every mode."""
    rows: list[Row] = []

    def take(mode: Mode | Way) -> None:
        for budget in budgets:
            if mode in budget.modes and (reading := budget.check(visit)) is not None:
                rows.append(Row(budget.name, page, str(mode), reading))

    asked = {mode for budget in budgets for mode in budget.modes}
    for way in Way:
        modes = {mode for mode in asked if isinstance(mode, Mode) and mode.way is way}
        if not modes and way not in asked:
            continue
        visit.open(site, address, page, way, front)
        # A mode after the other, as each costs a layout; first the one in which it was opened.
        for mode in sorted(modes, reverse=True):
            visit.enter(mode)
            take(mode)
        take(way)  # what the page has said comes last: all else has put it through everything
    return rows


@cache
def own_visit() -> Visit:
    """Return the tab that a process of the pool keeps; its browser ends with the process."""
    return Visit(KEPT.enter_context(launched()))


def examine_in_pool(*where: Any) -> list[Row]:
    """Measure one page; if the browser stops drawing, once more with a new one."""
    from playwright.sync_api import Error

    try:
        return examine(own_visit(), *where)
    except Error as error:
        if NOT_DRAWN not in str(error):
            raise
        print(error, flush=True)
        KEPT.close()
        own_visit.cache_clear()
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
