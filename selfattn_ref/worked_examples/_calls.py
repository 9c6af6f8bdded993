"""Calls of functions whose result a worked example knows."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, cast
from unittest import SkipTest

import numpy as np
from numpy.typing import NDArray

import selfattn_ref
from selfattn_ref.worked_examples._capabilities import CAPABILITIES, reduced
from selfattn_ref.worked_examples._claims import claimed, lacking
from selfattn_ref.worked_examples._comparison import (
    Agreement,
    Allowed,
    Answer,
    Comparison,
    Tolerance,
    WorkedExampleMismatch,
    as_tolerance,
    count,
    parts,
    what,
)
from selfattn_ref.worked_examples._judge import Judge
from selfattn_ref.worked_examples._tolerance import by_call
from selfattn_ref.worked_examples._trial import attempt, is_refusal

_REFERENCE = re.compile(r"(?P<name>[a-z_]+)(\[(?P<index>\w+|\d+:\d+)\])?|\[(?P<row>[a-z_]+)\]")

# What a call asks of modules that need calls themselves: they enter it here.
ABOVE: dict[str, Callable[..., Any]] = {}


@dataclass(frozen=True, repr=False, eq=False)
class Call:
    """A function, its arguments, and the result that it should give.

    Obtain calls with `cases`, or from the `calls` of an example. All arrays are read-only.

    Attributes
    ----------
    example : str
        The id of the example it belongs to.
    number : int
        Its place among the calls of that example, from 0.
    function : str
        The name of a public function of this package.
    arguments : mapping
        Everything to give it, by keyword: arrays of float64, masks, and options.
    kind : str
        ``"value"`` if one result is right, ``"convention"`` if good libraries differ,
        ``"must_raise"`` if the call has to fail.
    expected : numpy.ndarray, mapping of str to numpy.ndarray, or None
        What this package returns: an array, or a mapping of names to arrays, in order, if the
        function returns several, such as gradients; None if the call has to fail.
    conventions : mapping of str to what `expected` is
        The result under each convention; empty unless good libraries differ. For a call that has to
        fail, what is returned by libraries that give the call another meaning.
    raises : type or None
        The error that this package raises if the call has to fail, or None. Another library may
        refuse with another error.
    because : mapping of str to str
        What each convention says and who follows it; for a call that has to fail, the reason,
        under the name of the error.
    tolerance : Tolerance
        The tolerance of the example.
    entries : numpy.ndarray, mapping of str to numpy.ndarray, or None
        The indices of the entries that are known, of shape (n, number of axes of the result); for a
        function that returns several arrays, a mapping by name. `expected` is then the vector of
        these entries. None if every entry is known.
    shape : tuple of int, mapping of str to tuple of int, or None
        The shape of the whole result where only some entries are known; None otherwise.

    See Also
    --------
    cases : The calls of a function.
    """

    example: str
    number: int
    function: str
    # Any: arrays, integers and options. A union would make every use of one a type error.
    arguments: Mapping[str, Any]
    kind: str
    expected: Answer | None
    conventions: Mapping[str, Answer]
    raises: type[Exception] | None
    because: Mapping[str, str]
    tolerance: Tolerance = field(repr=False)
    # Which rows of an array are given, such as "[0:5]", where it is not all of them.
    rows: Mapping[str, str] = field(repr=False)
    entries: NDArray[np.intp] | Mapping[str, NDArray[np.intp]] | None = field(
        default=None, repr=False
    )
    shape: tuple[int, ...] | Mapping[str, tuple[int, ...]] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"{self.example}: {self.written}"

    def __str__(self) -> str:
        return self.id

    @property
    def id(self) -> str:
        """The id of the call: its example and its number there, from 1, such as ``"SA016-1"``.

        A generated case has one call, whose id is its name.
        """
        several = self.example.startswith("SA")
        return f"{self.example}-{self.number + 1}" if several else self.example

    @property
    def written(self) -> str:
        """The call as one would write it, arrays by their keyword."""
        parts = [
            name + self.rows.get(name, "") if isinstance(value, np.ndarray) else f"{name}={value}"
            for name, value in self.arguments.items()
        ]
        return f"{self.function}({', '.join(parts)})"

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments given by position; for attention: query, key and value."""
        return tuple(self.arguments[name] for name in self._positional)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments given by keyword."""
        return {name: x for name, x in self.arguments.items() if name not in self._positional}

    @property
    def _positional(self) -> list[str]:
        return [name for name in _given_by_position(self.function) if name in self.arguments]

    def taken_by(self, function: Callable[..., Any]) -> bool:
        """Return whether the signature of a function has every keyword that this call needs.

        A function that does not say what it takes, such as one with ``**keywords`` and many written
        in C, counts as taking all options. Capabilities that are missing from its signature are
        expressed in other arguments: heads are repeated, and a window becomes a mask.
        """
        claims = claimed(function)
        return not lacking(reduced(self, claims or ()).kwargs, claims)

    def without_capabilities(self) -> Call:
        """Return the call as it is made to a function without capabilities such as windows.

        Heads of keys and values are repeated, a window and packed sequences become part of the
        mask, and only the output is kept of a result with a log-sum-exp. Any other call is returned
        unchanged.

        Returns
        -------
        Call

        Examples
        --------
        >>> from selfattn_ref.worked_examples import load
        >>> call = load("SA104").calls[0]
        >>> call.args[1].shape, call.kwargs
        ((2, 2, 3, 1), {'grouped_heads': True})
        >>> call = call.without_capabilities()
        >>> call.args[1].shape, call.kwargs
        ((2, 4, 3, 1), {})
        """
        less: Call = reduced(self, ())
        return less

    def test(
        self, function: Callable[..., Any], *, within: Tolerance | float | None = None
    ) -> Agreement:
        """Call a function as this call says, and check what it does.

        The function is called a second time, and also with the same numbers in other memory
        layouts: strided, transposed, broadcast and read-only. Each time the result has to be right,
        and afterward the inputs must be unchanged.

        Parameters
        ----------
        function : callable
            Called as ``function(*call.args, **call.kwargs)``; for attention that is
            ``function(query, key, value, **keywords)``.
        within : Tolerance or float, optional
            As in `check`.

        Returns
        -------
        Agreement
            Its repr is one line that says what was checked.

        Raises
        ------
        unittest.SkipTest
            If the signature of the function lacks a keyword of this call: pytest and unittest
            show that as skipped.
        WorkedExampleMismatch
            If the result differs, in any layout or in the second call; if the function changes an
            input or returns the memory of one; or if the call should fail and does not. To fail is
            to raise a TypeError, a ValueError or a RuntimeError on purpose, while getting the valid
            calls of the same example right. A crash such as an IndexError does not count, and
            neither does an unknown keyword. If the call should not fail, errors pass through.

        See Also
        --------
        check : Compare a result.
        taken_by : Whether a function can be asked.

        Examples
        --------
        >>> from selfattn_ref import softmax
        >>> from selfattn_ref.worked_examples import load
        >>> load("SA005").calls[0].test(softmax)
        SA005 checked: softmax(x) agrees (5 numbers, ...)
        """
        claims = claimed(function)
        less: Call = reduced(self, claims or ())
        if less is not self:
            return less.test(function, within=within)
        missing = lacking(self.kwargs, claims)
        if missing:
            name = getattr(function, "__name__", "the function")
            raise SkipTest(f"{name} takes no {', '.join(missing)}")
        within = as_tolerance(within)
        if self.raises is None:
            trial = attempt(self, function, within)
            if not trial.followed:
                raise self.mismatch(trial.result, trial.found, within)
            if trial.faults:
                raise WorkedExampleMismatch("\n".join([repr(self), *trial.faults]))
            return self.agreement(trial.found)
        for good in self._good_calls():
            if good.taken_by(function):
                good.test(function, within=within)
        return self.refused(function)

    def _good_calls(self) -> tuple[Call, ...]:
        """Return the calls of the same example and function that have a result."""
        every = ABOVE["calls of an example"](self.example)
        return tuple(c for c in every if c.function == self.function and c.raises is None)

    def refused(self, function: Callable[..., Any]) -> Agreement:
        """Return that a function refuses this call, which it must, or raise a mismatch."""
        assert self.raises is not None
        try:
            result = function(*self.args, **self.kwargs)
        except Exception as error:
            if is_refusal(error):
                return Agreement(self.example, (self.written,), type(error).__name__, None)
            got = f"it raised {type(error).__name__}: {error}, which is no refusal"
        else:
            found = self.judge()(result) if self.conventions else {}
            if any(not comparison.lines for comparison in found.values()):
                return self.agreement(found)
            got = f"it returned {what(result)}"
        why = self.because[self.raises.__name__]
        raise WorkedExampleMismatch(
            f"{self!r}\n  must raise an error, such as {self.raises.__name__}: {why}\n  {got}"
        )

    def check(self, result: Any, *, within: Tolerance | float | None = None) -> Agreement:
        r"""Compare a result with the one that the example knows.

        Parameters
        ----------
        result : array_like, or several
            An array, a PyTorch tensor, or anything that NumPy reads as an array. If `expected` has
            several arrays by name: a tuple or a list of them in the same order, a mapping, or an
            object with these attributes.
        within : Tolerance or float, optional
            How far a number may be from the expected one; a single number is an absolute tolerance.
            By default it follows from the dtype of the result and from the inputs of the call. For
            attention it is the bound :math:`(e^E - 1)\,V` of the theorem "Rounding in attention"
            (in the chapter on long sequences), which a correct function meets in any order of
            summation. Here :math:`V` is the largest absolute value that the query may attend to,
            and :math:`E` is :math:`\varepsilon`, the spacing of the numbers of the dtype after 1,
            times a number that grows with the keys, with the terms of a dot product, and with the
            scores. It assumes one merge less than there are keys. Whatever the inputs lose when
            they are rounded to the dtype is added. A float16 or bfloat16 result has to come from
            arithmetic in float32; its weights and its entries may each be rounded once to the
            dtype. Softmax and log-sum-exp have the same :math:`E`, as do the gradients of
            attention, for which it is carried through the backward pass. For every other function
            the bound is :math:`8\,\varepsilon \max(1, \max |\text{expected}|)`. The tolerance of
            the example is added in every case.

        Returns
        -------
        Agreement
            Its repr is one line that says what was checked and, where good libraries differ, which
            convention the result follows.

        Raises
        ------
        TypeError
            If the call has to fail (use `test` instead), or if `within` is neither a Tolerance nor
            a number.
        WorkedExampleMismatch
            If the result differs. The message shows where, and names the slips of attention that
            would explain it. One call cannot say more; `report` makes all calls.

        See Also
        --------
        test : Call a function and compare what it does.

        Examples
        --------
        >>> from selfattn_ref import scaled_dot_product_attention
        >>> from selfattn_ref.worked_examples import load
        >>> call = load("SA022").calls[0]
        >>> call
        SA022: scaled_dot_product_attention(query, key, value, mask)
        >>> call.check(scaled_dot_product_attention(**call.arguments))
        SA022 checked: scaled_dot_product_attention(query, key, value, mask) follows the
        convention zeros (6 numbers, ...)
        >>> call.because["zeros"]
        "Nobody to attend to, so nothing to mix (this library, ..."
        """
        if self.expected is None:
            raise TypeError(f"{self!r} has to fail and has no result: use its method test")
        within = as_tolerance(within)
        found = self.judge(within)(result)
        if all(comparison.lines for comparison in found.values()):
            raise self.mismatch(result, found, within)
        return self.agreement(found)

    def agreement(self, found: Mapping[str, Comparison]) -> Agreement:
        """Return what is said of a result that agrees, with the convention that is nearest."""
        agreeing = [name for name, comparison in found.items() if not comparison.lines]
        name = min(agreeing, key=lambda name: found[name].difference)
        missing = found[name].missing
        entries = count(*(x for part, x in self.known.items() if part not in missing))
        return Agreement(
            self.example, (self.written,), entries, found[name].difference, name or None
        )

    def differs_from(self, function: Callable[..., Any]) -> bool:
        """Return whether a function returns something else; not if either of the two fails."""
        if self.expected is None:
            return False
        try:
            result = function(*self.args, **self.kwargs)
        except Exception:
            return False
        return not self.judge().accepts(result)

    def allowed(
        self, dtype: str = "float64", *, within: Tolerance | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return how far off each entry may be in a dtype, as `check` allows it.

        Parameters
        ----------
        dtype : str, optional
            The dtype in which it is computed.
        within : Tolerance, optional
            As in `check`.

        Returns
        -------
        dict of str to numpy.ndarray
            For each array by its name, ``"result"`` if there is but one, an array that
            broadcasts to what is expected.
        """
        return {name: allow(dtype) for name, allow in self._allowances(within).items()}

    def rounding(self, dtype: str) -> dict[str, NDArray[Any]]:
        """Return how far rounding in a dtype may take each entry; see `allowed`.

        The tolerance of the example comes on top.
        """
        allowances = self._allowances(None, Tolerance(0.0, 0.0))
        return {name: allow(dtype) for name, allow in allowances.items()}

    def _allowances(
        self, within: Tolerance | None, tolerance: Tolerance | None = None
    ) -> dict[str, Allowed]:
        tolerance = self.tolerance if tolerance is None else tolerance
        return {
            name: self._allowance(name, part, tolerance, within)
            for name, part in self.known.items()
        }

    def _allowance(
        self, name: str, part: NDArray[Any], tolerance: Tolerance, within: Tolerance | None
    ) -> Allowed:
        """Return what is allowed for one array of the result, entry by entry as it is expected."""
        entries, shape = self.known_entries(name)
        whole, arguments = part, self.arguments
        if entries is not None:
            whole = np.zeros(cast("tuple[int, ...]", shape))
            whole[tuple(entries.T)] = part
        own = whole.shape
        if name == "log_sum_exp":
            # It is rounded as a mean of values of its own size is, one for each query.
            size = max(1.0, float(np.abs(part).max(initial=0.0, where=np.isfinite(part))))
            values = np.full((*arguments["value"].shape[:-1], 1), size)
            arguments, whole = {**arguments, "value": values}, whole[..., None]
        # What has to fail may have arrays that do not fit together.
        function = "" if self.raises else self.function
        allow = by_call(function, arguments, tolerance, whole, within)

        def allowed(dtype: str) -> NDArray[Any]:
            limits = np.broadcast_to(allow(dtype), whole.shape).reshape(own)
            return limits if entries is None else limits[tuple(entries.T)]

        return allowed

    def known_entries(self, name: str) -> tuple[NDArray[np.intp] | None, tuple[int, ...] | None]:
        """Return which entries of an array of the result are known, and its shape, if not all."""
        entries = self.entries.get(name) if isinstance(self.entries, Mapping) else self.entries
        shape = self.shape.get(name) if isinstance(self.shape, Mapping) else self.shape
        return (None, None) if entries is None else (entries, shape)

    @property
    def known(self) -> dict[str, NDArray[Any]]:
        """What is expected, each array by its name; one alone is the result."""
        return parts(next(iter(self.conventions.values()), self.expected))

    def judge(self, within: Tolerance | None = None) -> Judge:
        """Return what compares results with every answer; what is allowed is computed once."""
        return Judge(self, {name: cache(x) for name, x in self._allowances(within).items()})

    def mismatch(
        self, result: Any, found: Mapping[str, Comparison], within: Tolerance | None = None
    ) -> WorkedExampleMismatch:
        """Return the error that says how a result differs and what slips are consistent with it."""
        judge = self.judge(within)
        candidates = ABOVE["candidates"]()
        candidates.see(self, judge, result, right=False)
        slips = candidates.names
        lines = [*judge.differences(found, result)]
        lines += [f"  consistent with the slip {slip.id}: {slip.effect}" for slip in slips]
        return WorkedExampleMismatch("\n".join(lines), tuple(slip.id for slip in slips))


