"""What is promised of the checks, by what it is kept, and when: book/reference/promises.yml."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from press.markup import paragraph

PROMISES = Path("book", "reference", "promises.yml")
WORKFLOWS = Path(".github", "workflows")
# What tries the promises themselves: tests/project/promises.py.
TRIED = "test-promises"


def promises(root: Path) -> list[dict[str, Any]]:
    """Return the promises, in order."""
    found: list[dict[str, Any]] = yaml.safe_load((root / PROMISES).read_text("utf-8"))
    return found


def runs(root: Path, target: str) -> str:
    """Return when a target of the Makefile runs: read from what continuous integration does."""
    called = re.compile(rf"make {target}\b(?!-)")
    if called.search((root / ".ci" / "run").read_text("utf-8")):
        return "on each change"
    for workflow in sorted((root / WORKFLOWS).glob("*.yml")):
        text = workflow.read_text("utf-8")
        listed = re.search(r"target: \[(.*)\]", text)
        if called.search(text) or (listed and target in listed[1].split(", ")):
            return {"nightly": "every night", "weekly": "every week"}[workflow.stem]
    raise ExtensionError(f"no workflow runs make {target}")


class Promises(SphinxDirective):
    """``{promises}``: what is promised, what keeps it, what it has caught."""

    def run(self) -> list[nodes.Node]:
        """List all of them."""
        root = Path(self.env.srcdir)
        for name in (PROMISES, Path(".ci", "run"), *WORKFLOWS.glob("*.yml")):
            self.env.note_dependency(str(root / name))
        return [nodes.definition_list("", *items(root), classes=["errata"])]


def items(root: Path) -> Iterator[nodes.Node]:
    """Yield the promises, each with what is known of it."""
    when, tried = runs(root, "test"), runs(root, TRIED)
    for entry in promises(root):
        broken = entry["broken"]
        said = [
            paragraph("Kept by ", nodes.literal("", entry["kept"]), f", {when}."),
            paragraph(
                f"Broken on purpose {tried}: in ",
                nodes.literal("", broken["in"]),
                ", ",
                nodes.literal("", broken["old"]),
                " becomes ",
                nodes.literal("", broken["new"]),
                ", and the test has to fail.",
                classes=("uses",),
            ),
        ]
        if "caught" in entry:
            commit = nodes.literal("", entry["commit"])
            said.insert(1, paragraph(f"It has caught {entry['caught']} (", commit, ")."))
        yield nodes.definition_list_item(
            "", nodes.term("", entry["promise"]), nodes.definition("", *said)
        )
