"""Messages have one form: the argument, its shape, the rule; TypeError or ValueError, no other."""

import ast
import inspect
import pathlib
import re

import numpy as np
import pytest

import selfattn_ref

FOLDER = pathlib.Path(selfattn_ref.__file__).parent
MODULES = sorted({*FOLDER.glob("*.py"), *FOLDER.glob("streaming/*.py")})

ONES, WIDE = np.ones((3, 5)), np.ones((3, 2))

# One wrong shape for every function of arrays: what is passed, and what the message must hold.
WRONG_SHAPES = {
    "attention_state": (
        (ONES, ONES, np.ones((7, 5))),
        {},
        ("key", "(3, 5)", "value", "(7, 5)", "length", "3 and 7"),
    ),
    "attention_weights": ((ONES,), {"mask": np.ones((7, 5), bool)}, ("mask", "(7, 5)", "(3, 5)")),
    "bits_per_token": ((ONES, np.zeros(4, int)), {}, ("logits", "(3, 5)", "targets", "(4,)")),
    "cosine_similarity": ((ONES, WIDE), {}, ("x", "(3, 5)", "y", "(3, 2)", "width")),
    "cross_entropy": ((ONES, np.zeros(4, int)), {}, ("logits", "(3, 5)", "targets", "(4,)")),
    "dot_similarity": ((ONES, WIDE), {}, ("x", "(3, 5)", "y", "(3, 2)", "width")),
    "euclidean_distance": ((ONES, WIDE), {}, ("x", "(3, 5)", "y", "(3, 2)", "width")),
    "log_softmax": ((ONES, 7), {}, ("x", "(3, 5)", "axis 7")),
    "log_sum_exp": ((ONES,), {"mask": np.ones((7, 5), bool)}, ("mask", "(7, 5)", "(3, 5)")),
    "merge_heads": ((ONES,), {}, ("x", "(3, 5)", "(..., h, T, d)")),
    "multi_head_attention": (
        (ONES, ONES, ONES.T, ONES.T, ONES.T, ONES),
        {"num_heads": 2},
        ("w_query", "(5, 3)", "num_heads", "3 and 2"),
    ),
    "padding_mask": (([[1, 9]], 5), {}, ("lengths", "(1, 2)", "Tk = 5", "9", "(0, 1)")),
    "perplexity": ((ONES, np.zeros(4, int)), {}, ("logits", "(3, 5)", "targets", "(4,)")),
    "repeat_key_value_heads": (
        (np.ones((3, 5, 2)), 4),
        {},
        ("x", "(3, 5, 2)", "num_heads", "4 and 3"),
    ),
    "rotate_pairs": ((np.ones((3, 4)), ONES), {}, ("positions", "(3, 5)", "x", "(3, 4)", "(3,)")),
    "scaled_dot_product_attention": (
        (ONES, ONES, np.ones((7, 5))),
        {},
        ("key", "(3, 5)", "value", "(7, 5)", "length", "3 and 7"),
    ),
    "scaled_dot_product_attention_vjp": (
        (ONES, ONES, ONES, WIDE),
        {},
        ("d_output", "(3, 2)", "output", "(3, 5)"),
    ),
    "streaming_attention": (
        (ONES, ONES, ONES),
        {"mask": np.ones((7, 3), bool)},
        ("mask", "(7, 3)", "scores", "(3, 3)"),
    ),
    "streaming_attention_vjp": (
        (ONES, ONES, ONES, WIDE),
        {},
        ("d_output", "(3, 2)", "output", "(3, 5)"),
    ),
    "scaled_scores": ((ONES, WIDE), {}, ("query", "(3, 5)", "key", "(3, 2)", "width d_k")),
    "segment_mask": (
        (np.zeros((2, 3), int), np.zeros((3, 3), int)),
        {},
        ("segments", "(2, 3, 1)", "key_segments", "(3, 3, 1)"),
    ),
    "self_attention": (
        (ONES, WIDE, WIDE, WIDE),
        {},
        ("x", "(3, 5)", "w_query", "(3, 2)", "width d_model", "5 and 3"),
    ),
    "self_attention_vjp": (
        (ONES, WIDE, WIDE, WIDE, WIDE),
        {},
        ("x", "(3, 5)", "w_query", "(3, 2)", "width d_model", "5 and 3"),
    ),
    "softmax": ((ONES, 7), {}, ("x", "(3, 5)", "axis 7")),
    "softmax_vjp": ((ONES, WIDE), {}, ("weights", "(3, 5)", "d_weights", "(3, 2)")),
    "split_heads": ((ONES, 2), {}, ("x", "(3, 5)", "num_heads", "5 and 2")),
}
WITHOUT_SHAPES = {
    "AttentionGradients",
    "SelfAttentionGradients",
    "AttentionState",
    "KeyValueCache",
    "causal_mask",
    "sinusoidal_encoding",
    "soft_cap",
    "window_mask",
}


def test_every_function_is_asked():
    assert WRONG_SHAPES.keys() | WITHOUT_SHAPES == set(selfattn_ref.__all__)


@pytest.mark.parametrize("name", WRONG_SHAPES)
def test_a_wrong_shape_is_shown_with_its_name_and_the_rule(name):
    arguments, options, parts = WRONG_SHAPES[name]
    with pytest.raises(ValueError, match=re.escape(parts[0])) as caught:
        getattr(selfattn_ref, name)(*arguments, **options)
    assert caught.type is ValueError
    for part in parts:
        assert part in str(caught.value)


def arrays_by_place():
    """Yield each function with the place of each of its arrays of real numbers."""
    for name, (arguments, _, _) in WRONG_SHAPES.items():
        for place in range(len(arguments)):
            if isinstance(arguments[place], np.ndarray) and arguments[place].dtype.kind == "f":
                yield name, place


@pytest.mark.parametrize("name, place", list(arrays_by_place()))
@pytest.mark.parametrize("dtype", [complex, object, "U1", "S1", "M8[s]"])
def test_a_wrong_kind_is_shown_with_its_name_and_dtype(name, place, dtype):
    # Square arrays fit everywhere, so that the dtype is all that is wrong.
    arguments, options, _ = WRONG_SHAPES[name]
    arguments = [
        np.ones((6, 6)) if isinstance(argument, np.ndarray) else 2 for argument in arguments
    ]
    parameter = list(inspect.signature(getattr(selfattn_ref, name)).parameters)[place]
    arguments[place] = np.zeros((6, 6), dtype)
    with pytest.raises(TypeError) as caught:
        getattr(selfattn_ref, name)(*arguments, **options)
    assert caught.type is TypeError
    message = f"{parameter} must hold real numbers, got dtype {np.dtype(dtype)}"
    assert str(caught.value) == message


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_nothing_is_validated_by_assert_and_only_two_types_are_raised(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        assert not isinstance(node, ast.Assert), f"line {node.lineno}"
        if isinstance(node, ast.Raise):
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            assert raised.id in {"TypeError", "ValueError"}, f"line {node.lineno}"
