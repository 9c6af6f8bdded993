"""What the tests of statements share: a search, dropped hypotheses, false neighbors.

A class of tests derives from `Statement` and gives its parts as data. `python -m tests.theorems`
says of each statement what was found: the index of theorems shows it.
"""

import inspect
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

Case = SimpleNamespace
DRAWS = 4000 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else 200
# A neighbor is true in so many of the random cases, or its constant is within 10%; and a bound is
# one that some case comes so near to.
NEAR = 0.9


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis: whether a case meets it, and a case in which it alone is missing.

    In that case the claim fails. Where no such case is known, or there is none, `sufficient` says
    why, with a proof or a source.
    """

    met: Callable[[Case], Any]
    without: Case | None = None
    sufficient: str = ""

    def __post_init__(self) -> None:
        """Ask for one of the two."""
        if (self.without is None) == (not self.sufficient):
            raise ValueError("a hypothesis has either a case without it, or a reason")


class Statement:
    """A statement and what its search has to find.

    Attributes
    ----------
    hypotheses
        By the words of the statement that say it.
    concludes
        The words and formulas of the statement that `holds` computes.
    neighbors
        False claims near the true one: what each says, and the arguments of `holds` that make it.
    hard
        Cases that are hard: equality, ties, extremes. They are searched before the drawn ones.
    draws
        How many cases are drawn; fewer where one takes long.
    kind
        "bound", "identity", "limit" or "existence": what sort of claim it is.

    """

    kind: ClassVar[str] = "identity"
    hypotheses: ClassVar[Mapping[str, Hypothesis]] = {}
    concludes: ClassVar[Sequence[str]] = ()
    neighbors: ClassVar[Mapping[str, Mapping[str, Any]]]
    hard: ClassVar[Sequence[Case]] = ()
    draws: ClassVar[int] = DRAWS

    def draw(self, rng: np.random.Generator) -> Case:
        """Draw a case that meets all hypotheses."""
        raise NotImplementedError

    def holds(self, case: Case) -> Any:
        """Tell whether the claim is true of a case; keywords change it into a neighbor."""
        raise NotImplementedError

    def ratio(self, case: Case) -> float:
        """Return, for a bound, the smaller side over the larger."""
        raise NotImplementedError

    @classmethod
    @cache
    def searched(cls) -> tuple[Case, ...]:
        """Return the cases: the hard ones, then the drawn ones, the same in every run."""
        rng = np.random.default_rng(zlib.crc32(cls.__qualname__.encode()))
        return (*cls.hard, *(cls().draw(rng) for _ in range(cls.draws)))

    def refuted(self, name: str) -> str:
        """Require that the search refutes a neighbor; return in which sense it is near."""
        changed = self.neighbors[name]
        true_of = [bool(self.holds(case, **changed)) for case in self.searched()]
        assert not all(true_of), f"no case refutes the neighbor: {name}"
        drawn = true_of[len(self.hard) :]
        false = drawn.count(False)
        near = f"false in {false} of {len(drawn)} random cases" if false else "false in a hard case"
        if false <= (1 - NEAR) * len(drawn):
            return near
        usual = inspect.signature(self.holds).parameters
        off = [
            abs(value / usual[key].default - 1)
            for key, value in changed.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        assert max(off, default=1) <= 1 - NEAR + 1e-12, f"{name}: {near}, its constant is far"
        return f"a constant {100 * max(off):.2g}% off"

    def largest(self) -> float:
        """Return the largest ratio that the search finds."""
        return float(max(map(self.ratio, self.searched())))

    def test_it_holds_wherever_its_hypotheses_do(self) -> None:
        for case in self.searched():
            missing = [name for name, one in self.hypotheses.items() if not one.met(case)]
            assert not missing, f"{missing} are not met by {case}"
            assert self.holds(case), case
        if self.kind == "bound":
            assert NEAR <= self.largest() <= 1 + 1e-9

    def test_it_fails_without_a_hypothesis(self) -> None:
        for name, one in self.hypotheses.items():
            if one.without is None:
                continue
            missing = [other for other, it in self.hypotheses.items() if not it.met(one.without)]
            assert missing == [name]
            assert not self.holds(one.without), f"the claim holds without: {name}"

    def test_its_neighbors_are_near_and_false(self) -> None:
        assert self.neighbors or self.kind == "existence"
        for name in self.neighbors:
            self.refuted(name)

    def report(self) -> dict[str, Any]:
        """Return what the index of theorems says of this test, once it has passed."""
        self.test_it_holds_wherever_its_hypotheses_do()
        self.test_it_fails_without_a_hypothesis()
        said: dict[str, Any] = {
            "kind": self.kind,
            "hypotheses": {name: one.sufficient for name, one in self.hypotheses.items()},
            "neighbors": {name: self.refuted(name) for name in self.neighbors},
            "cases": len(self.searched()),
            "hard": len(self.hard),
        }
        if self.kind == "bound":
            said["largest"] = self.largest()
        return said
