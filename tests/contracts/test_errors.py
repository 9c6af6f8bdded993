"""What is wrong is named: the argument, its shape or dtype, the rule; two types of error."""

import ast
import math
import pathlib
from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import selfattn_ref
from selfattn_ref import AttentionState
from tests.contracts.calls import BY_NAME, CALLS
from tests.contracts.refusals import REFUSALS

FOLDER = pathlib.Path(selfattn_ref.__file__).parent
MODULES = sorted({*FOLDER.glob("*.py"), *FOLDER.glob("streaming/*.py")})


def ones(*shape, dtype=float):
    """Return an array of ones."""
    return np.ones(shape, dtype)


NAMES = {"np": np, "ones": ones, "inf": math.inf, "nan": math.nan, "Decimal": Decimal}
NAMES |= {"Fraction": Fraction, "AttentionState": AttentionState}


def required(call):
    """Return the arguments of the valid call without those that have a default."""
    options = {n for n, e in call.parameters.items() if e.default} - {"num_key_value_heads"}
    return {name: a for name, a in call.arguments(lead=()).items() if name not in options}


def refusal(call, **arguments):
    """Return what a call raises, as the last line of a traceback shows it."""
    with pytest.raises((TypeError, ValueError)) as caught:
        call(**arguments)
    return f"{caught.type.__name__}: {caught.value}"


def asked(headers):
    """Return the calls that the headers of a section name."""
    names = headers.replace("==", "").split()
    if names[:2] == ["all", "with"]:
        wanted = {name.strip(",") for name in names[2:]}
        return [call for call in CALLS if wanted <= call.parameters.keys()]
    return [BY_NAME[name] for name in names]


def sections():
    """Yield the calls of each section, with its cases: what is changed, and the error."""
    headers, cases = "", []
    for line in [*REFUSALS.strip().splitlines(), "=="]:
        if line.startswith("==") and cases:
            yield asked(headers), cases
            headers, cases = "", []
        if line.startswith("=="):
            headers += line
        elif line.startswith("    "):
            cases[-1][1] += line.replace("    ", " ", 1)
        elif line:
            cases.append([line, ""])


SECTIONS = list(sections())
# The other state that `merge` takes is made by the table: asked with the states.
DIRECT = [call for call in CALLS if call.name != "AttentionState.merge"]
WITH_NUMBERS = [call for call in DIRECT if call.numbers]


CASES = {
    call.name: [case for calls, cases in SECTIONS for case in cases if call in calls]
    for call in CALLS
}


@pytest.mark.parametrize("call", [call for call in CALLS if CASES[call.name]], ids=str)
def test_a_wrong_argument_is_named_with_its_rule(call):
    for change, message in CASES[call.name]:
        arguments = required(call) | eval(f"dict({change})", NAMES.copy())
        assert refusal(call, **arguments) == message.strip(), change


@pytest.mark.parametrize("call", WITH_NUMBERS, ids=str)
def test_what_holds_no_real_numbers_is_named_with_its_dtype(call):
    for name in call.numbers:
        if name == "bias":
            continue  # asked in the table, with its own words for integers
        for value, shown in [
            *((np.zeros((2, 2), t), np.dtype(t)) for t in (complex, object, "U3", "S3", "M8[D]")),
            *((np.zeros(2, t), np.dtype(t)) for t in ("m8[D]", [("a", "f8")])),
            *((np.zeros((2, 2), t), np.dtype(t)) for t in (ml_dtypes.float8_e5m2, ml_dtypes.int4)),
            ([[1.0, None]], "object"),
        ]:
            expected = f"TypeError: {name} must hold real numbers, got dtype {shown}"
            assert refusal(call, **required(call) | {name: value}) == expected


@pytest.mark.parametrize("call", DIRECT, ids=str)
def test_what_becomes_no_array_is_named(call):
    for name in (name for name, entry in call.parameters.items() if entry.axes):
        lost = refusal(call, **required(call) | {name: np.ma.ones((2, 2))})
        masked = "is a masked array, whose mask would be lost: pass"
        assert lost == f"TypeError: {name} {masked} {name}.filled()"
        for ragged in ([[1], [1, 2]], [[1, 2], 3], [np.ones(2), np.ones(3)]):
            uneven = f"ValueError: {name} is ragged: its rows must all have the same length"
            assert refusal(call, **required(call) | {name: ragged}) == uneven


