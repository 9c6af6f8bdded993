"""What is promised of the checks, by what it is kept, and when: book/reference/promises.yml."""

import re
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from press.markup import defined, paragraph
from press.site.sources import PROMISES, promises, to_test

SCRIPT = ".ci/run"
WORKFLOWS = [f".github/workflows/{name}.yml" for name in ("ci", "nightly", "weekly")]
# What tries the promises themselves: tests/project/promises.py.
TRIED = "test-promises"


def runs(root: Path, target: str) -> str:
    """Return when a target of the Makefile runs: read from the workflows and what starts them."""
    script = called((root / SCRIPT).read_text("utf-8"))
    for name in WORKFLOWS:
        workflow = yaml.safe_load((root / name).read_text("utf-8"))
        if target in targets(workflow, script):
            return often(workflow)
    raise ExtensionError(f"no workflow runs make {target}")


def often(workflow: Mapping[Any, Any]) -> str:
    """Return how often a workflow starts by itself."""
    starts = workflow[True]  # so YAML reads "on"
    if {"push", "pull_request"} <= starts.keys():
        return "on each change"
    (schedule,) = starts["schedule"]
    match schedule["cron"].split():
        case _, _, "*", "*", "*":
            return "every night"
        case _, _, "*", "*", day if day.isdecimal():
            return "every week"
    raise ExtensionError(f"{schedule['cron']} is neither every night nor every week")


def targets(workflow: Mapping[Any, Any], script: Set[str]) -> set[str]:
    """Return the targets that a workflow makes: one at a time, as a matrix, or by the script."""
    found = set()
    for job in workflow["jobs"].values():
        found.update(job.get("strategy", {}).get("matrix", {}).get("target", ()))
        for step in job["steps"]:
            found |= called(step.get("run", ""))
            found |= script if step.get("run") == f"bash {SCRIPT}" else set()
    return found


def called(script: str) -> set[str]:
    """Return the targets that a script makes."""
    return set(re.findall(r"^make ([a-z-]+)", script, re.M))


class Promises(SphinxDirective):
    """``{promises}``: what is promised, what keeps it, what it has caught."""

    def run(self) -> list[nodes.Node]:
        """List all of them."""
        root = Path(self.env.srcdir)
        for name in (str(PROMISES), SCRIPT, *WORKFLOWS):
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
        yield defined(nodes.Text(entry["promise"]), *said)
