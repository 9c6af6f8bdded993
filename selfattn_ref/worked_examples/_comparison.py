"""Compare computed values with expected ones, and say where they differ."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from html import escape
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

_ENTRIES_SHOWN = 5

# What a function returns: an array, or several by their names, in order.
Answer: TypeAlias = NDArray[Any] | Mapping[str, NDArray[Any]]

# From the name of the dtype of a result, how far each entry may be off.
Allowed: TypeAlias = Callable[[str], NDArray[Any]]


class WorkedExampleMismatch(AssertionError):
    """Computed values disagree with the expected values of a worked example.

    Attributes
    ----------
    slips : tuple of str
        The ids of the slips that would give this output; see `slips`.
    """

    def __init__(self, message: str, slips: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.slips = slips


class Tolerance(NamedTuple):
    """How far a computed number may be from the expected one.

    A number agrees if ``|computed - expected| <= absolute + relative * |expected|``.
    """

    absolute: float
    relative: float

    def allowed(self, expected: NDArray[Any]) -> NDArray[Any]:
        """Return how far each number may be off."""
        return np.asarray(self.absolute + self.relative * np.abs(expected))


def as_tolerance(within: Tolerance | float | None) -> Tolerance | None:
    """Return the tolerance that is meant; one number is an absolute one."""
    if within is None or isinstance(within, Tolerance):
        given = within
    elif isinstance(within, int | float | np.floating) and not isinstance(within, bool):
        given = Tolerance(float(within), 0.0)
    else:
        raise TypeError(
            "within is how far each entry may be off, a number or Tolerance(absolute, relative); "
            f"got {type(within).__name__}"
        )
    if given is not None and not all(x >= 0 for x in given):
        raise ValueError(f"within must not be negative or NaN, got {within!r}")
    return given


@dataclass(frozen=True, repr=False)
class Agreement:
    """What a successful check returns; its repr is one line.

    Attributes
    ----------
    id : str
        The example.
    names : tuple of str
        What was checked: names of expected values, or a call.
    entries : str
        How many entries were compared, such as ``"11 numbers"``; of a call that has to fail, the
        name of the error.
    largest_difference : float or None
        The largest absolute difference among them; None if the call has to fail.
    convention : str or None
        The convention that was followed, where good libraries differ.
    """

    id: str
    names: tuple[str, ...]
    entries: str
    largest_difference: float | None
    convention: str | None = None

    def __repr__(self) -> str:
        does = "agrees" if len(self.names) == 1 else "agree"
        if self.convention is not None:
            does = f"follows the convention {self.convention}"
        return f"{self.id} checked: {', '.join(self.names)} {does} ({self._found})"

    @property
    def _found(self) -> str:
        if self.largest_difference is None:
            return self.entries
        truths = self.entries.endswith(("boolean", "booleans"))
        return f"{self.entries}, {'exactly' if truths else _within(self.largest_difference)}"

    def _repr_html_(self) -> str:
        facts = escape(json.dumps(asdict(self) | {"found": self._found}))  # for a program
        return f'<p class="checked" data-facts="{facts}">{escape(repr(self))}</p>'


class Comparison(NamedTuple):
    """The lines that report a disagreement (none if there is none), and the difference.

    `missing` names the results that may be left out, and were.
    """

    lines: list[str]
    difference: float
    missing: tuple[str, ...] = ()


def as_numbers(value: Any) -> tuple[NDArray[Any], str]:
    """Return the values as an array, and the name of the dtype in which they were computed.

    A tensor that NumPy cannot read by itself, such as one of bfloat16 or one that records
    gradients, is asked for its numbers by the methods of PyTorch or MLX; neither is imported.
    """
    dtype = str(getattr(value, "dtype", "")).rpartition(".")[2]
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if dtype == "bfloat16" else value
    elif dtype == "bfloat16" and type(value).__module__ == "mlx.core":
        value = value.astype(sys.modules["mlx.core"].float32)
    array = np.asarray(value)
    return array, "bfloat16" if dtype == "bfloat16" else array.dtype.name


def compare(
    name: str,
    value: Any,
    expected: NDArray[Any],
    allowed: Allowed,
    entries: NDArray[np.intp] | None = None,
    shape: tuple[int, ...] | None = None,
) -> Comparison:
    """Compare entry by entry. NaN agrees with NaN alone; a mask must be boolean, and equal.

    With `entries`, one row of indices each, only these are known: `expected` is the vector of
    them, `shape` that of the whole, and `allowed` gives one number for each of them.
    """
    if value is None:
        return Comparison([f"  {name}: got None: does the function return what it computes?"], 0.0)
    try:
        got, dtype = as_numbers(value)
    except ValueError:  # rows of different lengths
        return Comparison([f"  {name}: {_no_array(value)}"], 0.0)
    boolean = expected.dtype == np.bool_
    # True and 1.0 are not the same answer: a float mask means something else (it is added).
    real = got.dtype.kind in "biuf" or dtype == "bfloat16"
    if boolean != (got.dtype == np.bool_) or not real:
        kind = "boolean" if boolean else "real numbers"
        return Comparison([f"  {name}: must be {kind}, got dtype {got.dtype}"], 0.0)
    shape = expected.shape if shape is None else shape
    if got.shape != shape:
        several = f"; {_no_array(value)}" if isinstance(value, tuple) else ""
        line = f"  {name}: got shape {got.shape}, expected shape {shape}{several}"
        return Comparison([line], 0.0)
    if entries is not None:
        got = got[tuple(entries.T)]
    if boolean:
        return Comparison(_report(name, got, expected, got == expected, entries=entries), 0.0)
    # Relative to an infinity every number would be near: it agrees with itself alone.
    limits = np.where(np.isfinite(expected), allowed(dtype), 0.0)
    got = got.astype(np.result_type(got.dtype, np.float64))
    difference = off_by(got, expected)
    # `<=` is False for NaN, so NaN disagrees; `difference > limits` would let it pass.
    lines = _report(name, got, expected, difference <= limits, difference, limits, entries)
    return Comparison(lines, 0.0 if lines else float(np.max(difference, initial=0.0)))


def off_by(got: NDArray[Any], expected: NDArray[Any]) -> NDArray[Any]:
    """Return the absolute differences: 0 where both are NaN or the same infinity."""
    with np.errstate(invalid="ignore"):
        difference = np.abs(got - expected)
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    return np.where(same, 0.0, difference)


def count(*arrays: NDArray[Any]) -> str:
    """Return how many entries there are, in words."""
    total = sum(array.size for array in arrays)
    boolean = [array.dtype == np.bool_ for array in arrays]
    noun = "boolean" if all(boolean) else "value" if any(boolean) else "number"
    return f"{total} {noun}{'' if total == 1 else 's'}"


def _report(
    name: str,
    got: NDArray[Any],
    expected: NDArray[Any],
    agrees: NDArray[np.bool_],
    difference: NDArray[Any] | None = None,
    limits: NDArray[Any] | None = None,
    entries: NDArray[np.intp] | None = None,
) -> list[str]:
    # `argwhere` of a scalar has no columns, but one row if it is true: the index () is right.
    differing = [tuple(int(i) for i in index) for index in np.argwhere(~np.asarray(agrees))]
    if not differing:
        return []
    of = "entry differs" if expected.size == 1 else "entries differ"
    known = "" if entries is None else "known "
    lines = [f"  {name}: {len(differing)} of {expected.size} {known}{of}"]
    for index in differing[:_ENTRIES_SHOWN]:
        place = list(index) if entries is None else entries[index[0]].tolist()
        entry = f"{name}{place or ''}"
        line = f"    {entry}: got {got[index].item()!r}, expected {expected[index].item()!r}"
        if difference is not None and limits is not None:
            off, limit = float(difference[index]), float(limits[index])
            line += f", off by {off:.3g}, allowed {limit:.3g}"
        lines.append(line)
    if len(differing) > _ENTRIES_SHOWN:
        lines.append(f"    and {len(differing) - _ENTRIES_SHOWN} more")
    return lines


def _within(difference: float) -> str:
    """Return the difference rounded up to a power of ten, 1e-12 at least.

    The line is printed in the book, and the last digits of a number, with which it would say more,
    are others on another processor.
    """
    difference = max(difference, 1e-12)
    exponent = Decimal(difference).adjusted()
    if difference > float(f"1e{exponent}"):
        exponent += 1
    return f"within 1e{exponent}"


def parts(answer: Answer | None) -> dict[str, NDArray[Any]]:
    """Return every array of an answer by its name; one alone is the result."""
    return dict(answer) if isinstance(answer, Mapping) else {"result": np.asarray(answer)}


def by_name(result: Any, names: tuple[str, ...]) -> dict[str, Any] | None:
    """Return what a function gave, by the names of what it should give; None if it did not.

    The gradient of a bias may be left out: not every library returns one.
    """
    if names == ("result",):
        return {"result": result}
    if isinstance(result, Mapping):
        found = {name: result[name] for name in names if name in result}
    else:
        found = {name: getattr(result, name) for name in names if hasattr(result, name)}
        if not found and isinstance(result, tuple | list):
            count = len(result) if len(result) in (len(names), len(needed(names))) else 0
            found = dict(zip(names, result[:count], strict=False))
    return found if {*needed(names)} <= {*found} else None


def needed(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return which of several results a function has to return."""
    return tuple(name for name in names if name != "d_bias")


def _no_array(value: Any) -> str:
    """Say what came in place of one array."""
    if isinstance(value, tuple):
        return f"got a tuple of {len(value)}, ({', '.join(map(what, value))}), in place of an array"
    return "the values do not form an array"


def what(result: Any) -> str:
    """Return in words what a function gave."""
    if isinstance(result, tuple | list | Mapping):
        return f"a {type(result).__name__} of {len(result)}"
    shape = getattr(result, "shape", None)
    return type(result).__name__ if shape is None else f"an array of shape {tuple(shape)}"
