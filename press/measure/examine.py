"""Put the pages through all checks, on all cores; those that are built alike, through most."""

import multiprocessing
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path

from press.build.check_html import parsed
from press.build.server import serving
from press.measure import access, figures, layout, paper, traffic
from press.measure.budgets import BUDGETS, Budget, Row
from press.measure.visit import Mode, Tab, Visit, launched

EVERY_MODULE = (access, figures, layout, paper, traffic)  # they fill BUDGETS
PREFIX = "/a-book/"  # links that begin with a slash lead elsewhere
PERCENT = re.compile(r"[\d.]+%")
Examined = tuple[list[Row], dict[str, float]]  # and the seconds of each budget


def first_of_their_kind(site: Path, pages: Iterable[str]) -> set[str]:
    """Return the pages that have an element of a kind which no page before them has.

    Of a kind are elements of the same name, class and attributes, whose parents have the same name
    and class; how dark the tint of a number is makes no difference, as contrast is measured on
    every page. What is in drawings, formulas and code is examined on every page.
    """
    found, seen = set(), set()
    for page in pages:
        for element in parsed(site / page).xpath(
            "//*[not(ancestor::svg or ancestor::math or ancestor::pre)]"
        ):
            above = element if element.getparent() is None else element.getparent()
            says = (element.get(name) for name in ("class", "role", "type"))
            style = PERCENT.sub("%", element.get("style", ""))
            parent = (above.tag, above.get("class"))
            kind = (element.tag, *says, style, *parent, *sorted(element.keys()))
            if kind not in seen:
                seen.add(kind)
                found.add(page)
    return found


def examine(
    tab: Tab,
    site: Path,
    address: str,
    page: str,
    front: frozenset[Path] = frozenset(),
    budgets: Sequence[Budget] = BUDGETS,
    *,
    alike: bool = False,
) -> Examined:
    """Measure budgets on one page, from a server; what it asks for and says, from a disk, too.

    A page all of whose kinds of elements are on others, such as that of one more example, is
    `alike`: it is spared the disk, and the modes in which a budget tells something new only once.
    """
    rows: list[Row] = []
    seconds: dict[str, float] = defaultdict(float)

    def modes_of(budget: Budget) -> Set[Mode]:
        return set(budget.modes) - (budget.once if alike else set())

    def take(budget: Budget, mode: str) -> None:
        started = time.monotonic()
        if (reading := budget.check(visit)) is not None:
            rows.append(Row(budget.name, page, mode, reading))
        seconds[budget.name] += time.monotonic() - started

    for from_disk in (False, True):
        heard = [budget for budget in budgets if not budget.modes]
        if from_disk and (alike or not heard):
            break
        started = time.monotonic()
        visit = Visit(tab, site, address, page, from_disk=from_disk, front=front)
        seconds["loading"] += time.monotonic() - started
        # A mode after the other, as each costs a layout; first the one in which it was opened.
        modes = {mode for b in budgets for mode in modes_of(b)} if not from_disk else ()
        for mode in sorted(modes, reverse=True):
            started = time.monotonic()
            tab.enter(mode)
            seconds["changing the mode"] += time.monotonic() - started
            for budget in budgets:
                if mode in modes_of(budget):
                    take(budget, str(mode))
        # What the page has said comes last: the other checks have put it through everything.
        for budget in heard:
            take(budget, "from disk" if from_disk else "from a server")
    return rows, dict(seconds)


class Worker:
    """What a process of the pool keeps from page to page: a tab of a browser of its own."""

    tab: Tab
    keep: ExitStack

    @classmethod
    def start(cls) -> None:
        """Start the browser; it ends with the process."""
        cls.keep = ExitStack()
        cls.tab = Tab(cls.keep.enter_context(launched()))

    @classmethod
    def examine(
        cls, site: Path, address: str, page: str, front: frozenset[Path], alike: bool
    ) -> Examined:
        """Measure one page."""
        return examine(cls.tab, site, address, page, front, alike=alike)


def visit_all(site: Path, pages: list[str]) -> Iterator[tuple[str, Examined]]:
    """Examine pages on all cores, as they are ready."""
    spawn = multiprocessing.get_context("spawn")
    with serving(site, PREFIX) as address:
        with launched() as browser:
            front = Visit(Tab(browser), site, address, "index.html").first_loaded
        with ProcessPoolExecutor(os.cpu_count(), spawn, Worker.start) as pool:
            # The heaviest first, so that no core waits for the other at the end.
            order = sorted(pages, key=lambda page: -(site / page).stat().st_size)
            first = first_of_their_kind(site, order)
            jobs = {
                pool.submit(Worker.examine, site, address, page, front, page not in first): page
                for page in order
            }
            for job in as_completed(jobs):
                yield jobs[job], job.result()
