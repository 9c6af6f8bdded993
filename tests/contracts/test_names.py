"""The names that a reader may rely on: where they live, how they are called, what they import.

The table of calls says it; a change of it is a change of the interface, made there on purpose.
"""

import ast
import importlib
import inspect
import pathlib
import re
import textwrap

import pytest

import selfattn_ref
from tests.contracts.calls import CALLS
from tests.contracts.light_import import imported_modules, strangers

# What a class is made from; what it does stands in the table.
CLASSES = {
    "AttentionGradients": ("gradients", "(d_query, d_key, d_value)"),
    "AttentionState": ("streaming", "(shift, total, output)"),
    "KeyValueCache": ("cache", "()"),
    "SelfAttentionGradients": ("gradients", "(d_x, d_w_query, d_w_key, d_w_value)"),
}
FUNCTIONS = [call for call in CALLS if "." not in call.name]
MODULE_OF = {name: module for name, (module, _) in CLASSES.items()}
MODULE_OF |= {call.name: call.module for call in FUNCTIONS}

# What each numeric module may import from the package beside these: the pipeline, one way.
FOR_ALL = {"_boundary", "_kernels"}
MAY_IMPORT = {"_boundary": {"_kernels", "_keywords"}, "_kernels": set(), "_keywords": set()}
MAY_IMPORT |= {"heads": {"attention"}, "cache": {"streaming"}, "language": {"weights"}}
MAY_IMPORT |= {"streaming": {"gradients"}}

# What shows a reader less at once than the formula would, and why it may.
MANY_STEPS = {"multi_head_attention", "streaming_attention_vjp"}

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
        if parameter.name != "self"
    ]
    return str(inspect.Signature(bare))


def written(call):
    """Return the signature that the table says."""
    parts = [
        entry if entry == "*" else entry.name + (f"={entry.default}" if entry.default else "")
        for entry in call.entries
    ]
    return f"({', '.join(parts)})"


def imports_within_the_package(text):
    """Return the modules of the package that a text imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(text)):
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


def statements(function):
    """Count the statements of a function, those inside of others too, its docstring not."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body
    body = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    return len(body) - 1 - (ast.get_docstring(tree) is not None)


class TestExports:
    def test_every_public_name_stands_in_the_table_and_no_other(self):
        assert sorted(selfattn_ref.__all__) == selfattn_ref.__all__ == sorted(MODULE_OF)

    @pytest.mark.parametrize("name", MODULE_OF)
    def test_each_name_lives_in_the_module_of_its_topic(self, name):
        module = importlib.import_module(f"selfattn_ref.{MODULE_OF[name]}")
        function = getattr(selfattn_ref, name)
        assert function is getattr(module, name)
        assert f"{function.__module__}.".startswith(f"{module.__name__}.")
        assert function.__name__ == name

    @pytest.mark.parametrize("name", [name for name in MODULES if not name.startswith("_")])
    def test_a_module_exports_what_the_table_says_and_bears_no_name_of_it(self, name):
        module = importlib.import_module(f"selfattn_ref.{name}")
        assert module.__all__ == sorted(n for n, topic in MODULE_OF.items() if topic == name)
        assert name not in selfattn_ref.__all__

    def test_the_version_is_a_version(self):
        assert re.fullmatch(r"\d+\.\d+\.\d+", selfattn_ref.__version__)


class TestSignatures:
    @pytest.mark.parametrize("call", CALLS, ids=str)
    def test_a_function_is_called_as_the_table_says(self, call):
        expected = "(other)" if call.name == "AttentionState.merge" else written(call)
        assert signature(call.public) == expected

    @pytest.mark.parametrize("name", CLASSES)
    def test_a_class_is_made_from_what_the_table_says(self, name):
        assert signature(getattr(selfattn_ref, name)) == CLASSES[name][1]

    @pytest.mark.parametrize("call", FUNCTIONS, ids=str)
    def test_a_public_function_reads_boundary_formula_return(self, call):
        assert (statements(call.public) > 8) == (call.name in MANY_STEPS)


class TestImports:
    @pytest.mark.parametrize("parts", FILES, ids="/".join)
    def test_dependencies_point_one_way_and_no_private_name_crosses_a_module(self, parts):
        text = FILES[parts].read_text("utf-8")
        module = parts[0]
        if module != "__init__":
            allowed = MAY_IMPORT.get(module, set()) | {module}
            allowed |= set() if module.startswith("_") else FOR_ALL
            assert imports_within_the_package(text) <= allowed
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                private = {alias.name for alias in node.names if alias.name.startswith("_")}
                assert private <= MAY_IMPORT.keys()
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert not (node.value.id in MAY_IMPORT and node.attr.startswith("_")), node.attr

    @pytest.mark.parametrize(
        "text, found",
        [
            ("from selfattn_ref import _boundary", {"_boundary"}),
            ("from selfattn_ref.weights import softmax", {"weights"}),
            ("import selfattn_ref.worked_examples as w", {"worked_examples"}),
            ("def f():\n    from . import worked_examples", {"worked_examples"}),
            ("from .worked_examples import load", {"worked_examples"}),
            ("import numpy as np", set()),
        ],
    )
    def test_every_way_to_import_is_seen(self, text, found):
        assert imports_within_the_package(text) == found

    def test_importing_the_package_costs_numpy_and_nothing_else(self):
        modules = imported_modules(FOLDER.parent)
        assert "numpy" in modules
        assert strangers(modules) == set()
        # `import selfattn_ref` is for computing: the examples are loaded by who asks for them.
        assert not any(name.startswith("selfattn_ref.worked_examples") for name in modules)