@pytest.mark.parametrize("call", WITH_NUMBERS, ids=str)
def test_an_axis_that_is_missing_is_named(call):
    for name in call.numbers:
        axes = call.parameters[name].axes
        if axes[0] == "..." and len(axes) > 2:
            shape = (2,) * (len(axes) - 2)
            expected = f"ValueError: {name} {shape}: it must have the axes ({', '.join(axes)})"
            assert refusal(call, **required(call) | {name: np.ones(shape)}) == expected


@pytest.mark.parametrize("call", WITH_NUMBERS, ids=str)
def test_lengths_that_should_be_equal_are_shown_with_their_arrays(call):
    arguments = call.arguments(lead=())
    axes = {n: e.axes for n, e in call.parameters.items() if n in arguments and e.axes}
    for name in axes:
        for i, axis in enumerate(axes[name][1:] if axes[name][0] == "..." else axes[name]):
            if sum(axis in other for other in axes.values()) < 2:
                continue
            shape = list(np.shape(arguments[name]))
            shape[i] = 29
            wrong = np.ones(shape, bool if name == "mask" else float)
            message = refusal(call, **arguments | {name: wrong})
            assert message.startswith("ValueError: "), (name, axis)
            # What only a mask, a bias or a gradient contradicts shows as what it would lead to.
            shown = f"{name} {wrong.shape}", "and scores (", "and output ("
            assert any(text in message for text in shown), message
            assert "29" in message, message


WRONG_NUMBERS = {
    bool: ("must be True or False", [0, 1, "no", None, np.array([True]), np.array(1)]),
    int: (
        "must be an integer",
        [2.0, True, np.True_, "2", np.array(2.0), np.array([2]), np.array(True), math.inf, (0, 1)],
    ),
    float: (
        "must be a real number",
        [True, np.False_, "1", 1j, [1.0], np.ones(1), np.array(True), np.array("1"), Decimal(1)],
    ),
}


@pytest.mark.parametrize("call", [c for c in DIRECT if any(e.given for e in c.parameters.values())])
def test_what_is_no_such_number_is_named_with_its_kind(call):
    arguments = call.arguments(lead=())
    for name, value in arguments.items():
        rule, wrong = WRONG_NUMBERS.get(type(value), ("", []))
        if name == "block_size":
            continue  # a pair of integers, or one
        for other in wrong:
            expected = f"TypeError: {name} {rule}, got {type(other).__name__}"
            assert refusal(call, **arguments | {name: other}).startswith(expected), other
        for other in (math.inf, np.float64(-math.inf), np.longdouble(math.nan)):
            if isinstance(value, float):
                expected = f"ValueError: {name} must be finite, got {other}"
                assert refusal(call, **arguments | {name: other}) == expected


def test_an_object_that_fails_to_become_an_array_says_why():
    class Awkward:
        def __array__(self, dtype=None, copy=None):
            raise ValueError("on strike")

    for value in (Awkward(), [Awkward()]):
        expected = "ValueError: x does not become an array: on strike"
        assert refusal(BY_NAME["softmax"], x=value) == expected


@pytest.mark.parametrize("call", [c for c in CALLS if "causal" in c.parameters], ids=str)
def test_words_of_other_libraries_get_the_word_for_it_here(call):
    for word, ours in {
        "attn_mask": "mask= (boolean, True = may attend); numbers to add to the scores are bias=",
        "attention_mask": "mask= (boolean, True = may attend); numbers to add to the scores are bi",
        "key_padding_mask": "mask=padding_mask(lengths, Tk)",
        "is_causal": "causal=",
        "use_causal_mask": "causal=",
        "sm_scale": "scale=",
        "softmax_scale": "scale=",
        "softcap": "soft_cap=",
        "logits_soft_cap": "soft_cap=",
        "window_size": "mask=window_mask(...), or window= in the streaming form",
        "local_window_size": "mask=window_mask(...), or window= in the streaming form",
        "enable_gqa": "repeat_key_value_heads, or num_key_value_heads= of multi_head_attention",
        "dropout": "nothing: no weight is ever dropped",
        "dropout_p": "nothing: no weight is ever dropped",
    }.items():
        name = call.name.split(".")[-1]
        expected = f"TypeError: {name} has no {word}=: here that is {ours}"
        assert refusal(call, **required(call), **{word: None}).startswith(expected)
    with pytest.raises(TypeError, match="unexpected keyword argument 'masc'"):
        call(**required(call), masc=None)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_nothing_is_validated_by_assert_and_only_two_types_are_raised(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        assert not isinstance(node, ast.Assert), f"line {node.lineno}"
        if isinstance(node, ast.Raise):
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            assert raised.id in {"TypeError", "ValueError"}, f"line {node.lineno}"
