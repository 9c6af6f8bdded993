"""Equal inputs have equal answers: no two examples may contradict each other."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

import selfattn_ref
from selfattn_ref.worked_examples import load
from tests.examples.each import IN_USE, arrays

EXAMPLES = [load(example_id) for example_id in IN_USE]


def contents(value):
    """Return what can be compared and hashed: the numbers of an array, with one zero."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind, value.shape, (value + 0.0).tobytes()
    return value


def question(call):
    """Return the function and all that it is given, what it takes by default included."""
    signature = inspect.signature(getattr(selfattn_ref, call.function))
    given = signature.bind(*call.args, **call.kwargs)
    given.apply_defaults()
    return call.function, *((name, contents(value)) for name, value in given.arguments.items())


def differ(one, other):
    """Tell whether two calls with the same arguments accept other answers."""
    if (one.kind, one.raises, *one.conventions) != (other.kind, other.raises, *other.conventions):
        return True
    if one.raises:
        return False
    pairs = zip(
        (one.expected, *one.conventions.values()),
        (other.expected, *other.conventions.values()),
        strict=True,
    )
    return not all(
        a.shape == b.shape and np.allclose(a, b, *reversed(one.tolerance), equal_nan=True)
        for answers in pairs
        for a, b in zip(*map(arrays, answers), strict=True)
    )


def contradictions(examples):
    """Return the calls, and the values of the same meaning, that answer one question in two ways.

    Two expected values mean the same if all inputs of their examples are equal, and their names
    and descriptions are.
    """
    found, asked = [], {}
    for call in (call.without_capabilities() for example in examples for call in example.calls):
        same = asked.setdefault(question(call), [])
        found += [f"{other!r} and {call!r}" for other in same if differ(other, call)]
        same.append(call)
    meant = {}
    for example in examples:
        given = tuple((name, contents(value)) for name, value in sorted(example.inputs.items()))
        for name, value in example.expected.items():
            meaning = (given, name, example.descriptions[name])
            first, other = meant.setdefault(meaning, (example, value))
            if contents(other) != contents(value):
                found.append(f"{name} of {first.id} and of {example.id}")
    return found


def test_no_example_contradicts_another():
    assert contradictions(EXAMPLES) == []


def test_some_questions_are_asked_twice():
    calls = [call.without_capabilities() for example in EXAMPLES for call in example.calls]
    assert len({question(call) for call in calls}) < len(calls)


def changed(answer):
    """Return an answer, one number of which is another."""
    if not hasattr(answer, "keys"):
        return np.where(np.arange(answer.size).reshape(answer.shape) == 0, answer + 1e-6, answer)
    first, *others = answer
    return {first: changed(answer[first]), **{name: answer[name] for name in others}}


def with_call(example, number, **changes):
    """Return the same example under another id, one of its calls changed."""
    calls = list(example.calls)
    calls[number] = replace(calls[number], example="SA999", **changes)
    return replace(example, id="SA999", calls=tuple(calls))


class TestAContradictionIsNoticed:
    def test_a_copy_is_none(self):
        assert contradictions([load("SA031"), with_call(load("SA031"), 0)]) == []

    @pytest.mark.parametrize("example_id", ["SA016", "SA031"])
    def test_in_a_number_of_a_result(self, example_id):
        example = load(example_id)
        other = with_call(example, 0, expected=changed(example.calls[0].expected))
        call = example.calls[0]
        assert contradictions([example, other]) == [f"{call!r} and SA999{repr(call)[5:]}"]

    def test_whether_a_default_is_written_or_not(self):
        example = load("SA016")
        first = example.calls[1]
        for offset, found in ((0, 1), (1, 0)):
            arguments = {**first.arguments, "offset": offset}
            other = with_call(example, 1, arguments=arguments, expected=-first.expected)
            assert len(contradictions([example, other])) == found

    def test_in_a_convention_or_its_lack_or_a_refusal(self):
        example = load("SA022")
        call = example.calls[0]
        fewer = {name: x for name, x in call.conventions.items() if name != "uniform"}
        other = {**call.conventions, "uniform": changed(call.conventions["uniform"])}
        for changes in (
            {"conventions": fewer},
            {"conventions": other},
            {"kind": "value", "conventions": {}},
            {"kind": "must_raise", "raises": ValueError, "expected": None, "conventions": {}},
        ):
            assert len(contradictions([example, with_call(example, 0, **changes)])) == 1

    def test_in_a_value_that_no_call_names(self):
        example = load("SA008")
        values = {**example.expected, "key": changed(example.expected["key"])}
        other = replace(example, id="SA999", expected=values)
        assert contradictions([example, other]) == ["key of SA008 and of SA999"]
        inputs = {**example.inputs, "embedding": changed(example.inputs["embedding"])}
        assert contradictions([example, replace(other, inputs=inputs)]) == []
