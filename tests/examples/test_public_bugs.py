"""Bugs that were reported in public: each has its link, and a call that catches it or a reason."""

import inspect
import re

import numpy as np
import pytest

import selfattn_ref
from book.examples import public_bugs as made
from press.example.public_bugs import (
    ATTENTION,
    bugs,
    calls,
    first_catches,
    function_of,
    is_asked,
)
from selfattn_ref.worked_examples import generated, slips
from selfattn_ref.worked_examples._capabilities import reduced
from tests.pages.sources import ROOT

BUGS = bugs(ROOT)
KINDS = {
    *("options together", "axes", "grouped heads", "size", "alignment and windows", "values"),
    *("memory", "precision", "backward", "rotary, cache, log-sum-exp, varlen", "twice"),
}
STEPS = {
    "scaled_dot_product_attention": made.attention,
    "scaled_dot_product_attention_vjp": lambda query, key, *others, **keywords: (
        made.added((parts := made.gradients(query, key, *others, **keywords))[2], query),
        made.added(parts[1].mT @ query, key),
        parts[3],
    ),
    "rotate_pairs": lambda x, positions, *, base=10000.0, interleaved=False: made.rotated(
        x, made.angles_of(x, positions, base), interleaved
    ),
}
EXPRESSIBLE = [bug for bug in BUGS if "reproduced_by" in bug]
CAUGHT = first_catches(BUGS)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug["id"])
def test_a_bug_says_where_it_was_reported_what_went_wrong_and_of_which_kind(bug):
    assert list(bug)[:5] == ["id", "project", "link", "wrong", "kind"]
    assert len({"reproduced_by", "not_expressible"} & {*bug}) == 1
    assert re.fullmatch(r"[a-z0-9-]+", bug["id"])
    place = r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+"
    assert re.fullmatch(place, bug["link"])
    assert re.fullmatch(r"[A-Z].*\.", bug.get("not_expressible", bug["wrong"]))
    assert bug["kind"] in KINDS


def test_no_two_are_the_same_and_those_of_a_kind_stand_together():
    assert len({bug["id"] for bug in BUGS}) == len({bug["wrong"] for bug in BUGS}) == len(BUGS) > 25
    kinds = [bug["kind"] for bug in BUGS]
    assert sorted(kinds, key=kinds.index) == kinds


def test_every_function_is_used():
    used = {bug["reproduced_by"] for bug in EXPRESSIBLE}
    given = {
        name
        for name, function in vars(made).items()
        if inspect.isfunction(function) and not function.__doc__
    }
    assert given == used - {*slips.SLIPS}


@pytest.mark.parametrize("name", STEPS)
def test_what_they_are_made_from_is_right(name):
    asked = [call for call in calls(name) if is_asked(STEPS[name], call)]
    with np.errstate(all="ignore"):
        for call in asked:
            call.differs_from(STEPS[name]) and call.test(STEPS[name])
    assert asked


@pytest.mark.parametrize(
    "bug", [bug for bug in BUGS if "caught_by" in bug], ids=lambda bug: bug["id"]
)
def test_a_generated_case_catches_what_no_example_does(bug):
    name, function = bug.get("function", ATTENTION), function_of(bug)
    assert bug["id"] in first_catches([bug])
    without = {key: value for key, value in bug.items() if key != "caught_by"}
    assert first_catches([without]) == {}
    # A function is asked for what it takes, as `report` does.
    known = {*inspect.signature(function).parameters}
    known |= {*inspect.signature(getattr(selfattn_ref, name)).parameters}
    call = reduced(generated.load(bug["caught_by"], name).call, known)
    with np.errstate(all="ignore"):
        assert call.differs_from(function)


@pytest.mark.parametrize("bug", EXPRESSIBLE, ids=lambda bug: bug["id"])
def test_it_is_caught(bug):
    assert bug["id"] in CAUGHT
