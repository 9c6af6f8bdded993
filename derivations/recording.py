"""Numbers that remember how they were made.

The derivations run on steps. A step knows its value, the operation that gave it and the operands of
that operation, which are steps themselves, down to the inputs of the example. What decided about a
value without being computed with (the entry of a mask, an index, a size, which score was the
largest) is not an operand but a condition.

A step can be compared and converted as any number can; nothing is recorded then. A function that
lets a comparison decide says so with `because`, and a test changes every input of every example to
find what nobody said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import mpmath

# A truth value, a Fraction, or an mpmath number, which has no types of its own.
Value: TypeAlias = Any


class Words(NamedTuple):
    """What a function says of the step that it takes."""

    label: str = ""  # what the line that computes it begins with
    note: str = ""  # what it is, where it stands as a number in the line of another
    says: str = ""  # what is said in place of arithmetic
    rule: str = ""  # how an array of such steps is made of others, which stand for {0}
    leads: bool = False  # whether it is told from its first operand on, even if that is listed


NO_WORDS = Words()


class Step:
    """A value and what it was made of; it does arithmetic as numbers do."""

    __slots__ = ("conditions", "operands", "operation", "value", "words")

    def __init__(
        self,
        operation: str,
        value: Value,
        operands: tuple[Step, ...] = (),
        conditions: tuple[Step, ...] = (),
        words: Words = NO_WORDS,
    ) -> None:
        self.operation = operation
        self.value = value
        self.operands = operands
        self.conditions = conditions
        self.words = words

    def __repr__(self) -> str:
        return f"<{self.operation} {self.value}>"

    def __add__(self, other: Any) -> Step:
        return step("sum", self, other)

    def __radd__(self, other: Any) -> Step:
        return step("sum", other, self)

    def __sub__(self, other: Any) -> Step:
        return step("subtract", self, other)

    def __rsub__(self, other: Any) -> Step:
        return step("subtract", other, self)

    def __mul__(self, other: Any) -> Step:
        return step("multiply", self, other)

    def __rmul__(self, other: Any) -> Step:
        return step("multiply", other, self)

    def __truediv__(self, other: Any) -> Step:
        return step("divide", self, other)

    def __rtruediv__(self, other: Any) -> Step:
        return step("divide", other, self)

    def __pow__(self, other: Any) -> Step:
        return step("power", self, other)

    def __neg__(self) -> Step:
        return step("negate", self)

    def __abs__(self) -> Step:
        return step("absolute", self)

    def __eq__(self, other: object) -> bool:
        one, two = alike([self.value, plain(other)])
        return bool(one == two)

    def __lt__(self, other: Any) -> bool:
        one, two = alike([self.value, plain(other)])
        return bool(one < two)

    def __gt__(self, other: Any) -> bool:
        one, two = alike([self.value, plain(other)])
        return bool(one > two)

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)


def plain(x: Any) -> Value:
    """Return the value of a step, and anything else as it is."""
    return x.value if isinstance(x, Step) else x


def real(x: Value) -> Value:
    """Return x with the digits in use; mpmath rounds the one division of a fraction."""
    if isinstance(x, int | Fraction):
        return mpmath.mpf(x.numerator) / mpmath.mpf(x.denominator)
    return mpmath.mpf(x)


def alike(values: Iterable[Value]) -> list[Value]:
    """Return values of one kind: a fraction and an mpmath number do not add up."""
    values = list(values)
    if all(isinstance(x, int | Fraction) for x in values):
        return [Fraction(x) for x in values]
    return [real(x) if isinstance(x, int | Fraction) else x for x in values]


# Operations


def _total(*terms: Value) -> Value:
    terms = tuple(alike(terms))
    return sum(terms) if isinstance(terms[0], Fraction) else mpmath.fsum(terms)


def _dot(*entries: Value) -> Value:
    pairs = (alike(pair) for pair in zip(entries[::2], entries[1::2], strict=True))
    return _total(*(x * y for x, y in pairs))


def _power(x: Value, exponent: Value) -> Value:
    if isinstance(x, Fraction) and exponent.denominator == 1:
        return x**exponent
    return mpmath.power(real(x), real(exponent))


def _root(x: Value, degree: Value) -> Value:
    return mpmath.sqrt(real(x)) if degree == 2 else mpmath.root(real(x), int(degree))


def _rounded(x: Value, decimals: Value) -> Value:
    # An irrational number has no ties, so any rule for ties will do.
    size = 10 ** int(decimals)
    return Fraction(int(mpmath.nint(x * size)), size)


def _norm(*entries: Value) -> Value:
    size = round(len(entries) ** 0.5)
    matrix = [[real(x) for x in entries[i * size : (i + 1) * size]] for i in range(size)]
    return max(abs(x) for x in mpmath.eigsy(mpmath.matrix(matrix), eigvals_only=True))


OPERATIONS: Mapping[str, Callable[..., Value]] = {
    "sum": _total,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "negate": lambda x: -x,
    "absolute": abs,
    "power": _power,
    "root": _root,
    "round": _rounded,
    "dot": _dot,
    "norm": _norm,
    "max": lambda *x: max(alike(x)),
    "exp": lambda x: mpmath.exp(real(x)),
    "log": lambda x: mpmath.log(real(x)),
    "sin": lambda x: mpmath.sin(real(x)),
    "cos": lambda x: mpmath.cos(real(x)),
    "tanh": lambda x: mpmath.tanh(real(x)),
    "equal": lambda x, y: x == y,
    "at most": lambda x, y: x <= y,
    "and": lambda x, y: x and y,
    "not": lambda x: not x,
}
OF_ONE_KIND = {"subtract", "multiply", "divide", "negate", "at most"}


def recorded(x: Any) -> Step:
    """Return a step as it is, and a plain number as a constant."""
    if isinstance(x, Step):
        return x
    return Step("constant", Fraction(x) if type(x) is int else x)


def step(operation: str, *operands: Any, words: Words = NO_WORDS) -> Step:
    """Take a step: compute, and remember what with."""
    taken = tuple(recorded(x) for x in operands)
    values = [x.value for x in taken]
    if operation in OF_ONE_KIND:
        values = alike(values)
    return Step(operation, OPERATIONS[operation](*values), taken, (), words)


def chosen(x: Any, *conditions: Any, words: Words = NO_WORDS) -> Step:
    """Return a copy of x that remembers why it was taken."""
    taken = recorded(x)
    reasons = tuple(each for each in conditions if isinstance(each, Step))
    return Step("choose", taken.value, (taken,), reasons, words)


def because(x: Any, *conditions: Any, words: Words = NO_WORDS) -> Any:
    """Return x with the conditions under which it was taken; without any, x itself."""
    if any(isinstance(each, Step) for each in conditions):
        return chosen(x, *conditions, words=words)
    return x


def given(value: Any) -> Any:
    """Return an input with a step in place of each number and truth value; words stay words."""
    if isinstance(value, list):
        return [given(item) for item in value]
    return value if isinstance(value, str) else Step("input", value)
