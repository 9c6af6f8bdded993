"""One call of a function: in several memory layouts, again, and with what it leaves behind."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import SkipTest

import numpy as np
from numpy.typing import NDArray

from selfattn_ref.worked_examples._comparison import Comparison, Tolerance, as_numbers, by_name
from selfattn_ref.worked_examples._layouts import ATTENTION, Arrays, contiguous, in_layouts

if TYPE_CHECKING:
    from selfattn_ref.worked_examples._calls import Call
    from selfattn_ref.worked_examples._judge import Judge

Function = Callable[..., Any]

_AGAIN = "differs when called again"
RAISES = "it raises"


class TooManyAxes(SkipTest):
    """A function refuses arrays of more than four axes, as most libraries do."""


class Trial(NamedTuple):
    """What a function returned, how it compares under each convention, and what else is wrong."""

    result: Any
    found: dict[str, Comparison]
    faults: list[str]

    @property
    def followed(self) -> list[str]:
        """The conventions that the result follows; the name is empty if there is but one answer."""
        return [name for name, comparison in self.found.items() if not comparison.lines]


def attempt(
    call: Call,
    function: Function,
    within: Tolerance | None = None,
    *,
    dtype: str = "float64",
    between: Callable[[], Any] | None = None,
) -> Trial:
    """Call a function, compare its result and, if it is right, ask again in every other way.

    What the function raises at first passes through, but for arrays of more than four axes, which
    few libraries take; what it raises later is a fault. `between`
    makes another call, whose result is of no interest, before this one is made again.
    """
    arrays, judge = contiguous(call, dtype), call.judge(within)
    # What a call with other numbers left behind, or was compiled for it, must not be used again.
    for other in {"float64": ("float32", "float64")}.get(dtype, (dtype,)):
        with contextlib.suppress(Exception):
            _asked(_with_other_numbers(call, other), function, {})
    try:
        result = _asked(call, function, arrays)
    except Exception as error:
        if any(x.ndim > 4 for x in arrays.values()):
            raise TooManyAxes(f"more axes than it takes: {error}") from error
        raise
    trial = Trial(result, judge(result), [])
    before = contiguous(call, dtype)
    trial.faults.extend(_changed(arrays, before))
    if not trial.followed:
        return trial
    kept = _numbers(call, result)
    trial.faults.extend(_shared(kept, arrays))
    copies = [part.copy() for part in kept]
    test = _Test(judge, function, trial.followed)
    if call.function in ATTENTION:
        trial.faults.extend(test.turned({n: arrays[n] for n in ("query", "key", "value")}, arrays))
        trial.faults.extend(test.keys_reversed(contiguous(call, dtype)))
    with contextlib.suppress(Exception):
        _asked(_with_more_keys(call), function, {})
    if between is not None:
        with contextlib.suppress(Exception):
            between()
    if not all(map(_same, copies, _numbers(call, result))):
        trial.faults.append(f"  {_AGAIN}: a later call writes to the memory of its output")
    trial.faults.extend(test.again(_AGAIN, before))
    for name, given in in_layouts(call, before):
        faults = test.again(f"differs for {name} inputs", given)
        # Not every library has strides below zero: who says so has not computed anything wrong.
        if not (name == "reversed" and RAISES in "".join(faults)):
            trial.faults.extend(faults)
    return trial


def _asked(call: Call, function: Function, arrays: Mapping[str, Any]) -> Any:
    given = replace(call, arguments={**call.arguments, **arrays})
    return function(*given.args, **given.kwargs)


def _with_other_numbers(call: Call, dtype: str) -> Call:
    """Return a call of the same shapes with other values, options and inner positions."""
    other: dict[str, Any] = {**call.arguments, **contiguous(call, dtype)}
    if "value" in other:
        other["value"] = np.full_like(other["value"], np.nan)
    for name in {"scale", "soft_cap", "base"} & {*other}:
        other[name] = 2 * other[name] + 1
    if np.ndim(other.get("positions", 0)):
        other["positions"][..., 1:-1] += 1
    return replace(call, arguments=other)


def _with_more_keys(call: Call) -> Call:
    """Return a call with twice as many keys, of which a buffer may keep what is not cleared."""
    arrays = contiguous(call)
    keys = arrays["key"].shape[-2]
    for name, axis in (("key", -2), ("value", -2), ("mask", -1), ("bias", -1)):
        if name in arrays and arrays[name].shape[axis] == keys:
            x = arrays[name]
            arrays[name] = np.concatenate([x, -x if name == "value" else x], axis)
    return replace(call, arguments={**call.arguments, **arrays})


def _axes(arrays: Mapping[str, Any], names: Iterable[str]) -> int:
    return max((np.ndim(arrays[name]) for name in names), default=0)


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _changed(arrays: Arrays, before: Arrays) -> Iterator[str]:
    for name, array in arrays.items():
        if not _same(array, before[name]):
            yield f"  changed its input {name}"


def _shared(kept: list[NDArray[Any]], arrays: Arrays) -> Iterator[str]:
    # Each array has a buffer of its own, so that bounds are enough.
    for name, array in arrays.items():
        if any(np.may_share_memory(part, array) for part in kept):
            yield f"  its output is its input's memory: {name}"


def _numbers(call: Call, result: Any) -> list[NDArray[Any]]:
    """Return every array of a result that was found right, as NumPy sees its memory."""
    named = by_name(result, tuple(call.known)) or {}
    return [as_numbers(part)[0] for part in named.values()]


class _Test(NamedTuple):
    """What a function did at first, so that it can be asked for the same in other ways."""

    judge: Judge
    function: Function
    followed: list[str]

    def again(self, how: str, arrays: Arrays) -> list[str]:
        """Call with the same numbers, and say where it differs from what it followed."""
        call = self.judge.call
        before = {name: x.copy() for name, x in arrays.items()}
        try:
            result = _asked(call, self.function, arrays)
        except Exception as error:
            return [f"  {how}: {RAISES} {type(error).__name__}: {error}"]
        given = [n for n in ("query", "key", "value") if n in arrays]
        two = _axes(arrays, given) > _axes(call.arguments, given)  # `in_layouts` made it so
        faults = self._compared(how, result, two)
        if faults:
            return faults
        left = [*_changed(arrays, before), *_shared(_numbers(call, result), arrays)]
        return [f"  {how}: {line.strip()}" for line in left]

    def turned(self, vectors: Arrays, arrays: Arrays) -> list[str]:
        """Call with the same arrays, in which queries, keys and values have the other sign.

        The scores are the same, and the output has the other sign: who keeps what it has read
        under the name or the address of an array is found out.
        """
        for x in vectors.values():
            np.negative(x, out=x)
        how = f"{_AGAIN}, with other numbers in the same arrays"
        try:
            result = _asked(self.judge.call, self.function, arrays)
            opposite = _opposite(result, tuple(self.judge.allowances))
        except Exception as error:
            return [f"  {how}: {RAISES} {type(error).__name__}: {error}"]
        return self._compared(how, opposite, False)

    def keys_reversed(self, arrays: Arrays) -> list[str]:
        """Call, turn the keys round in the same arrays with all that belongs to them, and call.

        Without causal and its like the order of the keys is of no account.
        """
        call = self.judge.call
        if {*call.kwargs} - {"mask", "bias", "scale", "soft_cap"} or "mask" not in call.kwargs:
            return []
        how = f"{_AGAIN}, with the keys in reverse order in the same arrays"
        try:
            _asked(call, self.function, arrays)
            for name, axis in (("key", -2), ("value", -2), ("mask", -1), ("bias", -1)):
                if name in arrays:
                    arrays[name][...] = np.flip(arrays[name], axis).copy()
            return self._compared(how, _asked(call, self.function, arrays), False)
        except Exception as error:
            return [f"  {how}: {RAISES} {type(error).__name__}: {error}"]

    def _compared(self, how: str, result: Any, two: bool) -> list[str]:
        several = [result]
        if two and getattr(result, "shape", (0,))[0] == 2:
            several = [result[0], -result[1]]
        for one in several:
            found = self.judge(one)
            if all(found[name].lines for name in self.followed):
                return [f"  {how}:", *(f"  {line}" for line in found[self.followed[0]].lines)]
        return []


def _opposite(result: Any, names: tuple[str, ...]) -> Any:
    """Return a result with the output, and nothing else, in the other sign."""
    if names == ("result",):
        return -result if hasattr(result, "shape") else -np.asarray(result)
    named = by_name(result, names) or {}
    return {name: -x if name == "output" else x for name, x in named.items()}


# --- refusals -------------------------------------------------------------------------------------

# A crash is an accident, whatever it is that one gave; these are none of them.
_DELIBERATE = (TypeError, ValueError, RuntimeError)
_ACCIDENTS = (LookupError, ArithmeticError, RecursionError, NotImplementedError, NameError,
              AttributeError, ImportError, MemoryError)  # fmt: skip
# What Python itself says of a call or an operation that does not fit.
_OF_PYTHON = re.compile(
    r"keyword argument|positional argument|required (keyword-only )?argument"
    r"|unsupported operand|object is not (subscriptable|callable|iterable)|has no len\(\)"
    r"|not supported between|bad operand type|does not support item|argument of type"
    r"|object cannot be interpreted|must be real number, not|can only concatenate"
)


def is_refusal(error: Exception) -> bool:
    """Return whether an error is a deliberate answer, and not an accident on the way."""
    if isinstance(error, _ACCIDENTS) or (
        type(error) is TypeError and _OF_PYTHON.search(str(error))
    ):
        return False
    # A library may have errors of its own, such as ONNX Runtime's InvalidArgument.
    own = type(error).__module__ != "builtins" and type(error).__bases__ == (Exception,)
    return isinstance(error, _DELIBERATE) or own
