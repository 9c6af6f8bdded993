"""What is promised of the checks, by what it is kept, and when: book/reference/promises.yml."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from press.markup import paragraph
from press.site.sources import PROMISES, promises, to_test

WHEN: dict[str, str] = {
    ".ci/run": "on each change",
    ".github/workflows/nightly.yml": "every night",
    ".github/workflows/weekly.yml": "every week",
}
# What tries the promises themselves: tests/project/promises.py.
TRIED = "test-promises"


def runs(root: Path, target: str) -> str:
    """Return when a target of the Makefile runs: read from what continuous integration does."""
    for name, when in WHEN.items():
        file = root / name
        text = file.read_text("utf-8")
        if target in (targets(yaml.safe_load(text)) if file.suffix else called(text)):
            return when
    raise ExtensionError(f"no workflow runs make {target}")


def targets(workflow: Mapping[str, Any]) -> set[str]:
    """Return the targets that a workflow makes, one at a time or as a matrix."""
    found = set()
    for job in workflow["jobs"].values():
        found.update(job.get("strategy", {}).get("matrix", {}).get("target", ()))
        for step in job["steps"]:
            found |= called(step.get("run", ""))
    return found


def called(script: str) -> set[str]:
    """Return the targets that a script makes."""
    return set(re.findall(r"^make ([a-z-]+)", script, re.M))


class Promises(SphinxDirective):
    """``{promises}``: what is promised, what keeps it, what it has caught."""

    def run(self) -> list[nodes.Node]:
        """List all of them."""
        root = Path(self.env.srcdir)
        for name in (str(PROMISES), *WHEN):
            self.env.note_dependency(str(root / name))
        listed = items(self.env.app, self.env.docname)
        return [nodes.definition_list("", *listed, classes=["errata"])]


def items(app: Sphinx, page: str) -> Iterator[nodes.Node]:
    """Yield the promises for a page, each with what is known of it."""
    root = Path(app.srcdir)
    when, tried = runs(root, "test"), runs(root, TRIED)
    for entry in promises(root):
        broken = entry["broken"]
        said = [
            paragraph("Kept by ", to_test(app, page, entry["kept"]), f", {when}."),
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
        for commit, what in entry.get("caught", {}).items():
            said.insert(-1, paragraph(f"It has caught {what} (", nodes.literal("", commit), ")."))
        yield nodes.definition_list_item(
            "", nodes.term("", entry["promise"]), nodes.definition("", *said)
        )
