"""The names that a reader may rely on, where they live, and how they are called.

One table. A change of it is a change of the interface, and has to be made here on purpose.
"""

import ast
import importlib
import inspect
import pathlib
import re
import textwrap

import pytest

import selfattn_ref

# name: (module, signature). What stands after `*` has to be passed by name.
PUBLIC = {
    "AttentionGradients": ("gradients", "(d_query, d_key, d_value)"),
    "AttentionState": ("streaming", "(shift, total, output)"),
    "KeyValueCache": ("cache", "()"),
    "attention_state": (
        "streaming",
        "(query, key, value, *, mask=None, bias=None, scale=None, soft_cap=None, causal=False, "
        "offset=0, window=None, block_size=None)",
    ),
    "attention_weights": ("weights", "(scores, *, mask=None)"),
    "bits_per_token": ("language", "(logits, targets, *, mask=None)"),
    "causal_mask": ("masks", "(Tq, Tk=None, *, offset=0)"),
    "cosine_similarity": ("similarity", "(x, y=None)"),
    "cross_entropy": ("language", "(logits, targets, *, mask=None)"),
    "dot_similarity": ("similarity", "(x, y=None)"),
    "euclidean_distance": ("similarity", "(x, y=None)"),
    "SelfAttentionGradients": ("gradients", "(d_x, d_w_query, d_w_key, d_w_value)"),
    "log_softmax": ("weights", "(x, axis=-1)"),
    "log_sum_exp": ("weights", "(scores, *, mask=None)"),
    "merge_heads": ("heads", "(x)"),
    "multi_head_attention": (
        "heads",
        "(x_query, x_key_value, w_query, w_key, w_value, w_output, *, num_heads, "
        "num_key_value_heads=None, mask=None, bias=None, scale=None, soft_cap=None, "
        "causal=False, offset=0)",
    ),
    "padding_mask": ("masks", "(lengths, Tk)"),
    "perplexity": ("language", "(logits, targets, *, mask=None)"),
    "repeat_key_value_heads": ("heads", "(x, num_heads)"),
    "rotate_pairs": ("positions", "(x, positions, *, base=10000.0, interleaved=False)"),
    "scaled_dot_product_attention": (
        "attention",
        "(query, key, value, *, mask=None, bias=None, scale=None, soft_cap=None, causal=False, "
        "offset=0)",
    ),
    "scaled_dot_product_attention_vjp": (
        "gradients",
        "(query, key, value, d_output, *, mask=None, bias=None, scale=None, soft_cap=None, "
        "causal=False, offset=0)",
    ),
    "scaled_scores": ("scores", "(query, key, *, scale=None)"),
    "segment_mask": ("masks", "(segments, key_segments=None)"),
    "self_attention": (
        "attention",
        "(x, w_query, w_key, w_value, *, mask=None, bias=None, scale=None, soft_cap=None, "
        "causal=False, offset=0)",
    ),
    "self_attention_vjp": (
        "gradients",
        "(x, w_query, w_key, w_value, d_output, *, mask=None, bias=None, scale=None, "
        "soft_cap=None, causal=False, offset=0)",
    ),
    "sinusoidal_encoding": ("positions", "(T, d_model, *, base=10000.0)"),
    "soft_cap": ("scores", "(scores, cap)"),
    "softmax": ("weights", "(x, axis=-1)"),
    "softmax_vjp": ("gradients", "(weights, d_weights)"),
    "split_heads": ("heads", "(x, num_heads)"),
    "streaming_attention": (
        "streaming",
        "(query, key, value, *, mask=None, bias=None, scale=None, soft_cap=None, causal=False, "
        "offset=0, window=None, block_size=None)",
    ),
    "streaming_attention_vjp": (
        "streaming",
        "(query, key, value, d_output, *, mask=None, bias=None, scale=None, soft_cap=None, "
        "causal=False, offset=0, window=None, block_size=None, state=None)",
    ),
    "window_mask": ("masks", "(Tq, Tk, left, right, *, offset=0)"),
}

# What each numeric module may import from the package: the pipeline, one way.
MAY_IMPORT = {
    "_kernels": set(),
    "_boundary": {"_kernels"},
    "similarity": set(),
    "scores": set(),
    "masks": set(),
    "weights": set(),
    "attention": set(),
    "heads": {"attention"},
    "positions": set(),
    "cache": {"streaming"},
    "gradients": set(),
    "language": {"weights"},
    "streaming": {"gradients"},
}
FOR_ALL = {"_boundary", "_kernels"}

FOLDER = pathlib.Path(selfattn_ref.__file__).parent
FILES = {
    path.relative_to(FOLDER).with_suffix("").parts: path
    for path in FOLDER.rglob("*.py")
    if "worked_examples" not in path.parts
}
MODULES = sorted({parts[0] for parts in FILES} - {"__init__"})


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
    assert f"{function.__module__}.".startswith(f"{module.__name__}.")
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


@pytest.mark.parametrize("parts", FILES, ids="/".join)
def test_dependencies_point_one_way(parts):
    if parts == ("__init__",):
        return
    allowed = MAY_IMPORT[parts[0]] | {parts[0]}
    if not parts[0].startswith("_"):
        allowed |= FOR_ALL
    assert imports_within_the_package(FILES[parts]) <= allowed


@pytest.mark.parametrize("parts", FILES, ids="/".join)
def test_no_private_name_crosses_a_module(parts):
    tree = ast.parse(FILES[parts].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            private = {alias.name for alias in node.names if alias.name.startswith("_")}
            assert private <= FOR_ALL
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert not (node.value.id in FOR_ALL and node.attr.startswith("_")), node.attr


# What shows a reader less at once than the formula would, and why it may.
MANY_STEPS = {"multi_head_attention", "streaming_attention_vjp"}


def statements(function):
    """Count the statements of a function, those inside of others too, its docstring not."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body
    body = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    return len(body) - 1 - (ast.get_docstring(tree) is not None)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_function_reads_boundary_formula_return(name):
    function = getattr(selfattn_ref, name)
    if inspect.isfunction(function) and name not in MANY_STEPS:
        assert statements(function) <= 8


def test_statements_are_counted():
    def example(x):
        """Say something."""
        y = x
        if y:
            y += 1
        return y

    assert statements(example) == 4
    assert all(statements(getattr(selfattn_ref, name)) > 8 for name in MANY_STEPS)


@pytest.mark.parametrize(
    "line, found",
    [
        ("from selfattn_ref import _boundary", {"_boundary"}),
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
