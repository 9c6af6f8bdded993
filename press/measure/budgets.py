"""What a budget is, and the table of all of them, which the modules of checks fill."""

from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from press.measure.visit import Mode, Visit


@dataclass(frozen=True)
class Reading:
    """What a page measured, and what of it is against the budget."""

    value: float
    faults: list[str] = field(default_factory=list)


Check = Callable[[Visit], Reading | None]  # None where there is nothing to measure


@dataclass(frozen=True)
class Budget:
    """A promise about every page: its name, its limit in words, and the check that measures it."""

    name: str
    limit: str
    modes: tuple[Mode, ...]  # in which it is measured; none: at the end, from a server and a disk
    once: Set[Mode]  # those which tell nothing new of a page that is built like others
    check: Check
    badness: Callable[[float], float]  # the larger, the worse
    median: float | None  # a limit for the median of all pages


class Row(NamedTuple):
    """A reading of a budget on a page, in a mode."""

    budget: str
    page: str
    mode: str
    reading: Reading


BUDGETS: list[Budget] = []


def budget(
    name: str,
    limit: str,
    *modes: Mode,
    once: Set[Mode] = frozenset(),
    badness: Callable[[float], float] = float,
    median: float | None = None,
) -> Callable[[Check], Check]:
    """Enter a check into the table; `badness` tells which of two values is the worse one."""

    def enter(check: Check) -> Check:
        BUDGETS.append(Budget(name, limit, modes, once, check, badness, median))
        return check

    return enter


def counted(items: list[str]) -> Reading:
    """Return a reading where each item is against the budget."""
    return Reading(len(items), items)
