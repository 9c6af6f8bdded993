"""Bugs that were reported in public, and the first call that catches each: run in each build."""

import html
import inspect
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import selfattn_ref
from book.examples import public_bugs
from press.example import slip_catalog
from press.markup import defined, paragraph, raw, section
from selfattn_ref.worked_examples import Call, WorkedExampleMismatch, cases, slips

BUGS = Path("book", "examples", "public-bugs.yml")
SOURCES = [BUGS, Path("book", "examples", "public_bugs.py")]
ATTENTION = "scaled_dot_product_attention"

Bug = dict[str, str]


def bugs(root: Path) -> list[Bug]:
    """Return the bugs, those of a kind together."""
    found: list[Bug] = yaml.safe_load((root / BUGS).read_text("utf-8"))
    return found


def function_of(bug: Bug) -> Callable[..., Any] | None:
    """Return what makes the mistake, a slip or a function of its own; None if no call shows it."""
    name = bug.get("reproduced_by")
    if name is None:
        return None
    function: Callable[..., Any] = slips.SLIPS.get(name) or getattr(public_bugs, name)
    return function


def calls(name: str) -> Iterator[Call]:
    """Yield every call of a function whose result is known."""
    yield from (call for _, call in cases(name))


def is_asked(function: Callable[..., Any], call: Call) -> bool:
    """Tell whether a function takes the keywords of a call.

    ``**keywords`` are those that the library's function has, too, and no others.
    """
    own = inspect.signature(function).parameters
    known = {*own}
    if any(one.kind is one.VAR_KEYWORD for one in own.values()):
        known |= {*inspect.signature(getattr(selfattn_ref, call.function)).parameters}
    return known.issuperset(call.arguments)


def first_catches(found: list[Bug]) -> dict[str, str]:
    """Return, by the id of a bug, the example of the first call that tells it from what is right.

    Which generated case does is written down: they take longer, and the tests ask them. A call is
    made once for all bugs: the large ones take longer to make than to ask.
    """
    public_bugs.KEPT.clear()
    caught = {bug["id"]: bug["caught_by"] for bug in found if "caught_by" in bug}
    for name in {bug.get("function", ATTENTION) for bug in found}:
        open_ = {
            bug["id"]: function
            for bug in found
            if bug.get("function", ATTENTION) == name
            and bug["id"] not in caught
            and (function := function_of(bug))
        }
        for call in calls(name):
            with np.errstate(all="ignore"):
                now = [
                    one
                    for one, function in open_.items()
                    if is_asked(function, call) and call.differs_from(function)
                ]
            caught |= dict.fromkeys(now, call.example)
            open_ = {one: function for one, function in open_.items() if one not in caught}
        for one, function in open_.items():
            failed = (call.example for call in calls(name) if fails_elsewhere(function, call))
            if example := next(failed, None):
                caught[one] = example
    return caught


def fails_elsewhere(function: Callable[..., Any], call: Call) -> bool:
    """Tell whether a function fails a call in other memory, or the second time."""
    if call.expected is None or not is_asked(function, call):
        return False
    try:
        with np.errstate(all="ignore"):
            call.test(function)
    except WorkedExampleMismatch:
        return True
    return False


class PublicBugs(SphinxDirective):
    """``{public-bugs}``: each bug with its link, what went wrong, and what catches it first."""

    def run(self) -> list[nodes.Node]:
        """Run each bug against the calls until one differs, and list them by kind."""
        for path in (*SOURCES, *slip_catalog.SOURCES):
            self.env.note_dependency(str(Path(self.env.srcdir, path)))
        found = bugs(Path(self.env.srcdir))
        caught = first_catches(found)
        without = sum("not_expressible" in bug for bug in found)
        projects = len({bug["project"] for bug in found})
        head = (
            f"{len(found)} bugs of {projects} projects are listed here. The examples and the"
            f" generated cases catch {len(caught)}; {without} cannot be shown by a call, and the"
            " list says why."
        )
        parts: list[nodes.Node] = [paragraph(head)]
        for kind, group in groupby(found, key=lambda bug: bug["kind"]):
            rows = [self.row(bug, caught.get(bug["id"])) for bug in group]
            name = kind.split(",")[0].replace(" ", "-")
            title = kind[:1].upper() + kind[1:]
            parts.append(section(name, title, nodes.definition_list("", *rows, classes=["slips"])))
        return parts

    def row(self, bug: Bug, example: str | None) -> nodes.definition_list_item:
        """Return a bug with its link, which `make check-links` asks for, and what catches it."""
        name = bug.get("reproduced_by", "")
        if "not_expressible" in bug:
            said = f"Not shown by any call: {html.escape(bug['not_expressible'])}"
        elif example is None:
            said = "No call catches it yet."
        else:
            link = f'<a href="../{example}/index.html">{example}</a>'
            slip = f', as the slip <a href="slips.html#{name}">{name}</a>'
            case = f'<a href="generated.html#{example}">{example}</a>'
            said = f"Caught first by {link if example.startswith('SA') else case}"
            said += f"{slip if name in slips.SLIPS else ''}."
        item = defined(
            nodes.reference("", bug["project"], refuri=bug["link"]),
            paragraph(bug["wrong"]),
            paragraph(raw(said), classes=("caught",)),
        )
        item[0].insert(0, raw(f'<span id="{bug["id"]}"></span>'))  # with an id itself, it is a term
        return item
