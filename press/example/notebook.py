"""A notebook for every worked example: its inputs, its values computed, a function of yours.

It computes what the build computes before a page says that the library agrees, by the same lines.
"""

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from press.example.snippets import tested
from press.site.citation import Work
from press.site.sources import RECOMPUTED, RECOMPUTING
from selfattn_ref.worked_examples import load


@cache
def definitions() -> tuple[list[str], dict[str, ast.stmt]]:
    """Return the lines of the module that recomputes the examples, and what it defines."""
    module = importlib.import_module(RECOMPUTED.replace("/", "."))
    lines = inspect.getsource(module).splitlines()
    top = ast.parse("\n".join(lines)).body
    methods = next(n for n in top if isinstance(n, ast.ClassDef) and n.name == RECOMPUTING).body
    defined: dict[str, ast.stmt] = {}
    for node in (*top, *methods):
        if isinstance(node, ast.FunctionDef):
            defined[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            defined[node.targets[0].id] = node
        elif isinstance(node, ast.Import | ast.ImportFrom):
            defined |= {alias.asname or alias.name: node for alias in node.names}
    return lines, defined


def recipe(name: str) -> str:
    """Return the lines that compute every expected value of an example: a function and its helpers.

    The function is called as sa016(selfattn_ref, inputs).
    """
    lines, defined = definitions()
    needed: dict[str, None] = {}

    def need(one: str) -> None:
        for node in ast.walk(defined[one]):
            name = node.id if isinstance(node, ast.Name) else ""
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == RECOMPUTING:
                name = node.attr
            if name in defined and name not in (one, *needed):
                need(name)
        needed[one] = None

    need(name.lower())
    imports: dict[str, None] = {}
    parts: dict[str, None] = {}
    for one in needed:
        node = defined[one]
        text = textwrap.dedent("\n".join(lines[node.lineno - 1 : node.end_lineno]))
        kind = imports if isinstance(node, ast.Import | ast.ImportFrom) else parts
        kind[text.replace(f"{RECOMPUTING}.", "")] = None
    return "\n\n\n".join(filter(None, ("\n".join(imports), *parts)))


def cells_of(name: str, install: str, work: Work) -> Iterator[Any]:
    """Yield the cells of the notebook of an example."""
    example = load(name)
    yield new_markdown_cell(f"# {name}: {example.title}\n\n{example.why}\n\n{work.url}".rstrip())
    yield new_code_cell(
        f"# Once, where it is not installed: remove the first two characters of the next line.\n"
        f"# %{install}"
    )
    yield new_code_cell(
        "import selfattn_ref\nfrom selfattn_ref.worked_examples import load\n\n"
        f'example = load("{name}")\n'
        "for name, value in example.inputs.items():\n"
        '    print(f"{name}: {example.descriptions[name]}", value, sep="\\n", end="\\n\\n")'
    )
    yield new_markdown_cell(
        "## Compute it\n\nWith the library, as every build of the book does. Results of yours can "
        "stand in the place of `computed`."
    )
    yield new_code_cell(
        f"{recipe(name)}\n\n\ncomputed = {name.lower()}(selfattn_ref, example.inputs)\ncomputed"
    )
    yield new_code_cell("example.check(**computed)")
    if example.calls:
        function, mine = tested(example)
        yield new_markdown_cell(
            "## Test a function of yours\n\nPut it in the place of ours, in any library that "
            "NumPy can read."
        )
        yield new_code_cell(
            f"{mine} = selfattn_ref.{function}  # put yours here\n\n"
            "for call in example.calls:\n"
            f'    if call.function == "{function}":\n'
            f"        print(call.test({mine}))"
        )
    yield new_markdown_cell(f"## Cite it\n\n{work.sentence()}\n\n```bibtex\n{work.bibtex()}\n```")


def written(name: str, install: str, work: Work) -> str:
    """Return the notebook of an example as text, the same in every build."""
    cells = list(cells_of(name, install, work))
    for number, cell in enumerate(cells):
        cell["id"] = f"{name.lower()}-{number}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)) + "\n"
