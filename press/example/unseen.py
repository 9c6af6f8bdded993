"""What the worked examples and the generated cases do not see: computed in each build."""

import functools
import html
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from press.example import generated_catalog, public_bugs, slip_catalog
from press.example.precision import DTYPES
from press.markup import raw
from selfattn_ref.worked_examples import Call, calls, generated

SOURCES = (*slip_catalog.SOURCES, *public_bugs.SOURCES, generated_catalog.SOURCE)
BACKWARD = "scaled_dot_product_attention_vjp"


class Unseen(SphinxDirective):
    """``{unseen}``: the limits of what is asked, and the public bugs that are not caught."""

    def run(self) -> list[nodes.Node]:
        """Return a list, and the bugs in a fold."""
        for path in SOURCES:
            self.env.note_dependency(str(Path(self.env.srcdir, path)))
        found = public_bugs.bugs(Path(self.env.srcdir))
        missed, impossible = not_caught(found)
        lines = [*limits(), about_bugs(len(found), len(missed), len(impossible))]
        said = self.parse_text_to_nodes("\n".join(lines))
        return [*said, raw(fold(missed, impossible))]


class Sizes(NamedTuple):
    """The largest numbers of queries, keys and columns that are asked."""

    queries: int
    keys: int
    key_width: int
    value_width: int

    def __str__(self) -> str:
        return (
            f"{self.queries:,} queries, {self.keys:,} keys, "
            f"d_k = {self.key_width} and d_v = {self.value_width}"
        )


def largest(asked: Iterable[Call]) -> Sizes:
    """Return the largest sizes, each by itself."""
    shapes = [[array.shape for array in call.args[:3]] for call in asked]
    return Sizes(
        max(query[-2] for query, _, _ in shapes),
        max(key[-2] for _, key, _ in shapes),
        max(key[-1] for _, key, _ in shapes),
        max(value[-1] for _, _, value in shapes),
    )


@functools.cache
def recipes() -> list[Mapping[str, Any]]:
    """Return the recipe of each generated case."""
    return [generated.load(name).recipe for name in generated.names()]


def largest_generated() -> Sizes:
    """Return the largest sizes of the generated cases."""
    names = ("queries", "keys", "width", "value_width")
    return Sizes(*(max(recipe[name] for recipe in recipes()) for name in names))


def backward() -> Iterator[Call]:
    """Yield the calls that ask for gradients."""
    yield from calls(BACKWARD)
    yield from generated.calls(BACKWARD)


def options() -> set[str]:
    """Return the keywords that some call asks for."""
    asked = {name for call in calls() for name in call.kwargs}
    for recipe in recipes():
        asked |= {*recipe["options"]} | {name for name in ("mask", "bias") if recipe[name]}
    return asked


def limits() -> Iterator[str]:
    """Yield what is not asked."""
    probed = max(len(rows) for recipe in recipes() for rows in recipe["entries"].values())
    counts = generated_catalog.coverage().values()
    met, can = sum(count[0] for count in counts), sum(count[1] for count in counts)
    yield (
        f"- **Larger sizes.** The examples go up to {largest(calls())}. The generated cases go up"
        f" to {largest_generated()}, though not all in one case, and compare at most {probed}"
        f" entries of an output. Gradients go up to {largest(backward())}."
    )
    yield (
        f"- **Other options.** The calls use {', '.join(f'`{one}`' for one in sorted(options()))}. "
        f"Dropout, for one, is not tested. In the generated cases, {met:,} of the {can:,} pairs of"
        " sizes and options that can meet do; triples are not counted."
    )
    yield (
        f"- **Narrower numbers.** There is a bound for {', '.join(DTYPES)}. Formats of 8 or 4 bits"
        " and their scales are not tested. An error smaller than the allowance for rounding goes"
        " unseen; [how sharp each call is](#examples-precision) depends on the call."
    )
    yield (
        "- **What libraries do on purpose.** Good libraries differ on what a query without keys"
        " gets, and on whether a NaN in a hidden key or value shows in the output. A report says"
        " which convention is followed; each of them passes."
    )
    yield (
        "- **Mixed dtypes.** All arrays of a call have the same dtype. A bias in a wider dtype than"
        " the queries, for one, is not tested."
    )
    yield (
        "- **Other machines.** A call runs on your machine, a few times. A race that shows once in"
        " a thousand runs, or only on another GPU, cannot be seen. Nor can speed, or how much"
        " memory is used."
    )


def not_caught(found: list[public_bugs.Bug]) -> tuple[list[public_bugs.Bug], list[public_bugs.Bug]]:
    """Return the bugs that a call could show and none does, and those that no call can show."""
    caught = public_bugs.first_catches(found)
    impossible = [bug for bug in found if "not_expressible" in bug]
    missed = [bug for bug in found if "reproduced_by" in bug and bug["id"] not in caught]
    return missed, impossible


def about_bugs(every: int, missed: int, impossible: int) -> str:
    """Return how many of the public bugs are not caught."""
    open_ = f"They miss {missed} that a call could show, and n" if missed else "N"
    return (
        f"- **Some bugs that happened.** Of {every} [public bugs](#examples-public-bugs), the"
        f" calls catch {every - missed - impossible}. {open_}o call here can show the other"
        f" {impossible}."
    )


def fold(missed: list[public_bugs.Bug], impossible: list[public_bugs.Bug]) -> str:
    """Return the bugs that are not caught, with the reasons, as HTML."""
    rows = [(bug, "No call catches it yet.") for bug in missed]
    rows += [(bug, bug["not_expressible"]) for bug in impossible]
    listed = "".join(
        f'<li><a href="public-bugs.html#{bug["id"]}">{html.escape(bug["project"])}</a>: '
        f"{html.escape(bug['wrong'])} <em>{html.escape(why)}</em></li>"
        for bug, why in rows
    )
    return f"<details><summary>The {len(rows)} bugs, and why</summary><ul>{listed}</ul></details>"
