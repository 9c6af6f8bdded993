"""Put each slip of `slips.txt` into a copy and require that the tests fail.

A test that no error can fail proves nothing. A slip in the library has to fail one of the tests of
what it computes; a slip in a test of a statement, that test; one in the form of these tests, the
test of the form. ::

    python -m tests.mutation            # all of them
    python -m tests.mutation softmax    # those whose module or name contains the word
    python -m tests.mutation theorems   # those in the tests of statements, and in their form

It exits with 1 if a slip survives, if its text does not stand exactly once in its module, or if the
tests fail without any.
"""

import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).parents[2]
SLIPS = pathlib.Path(__file__).with_name("slips.txt")
PASSED, FAILED = 0, 1  # of pytest; any other exit code means that it could not run the tests

# The tests that notice the slips of a module first, where they have another name than it. The
# others follow.
FIRST = {
    "_boundary": ("errors", "dtypes", "layout", "attention", "scores", "masks", "gradients"),
    "_keywords": ("errors",),
    "_kernels": ("weights", "attention", "gradients", "masks", "streaming"),
    "cache": ("cache", "attention"),
    "heads": ("heads", "attention"),
    "streaming/blocks": ("streaming", "cache"),
    "streaming/state": ("streaming",),
}
FORM = "theorems/statement"  # of the tests of statements
# What is about something else.
LEFT_OUT = (
    *("__pycache__", "examples", "faults", "mutation", "pages", "peers", "project", "site"),
    "test_house.py",
)


@dataclass(frozen=True)
class Slip:
    """A slip: its module, its name, the text that it takes away and the text in its place.

    The module is one of the library, the form of the tests of statements, or one of these tests
    with its class, as `theorems/test_causal::TestPrefix`.
    """

    module: str
    name: str
    old: str
    new: str

    def applied(self, root):
        """Return the text of the module with the slip in it."""
        text = self.path(root).read_text("utf-8")
        if text.count(self.old) != 1 or self.old == self.new:
            raise ValueError(f"its text stands {text.count(self.old)} times in {self.path(root)}")
        changed = text.replace(self.old, self.new)
        ast.parse(changed)
        return changed

    def path(self, root):
        folder = "tests" if self.module.startswith("theorems/") else "selfattn_ref"
        return root / folder / f"{self.module.partition('::')[0]}.py"

    def tests(self, root):
        """Return the tests of a tree that may notice it, in groups: one after the other is run."""
        module, _, statement = self.module.partition("::")
        if statement:
            return [[f"tests/{module}.py::{statement}"]]
        if module == FORM:
            return [["tests/press/test_statement.py"]]
        names = {f"test_{topic}" for topic in FIRST.get(module, (module,))}
        files = sorted(
            f for name in ("contracts", "library") for f in root.glob(f"tests/{name}/test_*.py")
        )
        return [
            [str(f.relative_to(root)) for f in files if (f.stem in names) == first]
            for first in (True, False)
        ]


def read_slips(text):
    """Return the slips of the list: lines taken away, lines put in, and the name at their end."""
    found = []
    for section in re.split(r"^# ", text, flags=re.M)[1:]:
        module, _, body = section.partition("\n")
        for away, put in re.findall(r"((?:^- .*\n)+)((?:^\+ .*\n)+)", body, re.M):
            old = re.sub("^- ", "", away, flags=re.M)[:-1]
            for new, name in re.findall(
                r"(.*?)← ([^\n]+)\n", re.sub(r"^\+ ", "", put, flags=re.M), re.S
            ):
                found.append(Slip(module, name, old, new.removesuffix("  ")))
    assert len(found) == text.count("←"), "a slip has another form"
    return found


def copy_tree(folder):
    """Copy the library and what tests it to another folder; links to the rest do."""
    for path in ROOT.glob("[!._]*"):
        if path.name in ("selfattn_ref", "tests"):
            ignore = shutil.ignore_patterns(*LEFT_OUT)
            shutil.copytree(path, folder / path.name, ignore=ignore)
        else:
            (folder / path.name).symlink_to(path)


def run_tests(folder, tests):
    """Run tests in a tree until one fails, and return the exit code of pytest."""
    environment = os.environ | {
        "HYPOTHESIS_PROFILE": "quick",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True).returncode


def outcome(slip):
    """Say what the tests do with a slip."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        copy_tree(folder)
        slip.path(folder).write_text(slip.applied(folder), encoding="utf-8")
        for tests in slip.tests(folder):
            code = run_tests(folder, tests)
            if code != PASSED:
                break
    return {FAILED: "killed", PASSED: "SURVIVED"}.get(code, f"pytest could not run, exit {code}")


def main(words):
    """Run the slips whose module or name contains one of the words; return the exit code."""
    every = read_slips(SLIPS.read_text("utf-8"))
    chosen = [s for s in every if not words or any(w in f"{s.module} {s.name}" for w in words)]
    if not chosen:
        print("No slip has such a name.")
        return 1
    if len({(slip.module, slip.name) for slip in every}) != len(every):
        print("Two slips have one name.")
        return 1
    for slip in chosen:
        try:
            slip.applied(ROOT)
        except (ValueError, SyntaxError) as error:
            print(f"{slip.module}: {slip.name}: {error}")
            return 1
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        copy_tree(folder)
        # Otherwise every slip would seem to be noticed.
        needed = {test for slip in chosen for group in slip.tests(folder) for test in group}
        if run_tests(folder, sorted(needed)) != PASSED:
            print("The tests fail without any slip.")
            return 1
    start, bad = time.perf_counter(), []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(outcome, slip): slip for slip in chosen}
        for count, done in enumerate(as_completed(running), 1):
            slip = running[done]
            if done.result() != "killed":
                bad.append(slip)
            print(f"{count:3}/{len(chosen)}  {slip.module}: {slip.name}: {done.result()}")
            sys.stdout.flush()
    seconds = time.perf_counter() - start
    print(f"{len(chosen) - len(bad)} of {len(chosen)} slips noticed in {seconds:.0f} s")
    for slip in bad:
        print(f"NOT NOTICED  {slip.module}: {slip.name}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
