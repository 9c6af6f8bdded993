"""A notebook for every worked example: its inputs, its values computed, a function of yours.

It computes what the build computes before a page says that the library agrees, by the same lines.
"""

from collections.abc import Iterator
from typing import Any

from nbformat.v4 import new_code_cell, new_markdown_cell

from press.example.snippets import tested
from press.lesson.notebook import install_cell, terms
from press.site.citation import Work
from selfattn_ref.worked_examples import load, recipes


def cells_of(name: str, install: str, work: Work) -> Iterator[Any]:
    """Yield the cells of the notebook of an example."""
    example = load(name)
    said = (f"# {name}: {example.title}", example.why, work.url, terms())
    yield new_markdown_cell("\n\n".join(filter(None, said)))
    yield install_cell(install)
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
        f"{recipes.source(name)}\n\n\n"
        f"computed = {name.lower()}(selfattn_ref, example.inputs)\ncomputed"
    )
    yield new_code_cell("example.check(**computed)")
    if example.calls:
        function, mine = tested(example)
        yield new_markdown_cell(
            "## Test your own function\n\nPut it in the place of ours, in any library that "
            "NumPy can read."
        )
        yield new_code_cell(
            f"{mine} = selfattn_ref.{function}  # put yours here\n\n"
            "for call in example.calls:\n"
            f'    if call.function == "{function}":\n'
            f"        print(call.test({mine}))"
        )
    yield new_markdown_cell(f"## Cite it\n\n{work.sentence()}\n\n```bibtex\n{work.bibtex()}\n```")
