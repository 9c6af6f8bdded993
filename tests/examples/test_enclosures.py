"""Every expected value is proved to be the double nearest to the exact one.

Each derivation runs again on intervals of 60 digits (the `iv` of mpmath: its ends round outward),
so that the exact value lies between the two ends. Both ends round to the stored double.
"""

import importlib
import pkgutil
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from mpmath import iv

import derivations
from derivations.documents import example_files, inputs_of, read
from derivations.examples import DERIVATIONS
from derivations.recording import plain

FILES = example_files()
MODULES = [
    importlib.import_module(f"derivations.{module.name}")
    for module in pkgutil.iter_modules(derivations.__path__)
    if module.name not in {"__main__", "documents", "traces"}
]
# The eigenvalues of a matrix, which intervals do not give.
NOT_ENCLOSED = {("SA020", "norm"), ("SA020", "norm_scaled")}
REFERENCE = Path(__file__).parents[2] / "book" / "reference"
ZERO = mpmath.mpf(10) ** -50  # no other value is nearer to 0


def interval(x):
    if isinstance(x, Fraction):
        return iv.mpf(x.numerator) / iv.mpf(x.denominator)
    return iv.mpf(x)


def total(terms):
    return sum(terms, iv.mpf(0))


def hyperbolic_tangent(x):
    return 1 - 2 / (iv.exp(2 * iv.mpf(x)) + 1)


def power(base, exponent):
    return iv.exp(iv.mpf(exponent) * iv.log(iv.mpf(base)))


def nearest_integer(x):
    (nearest,) = {mpmath.nint(end) for end in ends(x)}
    return nearest


INTERVALS = SimpleNamespace(
    mpf=interval,
    fsum=total,
    sqrt=iv.sqrt,
    exp=iv.exp,
    log=iv.log,
    sin=iv.sin,
    cos=iv.cos,
    tanh=hyperbolic_tangent,
    power=power,
    root=lambda x, n: power(x, iv.mpf(1) / n),
    nint=nearest_integer,
    matrix=list,
    eigsy=lambda *_, **__: [iv.mpf(0)],
    mp=mpmath.mp,
    workdps=mpmath.workdps,
)


def ends(value):
    """Return two numbers between which a value lies."""
    if hasattr(value, "_mpi_"):
        return tuple(Fraction(*mpmath.libmp.to_rational(end)) for end in value._mpi_)
    return (value, value) if isinstance(value, bool) else (Fraction(value), Fraction(value))


def entries(value, stored):
    if isinstance(value, list | tuple):
        for one, other in zip(value, stored, strict=True):
            yield from entries(one, other)
    else:
        yield plain(value), stored


@pytest.fixture
def on_intervals(monkeypatch):
    for module in MODULES:
        if hasattr(module, "mpmath"):
            monkeypatch.setattr(module, "mpmath", INTERVALS)
        if hasattr(module, "require_agreement"):  # differences have errors of their own
            monkeypatch.setattr(module, "require_agreement", lambda *_: None)
    kind = type(iv.mpf(0))
    monkeypatch.setattr(kind, "__bool__", lambda x: ends(x) != (0, 0), raising=False)
    # Only checks and maxima compare, and any of two numbers that overlap will do as the larger.
    monkeypatch.setattr(kind, "__gt__", lambda x, y: ends(x)[0] > ends(y)[1])
    with monkeypatch.context() as context:
        context.setattr(iv, "dps", 60)
        # What a derivation checks within is a power of this many digits.
        with mpmath.workdps(20):
            yield


def not_enclosed(name, document):
    derived = DERIVATIONS[document["derivation"]["function"]](inputs_of(document))
    for key, entry in document["expected"].items():
        if (name, key) in NOT_ENCLOSED:
            continue
        for value, stored in entries(derived[key], entry["value"]):
            if isinstance(value, float):  # an infinity or NaN, for which nothing was computed
                if not np.array_equal(value, float(stored), equal_nan=True):
                    yield key, stored
                continue
            low, high = ends(value)
            if isinstance(stored, bool):
                proved = value is stored
            else:
                proved = float(low) == float(high) == float(stored)
                if float(stored) == 0:  # exactly 0 is between ends that are not
                    proved = proved or -ZERO < low <= 0 <= high < ZERO
            if not proved:
                yield key, stored


@pytest.mark.parametrize("name", FILES)
def test_every_value_is_the_nearest_double(name, on_intervals):
    assert list(not_enclosed(name, read(FILES[name]))) == []


def test_the_promise_says_what_is_not_enclosed():
    (example,) = {name for name, _ in NOT_ENCLOSED}
    assert len(NOT_ENCLOSED) == 2
    for name, said in (
        ("promises.yml", f"except for two numbers of {example}, and for zeros"),
        ("how-the-numbers-are-checked.md", f"(Two numbers of {example}, largest eigenvalues,"),
        ("data-format.md", f"for all but two numbers of {example}, and zeros"),
    ):
        assert said in (REFERENCE / name).read_text("utf-8")
