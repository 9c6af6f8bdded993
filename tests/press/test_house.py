"""The rules that the tree of the project expresses: which way imports lead, and what is touched."""

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import sphinx.environment

from book.figures.imports import levels, modules, needs, rooms
from press.seams import SEAMS
from tests.pages.sources import ROOT

MACHINE = modules(ROOT, ["press", "book/figures"])
MOST_SEAMS = 40
# What others' classes ask to be overridden, as their documentation says.
DOCUMENTED = {
    *("run", "apply", "default_priority", "formats", "required_arguments", "optional_arguments"),
    *("has_content", "get_target_uri", "format", "tagname"),
    *("get", "get_absolute_path", "set_extra_headers", "write_error"),
}
# What runs in an environment with Sphinx; the rest, with a browser, has nothing to override.
IN_SPHINX = tuple(
    f"press.{part}"
    for part in (
        "build",
        "example",
        "extension",
        "fonts",
        "lesson",
        "math",
        "reference",
        "seams",
        "site",
    )
)
SPHINX = inspect.getsource(sphinx.environment)
OURS = ("press", "book", "selfattn_ref", "derivations")


def foreign(module: str) -> bool:
    return module.partition(".")[0] not in OURS and module != "builtins"


class TestImports:
    FOLDERS = ("selfattn_ref", "derivations", "book", "press", "tests")

    def test_no_module_imports_another_in_a_circle(self) -> None:
        assert levels(needs(ROOT, self.FOLDERS))

    def test_no_folder_imports_another_in_a_circle(self) -> None:
        folders = rooms(needs(ROOT, self.FOLDERS[:-1]), lambda name: "/".join(name.split(".")[:2]))
        assert levels({n: others for n, others in folders.items() if n.startswith("press/")} | {
            n: set() for n in folders if not n.startswith("press/")
        })  # fmt: skip

    @pytest.mark.parametrize(
        "below, allowed",
        [
            ("selfattn_ref", {"selfattn_ref"}),
            ("derivations", {"derivations"}),
            ("book", {"book", "selfattn_ref"}),
            ("press", {"press", "book", "selfattn_ref", "derivations"}),
        ],
    )
    def test_what_is_below_does_not_know_what_is_above(self, below: str, allowed: set[str]) -> None:
        of = needs(ROOT, self.FOLDERS)
        known = {o.partition(".")[0] for name in of if name.startswith(below) for o in of[name]}
        assert known <= allowed

    def test_the_press_uses_the_public_part_of_the_library(self) -> None:
        of = needs(ROOT, self.FOLDERS)
        private = [
            (name, other)
            for name in of
            if name.startswith("press.")
            for other in of[name]
            if other.startswith("selfattn_ref.") and "._" in other.replace(".__main__", "")
        ]
        assert private == []


def own_names() -> Iterator[str]:
    """Yield what the machine itself defines, and what Python documents with an underscore."""
    yield from ("_asdict", "_replace", "_exit")
    for path in MACHINE.values():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                yield node.attr


OWN = {*own_names()}


def touches(path: Path) -> Iterator[str]:
    """Yield the private names of others that a module names: attributes, strings, imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in OWN:
            yield node.attr
        elif isinstance(node, ast.ImportFrom) and foreign(node.module or "press"):
            yield from (a.name for a in node.names if is_private(a.name) and a.name != "_")
            yield from (part for part in (node.module or "").split(".") if is_private(part))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "setattr"):
            name = node.args[1]
            if isinstance(name, ast.Constant):
                yield str(name.value)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def patched(path: Path) -> Iterator[str]:
    """Yield the attributes of Sphinx that a module sets.

    What an extension keeps in the environment under a name of its own is documented.
    """
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            of = ast.unparse(node.value)
            if of in ("app", "app.config", "PygmentsBridge") or (
                of in ("env", "app.env") and node.attr in SPHINX
            ):
                yield node.attr


def overridden(module: ModuleType) -> Iterator[str]:
    """Yield what the classes of a module override of others' classes, undocumented."""
    for one in vars(module).values():
        if inspect.isclass(one) and one.__module__ == module.__name__:
            above = [base for base in one.__mro__[1:] if foreign(base.__module__)]
            names = [name for name in vars(one) if not name.startswith(("__", "_abc"))]
            yield from (n for n in names if any(n in vars(base) for base in above))


class TestSeams:
    def test_there_are_few(self) -> None:
        assert len(SEAMS) <= MOST_SEAMS

    @pytest.mark.parametrize("seam", SEAMS, ids=lambda seam: f"{seam.package}-{seam.name}")
    def test_it_is_there_and_used(self, seam) -> None:
        assert seam.is_there()
        text = (ROOT / "press" / "seams.py").read_text("utf-8")
        body = text[text.index("# --- Sphinx") :]
        assert seam.name in body, f"{seam.name} is listed and not touched"

    @pytest.mark.parametrize("name", MACHINE)
    def test_others_private_names_stand_in_one_file(self, name: str) -> None:
        found = {*touches(MACHINE[name]), *patched(MACHINE[name])}
        if name == "press.seams":
            found -= {"numfig"}  # a documented setting, set again
            assert found <= {seam.name for seam in SEAMS}
        else:
            assert found == set()

    @pytest.mark.parametrize("name", [n for n in MACHINE if n.startswith(IN_SPHINX)])
    def test_undocumented_methods_are_overridden_in_one_file(self, name: str) -> None:
        found = {*overridden(importlib.import_module(name))} - DOCUMENTED
        if name == "press.seams":
            assert found <= {seam.name for seam in SEAMS}
        else:
            assert found == set()
