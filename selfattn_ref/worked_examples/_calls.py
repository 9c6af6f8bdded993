"""Calls of functions whose result a worked example knows."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

import selfattn_ref
from selfattn_ref.worked_examples._comparison import (
    Agreement,
    Allowed,
    Comparison,
    Tolerance,
    WorkedExampleMismatch,
    as_numbers,
    compare,
    count,
)
from selfattn_ref.worked_examples._tolerance import by_call

_REFERENCE = re.compile(r"(?P<name>[a-z_]+)(\[(?P<index>\w+|\d+:\d+)\])?|\[(?P<row>[a-z_]+)\]")

# What a function returns: an array, or several by their names, in order.
Answer: TypeAlias = NDArray[Any] | Mapping[str, NDArray[Any]]

# What names the slips that give a result at a call; `slips`, which needs calls, enters it.
SLIPS_LIKE: list[Callable[..., list[Any]]] = []


@dataclass(frozen=True, repr=False, eq=False)
class Call:
    """A function, what to give it, and what has to come out.

    Obtain them with `cases`, or from the `calls` of an example. All arrays are read-only.

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
        What this package returns: an array or, from a function that returns several, such as
        gradients, each by its name, in order; None if the call has to fail.
    conventions : mapping of str to what `expected` is
        The result under each convention; empty unless good libraries differ.
    raises : type or None
        The error that this package raises if the call has to fail, or None. Another library may
        refuse with another error.
    because : mapping of str to str
        What each convention says and who follows it; for a call that has to fail, the reason,
        under the name of the error.
    tolerance : Tolerance
        That of the example.
    entries : numpy.ndarray, mapping of str to numpy.ndarray, or None
        The indices of the entries that are known, of shape (n, number of axes of the result), for
        a function that returns several by their names; `expected` is then the vector of these
        entries. None if every entry is known.
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
        return f"{self.example}: {self._written}"

    @property
    def _written(self) -> str:
        """The call as one would write it, arrays by their keyword."""
        parts = [
            name + self.rows.get(name, "") if isinstance(value, np.ndarray) else f"{name}={value}"
            for name, value in self.arguments.items()
        ]
        return f"{self.function}({', '.join(parts)})"

    @property
    def args(self) -> tuple[Any, ...]:
        """What is given by position: for attention query, key and value."""
        return tuple(self.arguments[name] for name in self._positional)

    @property
    def kwargs(self) -> dict[str, Any]:
        """What is given by keyword."""
        return {name: x for name, x in self.arguments.items() if name not in self._positional}

    @property
    def _positional(self) -> list[str]:
        return [name for name in _given_by_position(self.function) if name in self.arguments]

    def test(self, function: Callable[..., Any], *, within: Tolerance | None = None) -> Agreement:
        """Call a function as this call says, and compare what it does.

        Parameters
        ----------
        function : callable
            Called as ``function(*call.args, **call.kwargs)``; for attention that is
            ``function(query, key, value, **keywords)``.
        within : Tolerance, optional
            As in `check`.

        Returns
        -------
        Agreement
            Its repr is one line that says what was checked.

        Raises
        ------
        WorkedExampleMismatch
            If the result differs, or if the call should fail and does not. Where it should,
            any error is a refusal, except those of a function that does not run: a name, an
            attribute or a module that it lacks. Where it should not, errors pass through.

        See Also
        --------
        check : Compare a result.

        Examples
        --------
        >>> from selfattn_ref import softmax
        >>> from selfattn_ref.worked_examples import load
        >>> load("SA005").calls[0].test(softmax)
        SA005 checked: softmax(x) agrees (5 numbers, ...)
        """
        if self.raises is None:
            return self.check(function(*self.args, **self.kwargs), within=within)
        try:
            result = function(*self.args, **self.kwargs)
        except (NameError, AttributeError, ImportError):
            raise
        except Exception as error:
            return Agreement(self.example, (self._written,), type(error).__name__, None)
        (why,) = self.because.values()
        raise WorkedExampleMismatch(
            f"{self!r}\n  must raise an error, such as {self.raises.__name__}: {why}\n"
            f"  it returned {_what(result)}"
        )

    def check(self, result: Any, *, within: Tolerance | None = None) -> Agreement:
        r"""Compare a result with the one that the example knows.

        Parameters
        ----------
        result : array_like, or several
            An array, a tensor of PyTorch, or whatever NumPy reads as an array. Where `expected`
            has several by name: a tuple or a list of them in this order, a mapping, or an object
            with these attributes.
        within : Tolerance, optional
            How far a number may be from the expected one. By default it follows from the dtype
            of the result and from what the function is given. For attention it is the bound
            :math:`(e^E - 1)\,V` of the theorem "Rounding in attention" (page "Long sequences"),
            which a right function fits in any order of summation: :math:`V` is the largest value
            in size that the query may attend to, and :math:`E` is the spacing of the numbers of
            the dtype after 1, times a number that grows with the keys, with the terms of a dot
            product, and with the scores. As many merges as keys less one are assumed. What the
            inputs lose if they are rounded to the dtype is added. A float16 or bfloat16 result
            has to come from arithmetic in float32; its weights and its entries may each be
            rounded once to the dtype. Softmax and log-sum-exp have the same :math:`E`, and so
            have the gradients of attention, carried on through the backward pass. For every other
            function it is :math:`8\,\varepsilon \max(1, \max |\text{expected}|)`. The tolerance
            of the example is added to each.

        Returns
        -------
        Agreement
            Its repr is one line that says what was checked; where good libraries differ, with
            the convention that the result follows.

        Raises
        ------
        TypeError
            If the call has to fail: use `test`.
        WorkedExampleMismatch
            If the result differs. The message shows where, and names the slips of attention that
            give the same; if none does to the last digit, those that do within float32.

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
        "Nobody to attend to, nothing to mix: this library, ..."
        """
        if self.expected is None:
            raise TypeError(f"{self!r} has to fail and has no result: use its method test")
        found = self._compared(result, within)
        agreeing = [name for name, comparison in found.items() if not comparison.lines]
        if not agreeing:
            raise self._mismatch(result, found, within)
        name = min(agreeing, key=lambda name: found[name].difference)
        largest, entries = found[name].difference, count(*_parts(self.expected).values())
        return Agreement(self.example, (self._written,), entries, largest, name or None)

    def differs_from(self, function: Callable[..., Any]) -> bool:
        """Return whether a function returns something else; not if either of the two fails."""
        if self.expected is None:
            return False
        try:
            result = function(*self.args, **self.kwargs)
        except Exception:
            return False
        return all(c.lines for c in self._compared(result).values())

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
            for name, part in _parts(self.expected).items()
        }

    def _allowance(
        self, name: str, part: NDArray[Any], tolerance: Tolerance, within: Tolerance | None
    ) -> Allowed:
        """Return what is allowed for one array of the result, entry by entry as it is expected."""
        entries, shape = self._known(name)
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
        allow = by_call(self.function, arguments, tolerance, whole, within)

        def allowed(dtype: str) -> NDArray[Any]:
            limits = np.broadcast_to(allow(dtype), whole.shape).reshape(own)
            return limits if entries is None else limits[tuple(entries.T)]

        return allowed

    def _known(self, name: str) -> tuple[NDArray[np.intp] | None, tuple[int, ...] | None]:
        """Return which entries of an array of the result are known, and its shape, if not all."""
        entries = self.entries.get(name) if isinstance(self.entries, Mapping) else self.entries
        shape = self.shape.get(name) if isinstance(self.shape, Mapping) else self.shape
        return (None, None) if entries is None else (entries, shape)

    def _compared(
        self, result: Any, within: Tolerance | None = None, dtype: str | None = None
    ) -> dict[str, Comparison]:
        """Compare a result with every answer, as if it came in a given dtype or in its own."""
        answers: Mapping[str, Answer | None] = self.conventions or {"": self.expected}
        allowances = self._allowances(within)
        got = _by_name(result, tuple(allowances))
        if got is None:
            names = ", ".join(allowances)
            line = f"  must be {names}, in this order or by these names; got {_what(result)}"
            return dict.fromkeys(answers, Comparison([line], 0.0))

        def one(name: str, expected: NDArray[Any]) -> Comparison:
            allow = allowances[name]
            return compare(
                name, got[name], expected, lambda own: allow(dtype or own), *self._known(name)
            )

        def every(answer: Answer | None) -> Comparison:
            parts = [one(name, expected) for name, expected in _parts(answer).items()]
            lines = [line for part in parts for line in part.lines]
            return Comparison(lines, max(part.difference for part in parts))

        return {name: every(answer) for name, answer in answers.items()}

    def _mismatch(
        self, result: Any, found: dict[str, Comparison], within: Tolerance | None
    ) -> WorkedExampleMismatch:
        name, nearest = min(found.items(), key=lambda item: len(item[1].lines))
        lines = [repr(self), *nearest.lines]
        if name:
            lines.insert(1, f"  follows none of {', '.join(found)}; beside {name}:")
        compared = self._compared(result, within, "float32").values()
        single = any(not comparison.lines for comparison in compared)
        if single:
            lines.append("  it is within what float32 allows, but its dtype is wider")
        slips = self._slips_like(result, within, single)
        lines += [f"  it is what the slip {slip.id} gives: {slip.effect}" for slip in slips]
        return WorkedExampleMismatch("\n".join(lines), tuple(slip.id for slip in slips))

    def _slips_like(self, result: Any, within: Tolerance | None, single: bool) -> list[Any]:
        """Return the slips that give a result; `single`: it is right within float32."""
        if self.function != "scaled_dot_product_attention":
            return []
        try:
            got, dtype = as_numbers(result)
        except ValueError:
            return []
        limits = self.allowed(dtype, within=within)["result"]
        # A slip has variants, such as another small number in its place: what no slip gives to the
        # last digit, and is wrong in float32 too, is compared as if it were of float32.
        wide = np.maximum(limits, self.allowed("float32", within=within)["result"])

        def like(limits: NDArray[Any]) -> list[Any]:
            return [slip for named in SLIPS_LIKE for slip in named(self, got, limits)]

        return like(limits) or ([] if single else like(wide))


