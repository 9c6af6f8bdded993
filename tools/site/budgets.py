"""What a budget is, and the table of all of them, which the modules of checks fill."""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tools.site.visit import Visit


@dataclass(frozen=True)
class Reading:
    """What a page measured in one mode, and what of it is against the budget."""

    value: float
    faults: list[str] = field(default_factory=list)
    mode: str = ""


class Row(NamedTuple):
    """A reading of a budget on a page."""

    budget: str
    page: str
    reading: Reading


Check = Callable[[Visit], Iterator[Reading]]


@dataclass(frozen=True)
class Budget:
    """A promise about every page: its name, its limit in words, and the check that measures it."""

    name: str
    limit: str
    check: Check
    badness: Callable[[float], float]  # the larger, the worse
    median: float | None  # a limit for the median of all pages


BUDGETS: list[Budget] = []


def budget(
    name: str,
    limit: str,
    *,
    badness: Callable[[float], float] = float,
    median: float | None = None,
) -> Callable[[Check], Check]:
    """Enter a check into the table; `badness` tells which of two values is the worse one."""

    def enter(check: Check) -> Check:
        BUDGETS.append(Budget(name, limit, check, badness, median))
        return check

    return enter


def counted(items: list[str], mode: str = "") -> Reading:
    """Return a reading where each item is against the budget."""
    return Reading(len(items), items, mode)


def median(values: list[float]) -> float:
    """Return the median, 0 of nothing."""
    return statistics.median(values) if values else 0.0
