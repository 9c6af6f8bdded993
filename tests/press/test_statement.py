"""A test of a theorem fails if its theorem is false, or if it could not tell."""

import pytest

from tests.theorems.statement import Case, Hypothesis, Statement


class AtMostOne(Statement):
    """thm-at-most-one: the square of a number between −1 and 1 is at most 1."""

    kind = "bound"
    hypotheses = {"between": Hypothesis(lambda c: abs(c.x) <= 1, without=Case(x=2.0))}
    neighbors = {"at most 0.95": {"most": 0.95}, "less than 1": {"strict": True}}
    hard = (Case(x=1.0),)
    draws = 100

    def draw(self, rng):
        return Case(x=rng.uniform(-1, 1))

    def holds(self, c, most=1.0, strict=False):
        return c.x**2 < most if strict else c.x**2 <= most

    def ratio(self, c):
        return c.x**2


TESTS = [name for name in dir(Statement) if name.startswith("test_")]
FALSE = {
    "a claim that is false": {"holds": lambda self, c, most=0.9, strict=False: c.x <= most},
    "a hypothesis that a case lacks": {
        "hypotheses": {"small": Hypothesis(lambda c: abs(c.x) < 0.5, without=Case(x=2.0))}
    },
    "a hypothesis that can go": {
        "hypotheses": {"small": Hypothesis(lambda c: c.x != 0.5, without=Case(x=0.5))}
    },
    "a case that lacks another hypothesis, too": {
        "hypotheses": {
            "between": Hypothesis(lambda c: abs(c.x) <= 1, without=Case(x=2.0)),
            "below": Hypothesis(lambda c: c.x <= 1, sufficient="by the other"),
        }
    },
    "a neighbor that is true": {"neighbors": {"at most 1.05": {"most": 1.05}}},
    "a neighbor that no case refutes": {"neighbors": {"less": {"strict": True}}, "hard": ()},
    "a neighbor that is far": {"neighbors": {"at most a half": {"most": 0.5}}},
    "no neighbor": {"neighbors": {}},
    "a bound that is passed": {"ratio": lambda self, c: 1.1},
    "a bound that is far": {"ratio": lambda self, c: 0.8},
}


def failing(statement):
    """Return which of its tests fail."""
    found = []
    for name in TESTS:
        try:
            getattr(statement(), name)()
        except AssertionError:
            found.append(name)
    return found


def test_a_true_statement_passes_and_says_what_was_found():
    assert failing(AtMostOne) == []
    report = AtMostOne().report()
    assert report["neighbors"]["at most 0.95"].startswith("false in ")
    assert (report["cases"], report["hard"], report["largest"]) == (101, 1, 1.0)


@pytest.mark.parametrize("change", FALSE.values(), ids=FALSE)
def test_what_is_wrong_fails_one_test(change):
    assert len(failing(type("Changed", (AtMostOne,), change))) == 1


@pytest.mark.parametrize("name", sorted(FALSE.keys() - {"no neighbor"}))
def test_nothing_is_said_of_what_is_wrong(name):
    with pytest.raises(AssertionError):
        type("Changed", (AtMostOne,), FALSE[name])().report()


def test_a_hypothesis_has_a_case_or_a_reason():
    for wrong in ({}, {"without": Case(), "sufficient": "so"}):
        with pytest.raises(ValueError, match="either a case without it, or a reason"):
            Hypothesis(lambda c: True, **wrong)