@cache
def _given_by_position(function: str) -> tuple[str, ...]:
    """Return the parameters of a public function that need no keyword."""
    parameters = inspect.signature(getattr(selfattn_ref, function)).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)


def _parts(answer: Answer | None) -> dict[str, NDArray[Any]]:
    """Return every array of an answer by its name; one alone is the result."""
    return dict(answer) if isinstance(answer, Mapping) else {"result": np.asarray(answer)}


def _by_name(result: Any, names: tuple[str, ...]) -> dict[str, Any] | None:
    """Return what a function gave, by the names of what it should give; None if it did not."""
    if names == ("result",):
        return {"result": result}
    if isinstance(result, Mapping):
        found = {name: result[name] for name in names if name in result}
    elif all(hasattr(result, name) for name in names):
        found = {name: getattr(result, name) for name in names}
    else:
        found = dict(zip(names, result, strict=False)) if isinstance(result, tuple | list) else {}
        found = found if found and len(result) == len(names) else {}
    return found if len(found) == len(names) else None


def _what(result: Any) -> str:
    """Return in words what a function gave."""
    if isinstance(result, tuple | list | Mapping):
        return f"a {type(result).__name__} of {len(result)}"
    shape = getattr(result, "shape", None)
    return type(result).__name__ if shape is None else f"an array of shape {tuple(shape)}"


_ERRORS = {"TypeError": TypeError, "ValueError": ValueError}


def read_call(
    example: str,
    number: int,
    document: Mapping[str, Any],
    values: Mapping[str, Any],
    tolerance: Tolerance,
) -> Call:
    """Return the call that a file describes, its references replaced by the values they name."""
    given = {name: _given(find(text, values)) for name, text in document["arguments"].items()}
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
        if answer.shape != expected.shape:
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


def _given(value: Any) -> Any:
    # A single number is given as one, not as an array without axes.
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that cannot be changed."""
    # The memory belongs to a bytes object, so not even `setflags(write=True)` can change it.
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)
