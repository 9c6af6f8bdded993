"""What a budget is, and the table of all of them, which the modules of checks fill."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from press.measure.visit import Mode, Visit, Way


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
    modes: tuple[Mode | Way, ...]  # in which it is measured; a way: at the end of such a visit
    check: Check
    badness: Callable[[float], float] = float  # the larger, the worse
    median: float | None = None  # a limit for the median of all pages


class Row(NamedTuple):
    """A reading of a budget on a page, in a mode."""

    budget: str
    page: str
    mode: str
    reading: Reading


BUDGETS: list[Budget] = []


def budget(name: str, limit: str, *modes: Mode | Way, **more: Any) -> Callable[[Check], Check]:
    """Enter a check into the table, with `more` of what is said of a budget."""

    def enter(check: Check) -> Check:
        BUDGETS.append(Budget(name, limit, modes, check, **more))
        return check

    return enter


def counted(items: list[str]) -> Reading:
    """Return a reading where each item is against the budget."""
    return Reading(len(items), items)
