"""Which parts of the project import which, read from their code."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

Needs = Mapping[str, set[str]]


def modules(root: Path, folders: Iterable[str]) -> dict[str, Path]:
    """Return the files of all modules below some folders, by their full names."""
    paths = (path for folder in folders for path in sorted((root / folder).rglob("*.py")))
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for path in paths
    }


def imported(name: str, path: Path) -> Iterator[str]:
    """Yield what a module may import by name, wherever in it the import stands.

    What is imported for the reader of types alone, under TYPE_CHECKING, is never run.
    """
    package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    tree = ast.parse(path.read_text("utf-8"))
    for block in (node for node in tree.body if isinstance(node, ast.If)):
        if isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING":
            tree.body.remove(block)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*above, *filter(None, [node.module])])
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


def needs(root: Path, folders: Iterable[str]) -> dict[str, set[str]]:
    """Return for each module the others that it imports."""
    found = modules(root, folders)
    needed = {name: {*imported(name, path)} & found.keys() for name, path in found.items()}
    # "from package import module" names the package, too, which need not import anything.
    return {
        name: {one for one in others if not any(o.startswith(f"{one}.") for o in others)} - {name}
        for name, others in needed.items()
    }


def rooms(of: Needs, room: Callable[[str], str]) -> dict[str, set[str]]:
    """Return for each room, of which every module has one, those that its modules import from."""
    found: dict[str, set[str]] = {room(name): set() for name in of}
    for name, others in of.items():
        found[room(name)] |= {room(other) for other in others} - {room(name)}
    return found


def levels(of: Needs) -> list[list[str]]:
    """Return names from the lowest level up: each needs only what is below it.

    A circle is a `graphlib.CycleError` that names it.
    """
    sorter = TopologicalSorter(of)
    sorter.prepare()
    found = []
    while sorter.is_active():
        found.append(sorted(sorter.get_ready()))
        sorter.done(*found[-1])
    return found


def direct(of: Needs) -> list[tuple[str, str]]:
    """Return the pairs of what needs and what is needed, without what follows from others."""
    return [
        (name, other)
        for name, others in of.items()
        for other in sorted(others)
        if not any(other in of[third] for third in others)
    ]
