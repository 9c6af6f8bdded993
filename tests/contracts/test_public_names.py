"""The names that a reader may rely on, where they live, and how they are called.

One table. A change of it is a change of the interface, and has to be made here on purpose.
"""

import ast
import importlib
import inspect
import pathlib
import re

import pytest

import selfattn_ref

# name: (module, signature). What stands after `*` has to be passed by name.
PUBLIC = {
    "AttentionState": ("streaming", "(shift, total, weighted)"),
    "KeyValueCache": ("cache", "()"),
    "attention_state": (
        "streaming",
        "(query, key, value, *, mask=None, bias=None, causal=False, "
        "offset=0, scale=None, block_size=None)",
    ),
    "attention_weights": ("weights", "(scores, *, mask=None)"),
    "bits_per_token": ("language", "(logits, targets, *, mask=None)"),
    "causal_mask": ("masks", "(Tq, Tk=None, *, offset=0)"),
    "cosine_similarity": ("similarity", "(x, y=None)"),
    "cross_entropy": ("language", "(logits, targets, *, mask=None)"),
    "dot_similarity": ("similarity", "(x, y=None)"),
    "euclidean_distance": ("similarity", "(x, y=None)"),
    "log_softmax": ("weights", "(x, axis=-1)"),
    "merge_heads": ("heads", "(x)"),
    "multi_head_attention": (
        "heads",
        "(x_query, x_key_value, w_query, w_key, w_value, w_output, *, num_heads, "
        "num_key_value_heads=None, mask=None, bias=None, scale=None)",
    ),
    "padding_mask": ("masks", "(lengths, Tk)"),
    "perplexity": ("language", "(logits, targets, *, mask=None)"),
    "repeat_key_value_heads": ("heads", "(x, num_heads)"),
    "rotate_pairs": ("positions", "(x, positions, *, base=10000.0, interleaved=False)"),
    "scaled_dot_product_attention": (
        "attention",
        "(query, key, value, *, mask=None, bias=None, scale=None)",
    ),
    "scaled_dot_product_attention_vjp": (
        "gradients",
        "(query, key, value, d_output, *, mask=None, bias=None, scale=None)",
    ),
    "scaled_scores": ("scores", "(query, key, *, scale=None)"),
    "self_attention": (
        "attention",
        "(x, w_query, w_key, w_value, *, mask=None, scale=None)",
    ),
    "self_attention_vjp": (
        "gradients",
        "(x, w_query, w_key, w_value, d_output, *, mask=None, scale=None)",
    ),
    "sinusoidal_encoding": ("positions", "(T, d_model, *, base=10000.0)"),
    "soft_cap": ("scores", "(scores, cap)"),
    "softmax": ("weights", "(x, axis=-1)"),
    "softmax_vjp": ("gradients", "(weights, d_weights)"),
    "split_heads": ("heads", "(x, num_heads)"),
    "streaming_attention": (
        "streaming",
        "(query, key, value, *, mask=None, bias=None, causal=False, "
        "offset=0, scale=None, block_size=None)",
    ),
    "streaming_attention_vjp": (
        "streaming",
        "(query, key, value, d_output, *, mask=None, bias=None, causal=False, "
        "offset=0, scale=None, block_size=None, state=None)",
    ),
    "window_mask": ("masks", "(Tq, Tk, left, right, *, offset=0)"),
}

# What each numeric module may import from the package: the pipeline, one way.
MAY_IMPORT = {
    "_checks": set(),
    "similarity": {"_checks"},
    "scores": {"_checks"},
    "masks": {"_checks"},
    "weights": {"_checks"},
    "attention": {"_checks", "scores", "weights"},
    "heads": {"_checks", "attention"},
    "positions": {"_checks"},
    "cache": {"_checks", "attention", "masks"},
    "gradients": {"_checks", "attention", "scores", "weights"},
    "language": {"_checks", "weights"},
    "streaming": {"_checks", "gradients", "masks", "weights"},
}

FOLDER = pathlib.Path(selfattn_ref.__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


def signature(function):
    """Return the signature as one writes it, without the types."""
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(function).parameters.values()
    ]
    return str(inspect.Signature(bare))


def imports_within_the_package(path):
    """Return the modules of the package that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "selfattn_ref" if node.level else (node.module or "")
            if node.level and node.module:
                base += "." + node.module
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        found |= {name.split(".")[1] for name in names if name.startswith("selfattn_ref.")}
    return found & {*MODULES, "worked_examples"}


def test_all_is_exactly_the_list():
    assert sorted(selfattn_ref.__all__) == sorted(PUBLIC)
    assert sorted(selfattn_ref.__all__) == selfattn_ref.__all__


def test_the_version_is_a_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", selfattn_ref.__version__)


@pytest.mark.parametrize("name", PUBLIC)
def test_each_name_lives_in_the_module_of_its_topic(name):
    topic, _ = PUBLIC[name]
    module = importlib.import_module(f"selfattn_ref.{topic}")
    function = getattr(selfattn_ref, name)
    assert function is getattr(module, name)
    assert function.__module__ == module.__name__
    assert function.__name__ == name
    assert name in module.__all__


@pytest.mark.parametrize("name", PUBLIC)
def test_each_function_is_called_as_the_table_says(name):
    _, expected = PUBLIC[name]
    assert signature(getattr(selfattn_ref, name)) == expected


@pytest.mark.parametrize("name", MODULES)
def test_a_module_exports_what_its_all_says_and_bears_no_name_of_it(name):
    module = importlib.import_module(f"selfattn_ref.{name}")
    assert name not in selfattn_ref.__all__
    if name.startswith("_"):
        return
    assert name not in module.__all__
    assert sorted(module.__all__) == module.__all__
    assert set(module.__all__) == {public for public, (topic, _) in PUBLIC.items() if topic == name}


@pytest.mark.parametrize("name", MODULES)
def test_dependencies_point_one_way(name):
    assert imports_within_the_package(FOLDER / f"{name}.py") == MAY_IMPORT[name]


@pytest.mark.parametrize(
    "line, found",
    [
        ("from selfattn_ref import _checks", {"_checks"}),
        ("from selfattn_ref.weights import softmax", {"weights"}),
        ("import selfattn_ref.worked_examples as w", {"worked_examples"}),
        ("def f():\n    from . import worked_examples", {"worked_examples"}),
        ("from .worked_examples import load", {"worked_examples"}),
        ("import numpy as np", set()),
    ],
)
def test_the_check_of_dependencies_sees_every_way_to_import(line, found, tmp_path):
    path = tmp_path / "module.py"
    path.write_text(line, encoding="utf-8")
    assert imports_within_the_package(path) == found
