"""Which slips of the catalog explain what a function does at every call where they are defined."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfattn_ref.worked_examples._calls import ABOVE, Call
from selfattn_ref.worked_examples._capabilities import CAPABILITIES
from selfattn_ref.worked_examples._comparison import as_numbers, off_by
from selfattn_ref.worked_examples._judge import Judge
from selfattn_ref.worked_examples._slip import Slip, attention
from selfattn_ref.worked_examples.slips import SLIPS

Array = NDArray[Any]


class Candidates:
    """The slips that explain every call so far that they are defined at, wrong or right.

    A slip has variants, such as another small number in the place of a hidden score. What no slip
    gives to the last digit is compared as if it were of float32.
    """

    def __init__(self) -> None:
        self._exact: list[Slip] = list(SLIPS.values())
        self._near: list[Slip] = list(SLIPS.values())
        self._explained = 0  # of the calls that are wrong
        self._others = 0  # which are wrong with a capability
        self._raised: list[Call] = []

    @property
    def names(self) -> list[Slip]:
        """The slips that are left, if any call differs."""
        return (self._exact or self._near) if self._explained else []

    @property
    def unexplained(self) -> int:
        """How many calls are wrong where the slips that are left are not, or are not defined."""
        given = (_output(slip, call) for call in self._raised for slip in self.names[:1])
        return self._others + sum(output is not None for output in given)

    @property
    def certain(self) -> bool:
        """Whether one alone is left, which explains all of several calls."""
        return len(self.names) == 1 and self._explained > 2 and not self.unexplained

    def raised(self, call: Call) -> None:
        """Remember a call that raised an error, as a slip does at most where it is not defined."""
        if _is_asked(call):
            self._raised.append(call)
        else:
            self._others += 1

    def see(self, call: Call, judge: Judge, result: Any, *, right: bool) -> None:
        """Leave out the slips that do not give this result where they are defined."""
        if not _is_asked(call):
            self._others += not right
            return
        if not (self._exact or self._near):
            return
        try:
            got, dtype = as_numbers(result)
        except (TypeError, ValueError):
            self._exact, self._near = [], []
            return
        self._explained += not right
        wider = "float32" if dtype == "float64" else dtype
        # What float32 explains is no slip of larger size.
        single = not right and any(not c.lines for c in judge(result, wider).values())
        outputs: dict[Slip, Array | None] = {}

        def explains(slip: Slip, dtype: str) -> bool:
            if slip not in outputs:
                outputs[slip] = _output(slip, call)
            output = outputs[slip]
            if output is None:  # not defined here
                return right
            if right:
                return _is_right(output, call, judge, got, dtype)
            return _gives(output, call, judge, got, dtype)

        self._exact = [slip for slip in self._exact if explains(slip, dtype)]
        self._near = [slip for slip in self._near if not single and explains(slip, wider)]


ABOVE["candidates"] = Candidates


def _is_asked(call: Call) -> bool:
    """Return whether slips are defined at a call: attention with options and no more."""
    ours = call.function == "scaled_dot_product_attention"
    return ours and not {*call.arguments} & {*CAPABILITIES}


def _output(slip: Slip, call: Call) -> Array | None:
    """Return what a slip gives at a call; None if it gives nothing."""
    try:
        return slip(*call.args, **call.kwargs)
    except Exception:
        return None


def _is_right(output: Array, call: Call, judge: Judge, got: Array, dtype: str) -> bool:
    """Return whether a slip is right at a call, where it shares our view of an empty row."""
    if np.isnan(output).any() and output.shape == got.shape:
        # By the book, a query without keys gets NaN; what the function gives there was right.
        with np.errstate(all="ignore"):
            book = attention(*call.args, **call.kwargs)
        output = np.where(np.isnan(output) & np.isnan(book), got, output)
    return judge.accepts(output, dtype)


def _gives(output: Array, call: Call, judge: Judge, got: Array, dtype: str) -> bool:
    """Return whether a slip gives what a function gave, and not by being right.

    Where a slip leaves a query nobody and gives NaN, the function may do otherwise, provided
    that some number is wrong in the same way.
    """
    if output.shape != got.shape:
        return False
    expected = np.asarray(call.expected)
    limits = np.broadcast_to(judge.allowances["result"](dtype), expected.shape)
    entries, shape = call.known_entries("result")
    if output.shape == (expected.shape if shape is None else shape):
        if entries is not None:
            output, got = output[tuple(entries.T)], got[tuple(entries.T)]
        answers = [np.asarray(x) for x in call.conventions.values()] or [expected]
        wrong = np.all([~(off_by(output, answer) <= limits) for answer in answers], axis=0)
    else:
        limits, wrong = limits.max(), np.True_
    number = ~np.isnan(output)
    off = wrong & number
    same = off_by(got.astype(float), output) <= limits  # False for NaN
    return bool(same[number].all() and np.any(wrong) and (same.all() or off.any()))
