"""What a worked example is, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import ArrayLike, NDArray

import selfattn_ref
from selfattn_ref.worked_examples._calls import Call
from selfattn_ref.worked_examples._comparison import (
    Agreement,
    Tolerance,
    WorkedExampleMismatch,
    as_tolerance,
    compare,
    count,
)
from selfattn_ref.worked_examples._tolerance import by_dtype


class Provenance(NamedTuple):
    """Where an example comes from: a text, title and kind of a source, what is corrected in it."""

    text: str
    source: str | None
    corrects: str | None


class Derivation(NamedTuple):
    """How the expected values were derived, and the function that derives them."""

    method: str
    function: str


class Withdrawn(NamedTuple):
    """Why an example is no longer used: since when, the reason, and the id that stands for it."""

    on: str
    because: str
    see: str | None

    def __str__(self) -> str:
        see = f" See {self.see}." if self.see else ""
        return f"withdrawn on {self.on}: {self.because}{see}"


class Axis(NamedTuple):
    """What an axis of an array runs over, such as ``"query"``, and what its entries are called.

    The `labels` are words or numbers, one for each entry, or None if the entries have no names.
    """

    name: str
    labels: tuple[str | float, ...] | None


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
        Keywords for the catalog.
    released : str
        The date from which its numbers do not change, as ``"YYYY-MM-DD"``.
    since : str
        The first version of this package that has the example, such as ``"1.0.0"``.
    supersedes : str or None
        The id of the example that this one corrects.
    withdrawn : Withdrawn or None
        Since when and why the example is no longer used, and what to use instead. Its numbers
        stay, so that a citation can be verified, but `cases` leaves it out.
    provenance : Provenance
        Where the inputs come from, and what is corrected in that source.
    inputs : mapping of str to numpy.ndarray, int or tuple of str
        What is given. Words are a tuple, counts and widths integers, positions and indices
        arrays of integers; all other numbers are arrays of float64.
    expected : mapping of str to numpy.ndarray
        What follows: float64 or, for masks and other yes-or-no answers, bool.
    calls : tuple of Call
        Calls of functions whose results are among the expected values.
    descriptions : mapping of str to str
        One sentence for each input and each expected value.
    axes : mapping of str to tuple of Axis
        The axes of each input and each expected value, first to last, each with its `name` and
        the `labels` of its entries; a single number has none.
    derivation : Derivation
        How the expected values were derived.
    tolerance : Tolerance
        How far a computed value may be from the expected one.
    digest : str
        The SHA-256 of inputs, expected values, calls and tolerance, which never changes.
    swhid : str
        The id of its file at Software Heritage, ``swh:1:cnt:…``. It covers every byte, so it
        changes when the prose is improved.

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
    >>> load("SA007").axes["weights_river"][0]
    Axis(name='query', labels=('River', 'Bank', 'Flows'))
    """

    id: str
    title: str
    why: str
    page: str
    topics: tuple[str, ...]
    released: str
    since: str
    supersedes: str | None
    withdrawn: Withdrawn | None
    provenance: Provenance
    # Any: words, an integer or an array. A union would make every use of an input a type error.
    inputs: Mapping[str, Any]
    expected: Mapping[str, NDArray[Any]]
    calls: tuple[Call, ...]
    descriptions: Mapping[str, str] = field(repr=False)
    axes: Mapping[str, tuple[Axis, ...]] = field(repr=False)
    derivation: Derivation
    tolerance: Tolerance
    digest: str
    swhid: str

    def __repr__(self) -> str:
        return f"{self.id}: {self.title}{' (withdrawn)' if self.withdrawn else ''}"

    @property
    def citation(self) -> str:
        """A permanent name for the example and its numbers: id, version and digest."""
        return f"{self.id}@{selfattn_ref.__version__}#sha256:{self.digest}"

    def rounding(self, dtype: str) -> dict[str, NDArray[Any]]:
        """Return how far rounding to a dtype may move each expected value, as `check` allows.

        The tolerance of the example is added to this.
        """
        exact = Tolerance(0.0, 0.0)
        return {name: by_dtype(exact, value)(dtype) for name, value in self.expected.items()}

    def check(self, *, within: Tolerance | float | None = None, **computed: ArrayLike) -> Agreement:
        r"""Compare computed values with the expected values of the same names.

        Parameters
        ----------
        within : Tolerance or float, optional
            How far a number may be from the expected one; a single number is an absolute tolerance.
            By default it follows from the dtype of what is computed. For float64, integers and
            anything wider it is the `tolerance` of the example. A narrower type such as float32 or
            bfloat16, with spacing :math:`\varepsilon` of the numbers after 1, is allowed
            :math:`8\,\varepsilon \max(1, \max |\text{expected}|)` more, for inputs and arithmetic
            that are rounded to it. This takes no account of the inputs; if the value is the result
            of a call, `Call.check` uses a bound that does.
        **computed : array_like
            Any of the names in `expected`, each with the shape of the expected value. NaN agrees
            with NaN only. A mask must be boolean, and equal.

        Returns
        -------
        Agreement
            Its repr is one line that says what was checked.

        Raises
        ------
        TypeError
            If nothing is given, or a name that the example does not have (the message lists the
            names it has), or if `within` is neither a Tolerance nor a number.
        WorkedExampleMismatch
            If any value disagrees. The message reports every name that does, with its first
            differing entries.

        See Also
        --------
        Call.check : Compare the result of a function, within a bound that follows from its inputs.

        Examples
        --------
        >>> from selfattn_ref.worked_examples import load
        >>> example = load("SA008")
        >>> bank = example.inputs["embedding"]
        >>> agreement = example.check(query=bank @ example.inputs["w_query"])
        >>> agreement.entries
        '3 numbers'
        >>> load("SA005").check(total=6.5351)  # as one of the sources prints it
        Traceback (most recent call last):
        ...
        selfattn_ref.worked_examples.WorkedExampleMismatch: SA005: Softmax by hand
          total: 1 of 1 entry differs
            total: got 6.5351, expected 6.534938556205488, off by 0.000161, allowed 7.53e-13
        >>> load("SA005").check(total=6.5351, within=1e-3)
        SA005 checked: total agrees (1 number, within 1e-3)
        """
        within = as_tolerance(within)
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
            expected = self.expected[name]
            allowed = by_dtype(self.tolerance, expected, within)
            comparison = compare(name, value, expected, allowed)
            report += comparison.lines
            largest = max(largest, comparison.difference)
        if report:
            raise WorkedExampleMismatch("\n".join([f"{self.id}: {self.title}", *report]))
        entries = count(*(self.expected[name] for name in computed))
        return Agreement(self.id, tuple(computed), entries, largest)
