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


# What attention is called with elsewhere, without what tunes an implementation.
ELSEWHERE = {
    "torch scaled_dot_product_attention": "query key value attn_mask dropout_p is_causal scale "
    "enable_gqa",
    "torch MultiheadAttention": "embed_dim num_heads dropout bias kdim vdim batch_first query key "
    "value key_padding_mask need_weights attn_mask average_attn_weights is_causal",
    "jax.nn.dot_product_attention": "query key value bias mask scale is_causal "
    "key_value_seq_lengths local_window_size return_residual",
    "keras MultiHeadAttention": "num_heads key_dim value_dim dropout use_bias sliding_window "
    "query value key value_mask key_mask attention_mask return_attention_scores training "
    "use_causal_mask",
    "keras.ops.dot_product_attention": "query key value bias mask scale is_causal "
    "attn_logits_soft_cap",
    "ONNX Attention": "Q K V attn_mask past_key past_value nonpad_kv_seqlen is_causal "
    "kv_num_heads q_num_heads scale softcap left_window_size right_window_size",
    "flash_attn_func": "q k v dropout_p softmax_scale causal window_size softcap alibi_slopes "
    "return_attn_probs",
    "xformers memory_efficient_attention": "query key value attn_bias p scale",
    "Hugging Face": "hidden_states query key value attention_mask scaling dropout sliding_window "
    "softcap past_key_values use_cache output_attentions num_key_value_heads",
    "FlashInfer": "q k v custom_mask causal sm_scale logits_soft_cap return_lse",
    "nobody in particular": "window n_heads heads return_weights dim axis causal_mask temperature "
    "offset mask bias keys values",
}


def unknown(call, word):
    """Return what Python says of a keyword that a function does not take."""
    return f"{call.name.split('.')[-1]}() got an unexpected keyword argument '{word}'"


@pytest.mark.parametrize("call", [c for c in CALLS if "causal" in c.parameters], ids=str)
def test_attention_knows_the_words_of_every_library(call):
    for words in ELSEWHERE.values():
        for word in set(words.split()) - call.parameters.keys():
            message = refusal(call, **required(call), **{word: None})
            assert message.startswith(f"TypeError: {unknown(call, word)}: here that is ")


TRANSLATED = """
scaled_dot_product_attention attn_mask
    mask= (boolean, True = may attend); numbers to add to the scores are bias=
scaled_dot_product_attention_vjp key_padding_mask
    mask=padding_mask(lengths, Tk), True = may attend
scaled_dot_product_attention window | mask=window_mask(...), or window= in the streaming form
scaled_dot_product_attention temperature | scale=1 / (temperature * sqrt(d_k))
scaled_dot_product_attention sm_scale | scale=
scaled_dot_product_attention num_heads
    nothing: heads are a leading axis, which split_heads makes; multi_head_attention has num_heads=
scaled_dot_product_attention need_weights
    nothing: attention_weights(scaled_scores(query, key), mask=mask) are the weights
scaled_dot_product_attention axis | nothing: arrays are (..., T, d)
scaled_dot_product_attention block_size | nothing: streaming_attention works in blocks
streaming_attention window_size
    window=(left, right), without the position itself, None for no limit
streaming_attention return_lse | nothing: attention_state(...).log_sum_exp
self_attention query | x=, which w_query projects
self_attention dropout_p | nothing: no weight is ever dropped
multi_head_attention heads | num_heads=
multi_head_attention enable_gqa | num_key_value_heads=
multi_head_attention k | x_key_value=, which w_key projects
multi_head_attention out_proj_weight | w_output=, transposed
attention_weights is_causal | mask=causal_mask(Tq, Tk)
attention_weights scale | nothing: it is the scale= of scaled_scores
attention_weights dim | nothing: the last axis is that of the keys
softmax dim | axis=
softmax temperature | nothing: divide the scores by it
softmax where | the mask= of attention_weights
softmax mask | nothing: the mask= of attention_weights and of attention hides keys
soft_cap softcap | cap=
window_mask sliding_window
    left= and right=, without the position itself, None for no limit
padding_mask seq_lens | lengths=
segment_mask segment_ids | segments=, a number for each position
rotate_pairs offset | positions=
rotate_pairs rope_theta | base=
cross_entropy ignore_index | mask= (boolean, True = this position counts)
cross_entropy labels | targets=
dot_similarity x2 | y=
KeyValueCache.attend offset | nothing: a cache counts the positions itself
AttentionState.of attn_mask | mask= (boolean, True = kept)
"""


@pytest.mark.parametrize("line", TRANSLATED.replace("\n    ", " | ").strip().splitlines())
def test_a_word_of_others_gets_what_it_is_in_this_function(line):
    called, says = line.split(" | ")
    name, word = called.split()
    call = BY_NAME[name]
    message = refusal(call, **required(call), **{word: None})
    assert message == f"TypeError: {unknown(call, word)}: here that is {says}"


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_a_misspelled_word_gets_the_right_one_and_a_strange_one_all_of_them(call):
    of = BY_NAME["AttentionState.merge"]
    names = ["other"] if call == of else list(call.parameters)
    with pytest.raises(TypeError) as caught:
        call.public(zzzz=None)
    assert str(caught.value) == f"{unknown(call, 'zzzz')}: it has {', '.join(names)}"
    for word in (n for n in names if len(n) > 4):
        typo = word[:2] + word[3] + word[2] + word[4:]
        if typo != word:
            with pytest.raises(TypeError) as caught:
                call.public(**{typo: None})
            assert str(caught.value) == f"{unknown(call, typo)}: did you mean {word}=?"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_nothing_is_validated_by_assert_and_only_two_types_are_raised(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        assert not isinstance(node, ast.Assert), f"line {node.lineno}"
        if isinstance(node, ast.Raise):
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            assert raised.id in {"TypeError", "ValueError"}, f"line {node.lineno}"
