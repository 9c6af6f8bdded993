"""Compare what a function returned with everything that is right at a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from selfattn_ref.worked_examples._comparison import (
    Allowed,
    Answer,
    Comparison,
    by_name,
    compare,
    parts,
    what,
)

if TYPE_CHECKING:
    from selfattn_ref.worked_examples._calls import Call


class Judge(NamedTuple):
    """Compares results of a call, as if they came in a given dtype or in their own."""

    call: Call
    allowances: dict[str, Allowed]

    def __call__(self, result: Any, dtype: str | None = None) -> dict[str, Comparison]:
        """Return how a result compares with each answer, by the name of its convention."""
        call = self.call
        answers: Mapping[str, Answer | None] = call.conventions or {"": call.expected}
        got = by_name(result, tuple(self.allowances))
        if got is None:
            names = ", ".join(self.allowances)
            line = f"  must be {names}, in this order or by these names; got {what(result)}"
            return dict.fromkeys(answers, Comparison([line], 0.0))

        def one(name: str, expected: NDArray[Any]) -> Comparison:
            allow = self.allowances[name]
            places = call.known_entries(name)
            return compare(name, got[name], expected, lambda own: allow(dtype or own), *places)

        def every(answer: Answer | None) -> Comparison:
            known = parts(answer).items()
            each = [one(name, expected) for name, expected in known if name in got]
            lines = [line for part in each for line in part.lines]
            missing = tuple(name for name, _ in known if name not in got)
            return Comparison(lines, max(part.difference for part in each), missing)

        return {name: every(answer) for name, answer in answers.items()}

    def accepts(self, result: Any, dtype: str | None = None) -> bool:
        """Return whether a result is right under some convention."""
        return any(not comparison.lines for comparison in self(result, dtype).values())

    def differences(self, found: Mapping[str, Comparison], result: Any) -> Iterator[str]:
        """Yield what is said of a result that differs, the call first."""
        name, nearest = min(found.items(), key=lambda item: len(item[1].lines))
        yield repr(self.call)
        if name:
            yield f"  follows none of {', '.join(found)}; beside {name}:"
        yield from nearest.lines
        if self.accepts(result, "float32"):
            yield "  it is within what float32 allows, but its dtype is wider"
