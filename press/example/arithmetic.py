"""Numbers that remember how they were made: a formula gives its value and its line at once."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

SUM, PRODUCT, ATOM = range(3)  # how strongly what is written holds together
NOT_FULL = 1 / 3  # a number that nobody writes in full, as e to the power of −50


def short(value: float) -> str:
    """Write a number with four decimals, or more if it is nearly whole; a tiny one as a power."""
    value = float(value)
    rest = abs(value - round(value)) if math.isfinite(value) else 0.0
    if (value and abs(value) < 5e-4) or abs(value) >= 1e7:
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        text = f"{mantissa} × 10<sup>{int(exponent)}</sup>"
    else:
        nearly = abs(value) > 0.5 and 1e-12 < rest < 5e-5
        digits = 1 - math.floor(math.log10(rest)) if nearly else 4
        text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
        text = "0" if text == "-0" else text
    return text.replace("-", "−")


def factor(value: float) -> str:
    """Write a number as a factor, in parentheses if it is negative."""
    text = short(value)
    return f"({text})" if value < 0 else text


def equals(*values: float, residue: float = 1e-12) -> str:
    """Return how a line with these numbers goes on: "=" if they are written in full, else "≈".

    What rounding leaves of a sum that is 0 counts as 0: it is another on another processor.
    """
    exact = all(
        abs(round(value, 4) - value) <= max(residue, 1e-12 * abs(value)) for value in values
    )
    return "=" if exact else "≈"


@dataclass(frozen=True)
class Number:
    """A number, how it is written, and what it was made of."""

    value: float
    text: str
    holds: int = ATOM
    written: tuple[float, ...] = ()  # the numbers in the text
    places: frozenset[tuple[str, int, int]] = frozenset()  # entries of arrays
    lines: tuple[str, ...] = ()  # the steps that lead to it

    def inside(self, holds: int = PRODUCT) -> str:
        """Write it as a part of something that holds together."""
        return f"({self.text})" if self.holds < holds or self.text.startswith("−") else self.text

    def __add__(self, other: "Number") -> "Number":
        """Add."""
        return made(
            self.value + other.value, f"{self.text} + {other.inside(SUM)}", SUM, self, other
        )

    def __sub__(self, other: "Number") -> "Number":
        """Subtract."""
        text = f"{self.text} − {other.inside()}"
        return made(self.value - other.value, text, SUM, self, other)

    def __mul__(self, other: "Number") -> "Number":
        """Multiply."""
        text = f"{self.inside()} × {other.inside(PRODUCT)}"
        return made(self.value * other.value, text, PRODUCT, self, other)

    def __truediv__(self, other: "Number") -> "Number":
        """Divide."""
        left = self.text if self.holds else f"({self.text})"
        text = f"{left} ÷ {other.inside(ATOM)}"
        return made(self.value / other.value, text, PRODUCT, self, other)

    def __neg__(self) -> "Number":
        """Change the sign."""
        return made(-self.value, f"−{self.inside()}", PRODUCT, self)

    def line(self, label: str = "") -> str:
        """Write how it was computed."""
        sign = equals(*self.written, self.value)
        return f"{label}{': ' * bool(label)}{self.text} {sign} {short(self.value)}"

    def step(self, label: str) -> "Number":
        """Give it a line of its own, unless that would say nothing."""
        if self.text == short(self.value):
            return self
        lines = tuple(dict.fromkeys((*self.lines, self.line(label))))
        atom = number(self.value)
        return replace(atom, places=self.places, lines=lines)


def number(value: float, *places: tuple[str, int, int]) -> Number:
    """Return a number as it stands."""
    text = short(value)
    holds = PRODUCT if "×" in text else ATOM
    return Number(float(value), text, holds, (float(value),), frozenset(places))


def made(value: float, text: str, holds: int, *parts: Number) -> Number:
    """Return what was computed from parts."""
    return Number(
        value,
        text,
        holds,
        tuple(each for part in parts for each in part.written),
        frozenset().union(*(part.places for part in parts)),
        tuple(dict.fromkeys(line for part in parts for line in part.lines)),
    )


def exponential(x: Number) -> Number:
    """Return e to a power."""
    result = made(math.exp(x.value), f"e<sup>{x.text}</sup>", ATOM, x)
    return result if result.value > 1e-12 else replace(result, written=(*result.written, NOT_FULL))


def power(x: Number, y: Number) -> Number:
    """Return a power."""
    return made(x.value**y.value, f"{x.inside(ATOM)}<sup>{y.text}</sup>", ATOM, x, y)


def square(x: Number) -> Number:
    """Return a square."""
    return made(x.value**2, f"{x.inside(ATOM)}²", ATOM, x)


def root(x: Number) -> Number:
    """Return a square root."""
    return made(math.sqrt(x.value), f"√{x.inside(ATOM)}", ATOM, x)


def function(name: str, x: Number) -> Number:
    """Return sin, cos, tanh or log of a number."""
    return made(getattr(math, name)(x.value), f"{name}({x.text})", ATOM, x)


def largest(every: Iterable[Number]) -> Number:
    """Return the largest of some numbers."""
    every = list(every)
    text = f"max({', '.join(one.text for one in every)})"
    return every[0] if len(every) == 1 else made(max(x.value for x in every), text, ATOM, *every)


def total(every: Iterable[Number]) -> Number:
    """Add numbers; what is nothing is left out of a long sum, but has been taken."""
    every = list(every)
    kept = [one for one in every if one.value] or every[:1] if len(every) > 4 else every
    result = kept[0]
    for one in kept[1:]:
        result += one
    return replace(result, places=frozenset().union(*(one.places for one in every)))


def dot(one: Sequence[Number], other: Sequence[Number]) -> Number:
    """Return the dot product."""
    return total(x * y for x, y in zip(one, other, strict=True))


def length(x: Sequence[Number]) -> Number:
    """Return the length of a vector."""
    return root(total(map(square, x)))
