"""Wrong versions of the package, each of which the tests have to refuse.

A test that no error can fail proves nothing. Each entry of the table is one slip that somebody
could make; the command puts it into a copy of the package and wants the tests of that module to
fail::

    python -m tests.meta.mutants            # all of them
    python -m tests.meta.mutants softmax    # those whose name contains the word

It exits with 1 if one survives, or if its text is not found exactly once.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from tests.meta.mutants_table import MUTANTS as TABLE

ROOT = pathlib.Path(__file__).parents[2]
PASSED, FAILED = 0, 1  # of pytest; any other exit code means that it could not run the tests


@dataclass(frozen=True)
class Mutant:
    """One slip: the module, its text, and the text in its place."""

    name: str
    module: str
    old: str
    new: str

    @property
    def source(self):
        """Return the path of the module within the tree."""
        return pathlib.Path("selfattn_ref", f"{self.module}.py")

    def occurrences(self, root=ROOT):
        """Count how often the old text stands in the module."""
        return (root / self.source).read_text(encoding="utf-8").count(self.old)

    def apply(self, root):
        """Write the slip into the tree at `root`."""
        assert self.occurrences(root) == 1, self.name
        path = root / self.source
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")


MUTANTS = [Mutant(name, module, old, new) for module, name, old, new in TABLE]

# What has no tests of its own name, and what shows first in the tests of others.
TESTS = {
    "_boundary": (
        *("boundary", "attention", "scores", "similarity", "masks", "gradients", "cache"),
        *("heads", "language", "positions"),
    ),
    "_kernels": ("weights", "attention", "gradients", "masks", "streaming"),
    "cache": ("cache", "attention"),
    "heads": ("heads", "attention"),
    "streaming/blocks": ("streaming", "cache"),
    "streaming/state": ("streaming",),
}


def copy_tree(root, folder):
    """Copy what the tests of the modules need to another folder."""
    leave_out = shutil.ignore_patterns("__pycache__", "pages", "derivations", "meta", "contracts")
    for name in ("selfattn_ref", "tests"):
        shutil.copytree(root / name, folder / name, ignore=leave_out)
    shutil.copy(root / "pyproject.toml", folder)


def run_tests(folder, *tests):
    """Run tests in a tree until one fails, and return the exit code of pytest."""
    environment = os.environ | {
        "HYPOTHESIS_PROFILE": "quick",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True).returncode


def outcome(mutant, *tests):
    """Say what the tests of its module do with a mutant."""
    if mutant.occurrences() != 1:
        return f"its text stands {mutant.occurrences()} times in {mutant.source}"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        copy_tree(ROOT, folder)
        mutant.apply(folder)
        code = run_tests(folder, *(tests or test_files(mutant.module)))
    return {FAILED: "killed", PASSED: "SURVIVED"}.get(code, f"pytest could not run, exit {code}")


def test_files(module):
    """Return the paths of the tests that a mutant of a module has to fail."""
    return [f"tests/test_{topic}.py" for topic in TESTS.get(module, (module,))]


def main(words):
    """Run the mutants whose module or name contains one of the words; return the exit code."""
    chosen = [m for m in MUTANTS if not words or any(w in f"{m.module} {m.name}" for w in words)]
    if not chosen:
        print("No mutant has such a name.")
        return 1
    files = sorted({path for mutant in chosen for path in test_files(mutant.module)})
    with tempfile.TemporaryDirectory() as name:
        copy_tree(ROOT, pathlib.Path(name))
        if run_tests(name, *files) != PASSED:  # else every mutant would seem to be killed
            print("The tests fail without any mutant.")
            return 1
    start, bad = time.perf_counter(), []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(outcome, mutant): mutant for mutant in chosen}
        for count, done in enumerate(as_completed(running), 1):
            mutant = running[done]
            if done.result() != "killed":
                bad.append(mutant)
            print(f"{count:3}/{len(chosen)}  {mutant.module}: {mutant.name}: {done.result()}")
            sys.stdout.flush()
    seconds = time.perf_counter() - start
    print(f"{len(chosen) - len(bad)} of {len(chosen)} mutants killed in {seconds:.0f} s")
    for mutant in bad:
        print(f"NOT KILLED  {mutant.module}: {mutant.name}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