@cache
def _given_by_position(function: str) -> tuple[str, ...]:
    """Return the parameters of a public function that need no keyword."""
    parameters = inspect.signature(getattr(selfattn_ref, function)).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)


_ERRORS = {"TypeError": TypeError, "ValueError": ValueError}


def read_call(
    example: str,
    number: int,
    document: Mapping[str, Any],
    values: Mapping[str, Any],
    tolerance: Tolerance,
) -> Call:
    """Return the call that a file describes, its references replaced by the values they name."""
    references = document["arguments"].items()
    given = {name: _given(name, find(text, values)) for name, text in references}
    expected = _answer(document["result"], values) if "result" in document else None
    because = document.get("because", {})
    return Call(
        example=example,
        number=number,
        function=document["function"],
        arguments=MappingProxyType(given | document.get("options", {})),
        kind=document["kind"],
        expected=expected,
        conventions=MappingProxyType(_conventions(document, expected, values)),
        raises=_ERRORS.get(document.get("raises", "")),
        because=MappingProxyType(
            because if isinstance(because, dict) else {document["raises"]: because}
        ),
        tolerance=tolerance,
        rows=MappingProxyType(
            {n: text[text.index("[") :] for n, text in document["arguments"].items() if ":" in text}
        ),
    )


def _conventions(
    document: Mapping[str, Any], expected: Any, values: Mapping[str, Any]
) -> dict[str, Answer]:
    """Return a whole result for each convention; what tells only a part is filled up."""
    marked = find(document["where"], values) if "where" in document else np.True_
    found: dict[str, Answer] = {}
    for name, text in document.get("conventions", {}).items():
        if isinstance(text, dict):
            nan = {n: read_only(np.full(expected[n].shape, np.nan)) for n in text}
            given = {n: nan[n] if t is None else find(t, values) for n, t in text.items()}
            found[name] = MappingProxyType({**expected, **given})
            continue
        answer: NDArray[Any] = np.asarray(np.nan) if text is None else find(text, values)
        if expected is not None and answer.shape != expected.shape:
            answer = read_only(np.where(marked, answer, expected))
        found[name] = answer
    return found


def _answer(references: str | Mapping[str, str], values: Mapping[str, Any]) -> Answer:
    """Return what one reference names, or each of several by the name of its result."""
    if isinstance(references, str):
        answer: NDArray[Any] = find(references, values)
        return answer
    return MappingProxyType({name: find(text, values) for name, text in references.items()})


def find(reference: str, values: Mapping[str, Any]) -> Any:
    """Return what a reference names: a, a[b], a[2], a[2:4] or [a]; see schema.json."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise ValueError(f"{reference!r} is not a reference")
    if match["row"]:
        return read_only(values[match["row"]][None])
    value, index = values[match["name"]], match["index"]
    if index is None:
        return value
    if ":" in index:
        first, end = map(int, index.split(":"))
        if not first < end <= len(value):
            raise ValueError(f"{reference!r} names rows that are not there")
        return read_only(value[first:end])
    return read_only(value[int(index) if index.isdigit() else values[index].astype(np.intp)])


def _given(name: str, value: Any) -> Any:
    """Return a single number as one, not as an array without axes, and lengths as a tuple."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value.item()
    return tuple(value.tolist()) if name in CAPABILITIES else value


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that cannot be changed."""
    # The memory belongs to a bytes object, so not even `setflags(write=True)` can change it.
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)
