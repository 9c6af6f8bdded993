"""What a worked example is, and how it is compared with computed values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from selfattn_ref.worked_examples._calls import Call

_ENTRIES_SHOWN = 5


class WorkedExampleMismatch(AssertionError):
    """Computed values disagree with the expected values of a worked example."""


class Tolerance(NamedTuple):
    """How far a computed number may be from the expected one.

    A number agrees if ``|computed - expected| <= absolute + relative * |expected|``.
    """

    absolute: float
    relative: float


class Provenance(NamedTuple):
    """Where an example comes from: a text, the source document, and what is corrected in it."""

    text: str
    source: str | None
    corrects: str | None


class Derivation(NamedTuple):
    """How the expected values were derived, and the function that derives them."""

    method: str
    function: str


@dataclass(frozen=True, repr=False)
class Agreement:
    """The result of a successful `WorkedExample.check`; its repr is one line.

    Attributes
    ----------
    id : str
        The example.
    names : tuple of str
        The values that were checked.
    entries : str
        How many entries were compared, such as ``"11 numbers"``.
    largest_difference : float
        The largest absolute difference among them.
    """

    id: str
    names: tuple[str, ...]
    entries: str
    largest_difference: float

    def __repr__(self) -> str:
        verb = "agrees" if len(self.names) == 1 else "agree"
        return (
            f"{self.id} checked: {', '.join(self.names)} {verb} "
            f"({self.entries}, {_within(self.largest_difference)})"
        )

    def _repr_html_(self) -> str:
        # The names are Python identifiers and the rest is ours: nothing to escape.
        return f'<p class="checked">{self!r}</p>'


@dataclass(frozen=True, repr=False, eq=False)
class WorkedExample:
    """Inputs, and every value that follows from them.

    Obtain one with `load`. All arrays are read-only.

    Attributes
    ----------
    id : str
        The permanent id, such as ``"SA005"``.
    title : str
        A short title.
    why : str
        What the example is for.
    page : str
        The page of the book that teaches it, such as ``"concepts/similarity"``.
    topics : tuple of str
        Key words of the catalog.
    released : str
        The date from which the example does not change, as ``"YYYY-MM-DD"``.
    supersedes : str or None
        The id of the example that this one corrects.
    provenance : Provenance
        Where the inputs come from, and what is corrected in that source.
    inputs : mapping of str to numpy.ndarray, int or tuple of str
        What is given. Words are a tuple, counts and widths integers, positions and indices
        arrays of integers; all other numbers are arrays of float64.
    expected : mapping of str to numpy.ndarray
        What follows: float64 or, for masks and other answers of yes or no, bool.
    calls : tuple of Call
        Calls of functions whose result is among the expected values.
    descriptions : mapping of str to str
        One sentence for each input and each expected value.
    derivation : Derivation
        How the expected values were derived.
    tolerance : Tolerance
        How far a computed value may be from the expected one.

    See Also
    --------
    load : The example with a given id.

    Examples
    --------
    >>> from selfattn_ref.worked_examples import load
    >>> example = load("SA008")
    >>> example
    SA008: Query, key and value of "Bank"
    >>> example.expected["query"]
    array([0.29, 0.74, 1.19])
    """

    id: str
    title: str
    why: str
    page: str
    topics: tuple[str, ...]
    released: str
    supersedes: str | None
    provenance: Provenance
    # Any: words, an integer or an array. A union would make every use of an input a type error.
    inputs: Mapping[str, Any]
    expected: Mapping[str, NDArray[Any]]
    calls: tuple[Call, ...]
    descriptions: Mapping[str, str] = field(repr=False)
    derivation: Derivation
    tolerance: Tolerance

    def __repr__(self) -> str:
        return f"{self.id}: {self.title}"

    def check(self, tolerance: Tolerance | None = None, /, **computed: ArrayLike) -> Agreement:
        r"""Compare computed values with the expected values of the same names.

        Parameters
        ----------
        tolerance : Tolerance, optional
            How far a number may be from the expected one. By default it follows from the dtype
            of what is computed: the `tolerance` of the example for float64, integers and
            anything wider; for a narrower type with rounding unit :math:`\varepsilon`, such as
            float32 or bfloat16, :math:`8\,\varepsilon \max(1, \max |\text{expected}|)` in
            addition, for inputs and arithmetic that round to it.
        **computed : array_like
            Any of the names in `expected`, each with the shape of the expected value. NaN agrees
            with nothing. A mask must be boolean, and equal.

        Returns
        -------
        Agreement
            Its repr is one line that says what was checked.

        Raises
        ------
        TypeError
            If nothing is given, or a name that the example does not have; the message names those
            it has.
        WorkedExampleMismatch
            If any value disagrees. The message reports every name that does, with its first
            differing entries.

        Examples
        --------
        >>> from selfattn_ref.worked_examples import Tolerance, load
        >>> example = load("SA008")
        >>> bank = example.inputs["embedding"]
        >>> agreement = example.check(query=bank @ example.inputs["w_query"])
        >>> agreement.entries
        '3 numbers'
        >>> load("SA005").check(total=6.5351)  # as one of the sources prints it
        Traceback (most recent call last):
        ...
        selfattn_ref.worked_examples._example.WorkedExampleMismatch: SA005: Softmax by hand
          total: 1 of 1 entry differs
            total: got 6.5351, expected 6.534938556205488, off by 0.000161, allowed 7.53e-13
        >>> load("SA005").check(Tolerance(absolute=1e-3, relative=0), total=6.5351)
        SA005 checked: total agrees (1 number, within 1e-3)
        """
        known = ", ".join(self.expected)
        if not computed:
            raise TypeError(f"{self.id}.check needs at least one of: {known}")
        unknown = [name for name in computed if name not in self.expected]
        if unknown:
            raise TypeError(
                f"{self.id} has no expected value {', '.join(unknown)}; it has: {known}"
            )

        report: list[str] = []
        largest = 0.0
        for name, value in computed.items():
            within = (self.tolerance, True) if tolerance is None else (tolerance, False)
            lines, difference = _compare(name, value, self.expected[name], *within)
            report += lines
            largest = max(largest, difference)
        if report:
            raise WorkedExampleMismatch("\n".join([f"{self.id}: {self.title}", *report]))
        return Agreement(self.id, tuple(computed), self._count(computed), largest)

    def _count(self, names: Mapping[str, object]) -> str:
        arrays = [self.expected[name] for name in names]
        count = sum(array.size for array in arrays)
        boolean = [array.dtype == np.bool_ for array in arrays]
        noun = "boolean" if all(boolean) else "value" if any(boolean) else "number"
        return f"{count} {noun}{'' if count == 1 else 's'}"


def _compare(
    name: str, value: ArrayLike, expected: NDArray[Any], tolerance: Tolerance, by_dtype: bool
) -> tuple[list[str], float]:
    """Return the lines that report a disagreement (none if there is none), and the difference."""
    try:
        got = np.asarray(value)
    except ValueError:  # rows of different lengths
        return [f"  {name}: the values do not form an array"], 0.0
    boolean = expected.dtype == np.bool_
    # True and 1.0 are not the same answer: a float mask means something else (it is added).
    real = got.dtype.kind in "biuf" or got.dtype.name == "bfloat16"
    if boolean != (got.dtype == np.bool_) or not real:
        kind = "boolean" if boolean else "real numbers"
        return [f"  {name}: must be {kind}, got dtype {got.dtype}"], 0.0
    if got.shape != expected.shape:
        return [f"  {name}: got shape {got.shape}, expected shape {expected.shape}"], 0.0
    if boolean:
        return _report(name, got, expected, got == expected), 0.0
    allowed = tolerance.absolute + tolerance.relative * np.abs(expected)
    if by_dtype:
        allowed += 8 * _narrower(got.dtype) * max(1.0, float(np.abs(expected).max()))
    got = got.astype(np.result_type(got.dtype, np.float64))
    difference = np.abs(got - expected)
    # `<=` is False for NaN, so NaN disagrees; `difference > allowed` would let it pass.
    lines = _report(name, got, expected, difference <= allowed, difference, allowed)
    return lines, 0.0 if lines else float(np.max(difference))


def _narrower(dtype: np.dtype[Any]) -> float:
    """Return the rounding unit of a floating type narrower than float64, or 0."""
    return {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}.get(dtype.name, 0.0)


def _report(
    name: str,
    got: NDArray[Any],
    expected: NDArray[Any],
    agrees: NDArray[np.bool_],
    difference: NDArray[Any] | None = None,
    allowed: NDArray[Any] | None = None,
) -> list[str]:
    # `argwhere` of a scalar has no columns, but one row if it is true: the index () is right.
    differing = [tuple(int(i) for i in index) for index in np.argwhere(~np.asarray(agrees))]
    if not differing:
        return []
    of = "entry differs" if expected.size == 1 else "entries differ"
    lines = [f"  {name}: {len(differing)} of {expected.size} {of}"]
    for index in differing[:_ENTRIES_SHOWN]:
        entry = f"{name}{list(index) if index else ''}"
        line = f"    {entry}: got {got[index].item()!r}, expected {expected[index].item()!r}"
        if difference is not None and allowed is not None:
            off, limit = float(difference[index]), float(allowed[index])
            line += f", off by {off:.3g}, allowed {limit:.3g}"
        lines.append(line)
    if len(differing) > _ENTRIES_SHOWN:
        lines.append(f"    and {len(differing) - _ENTRIES_SHOWN} more")
    return lines


def _within(difference: float) -> str:
    """Return the difference rounded up to a power of ten.

    The line is printed in the book: the last bits differ between machines, their order of magnitude
    hardly does.
    """
    if difference == 0.0:
        return "exactly"
    exponent = Decimal(difference).adjusted()
    if difference > float(f"1e{exponent}"):
        exponent += 1
    return f"within 1e{exponent}"
