"""Build the book strictly, show what happens, and end with a summary.

Sphinx runs afresh whenever an input has changed: a second, incremental run would forgive what
the first one refused. The results of the cells come from the cache where nothing that they
depend on has changed.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
from jupyter_cache import get_cache

from tools.check_site import check_site
from tools.commit import commit
from tools.fingerprint import cache_folder, fingerprint
from tools.wheel import RELEASED

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "_build"
SITE = BUILD / "html"
RECORD = BUILD / "built.json"
INPUTS = (
    *("_config.yml", "_toc.yml", "book", "requirements.txt", "selfattn_ref", "derivations"),
    *("tests/examples/test_recomputed.py", "tests/examples/test_calls.py", "tests/theorems"),
    *("tests/mutation", "tests/peers", "tests/record.json", "tools", "LICENSE", "CITATION.cff"),
    *("pyproject.toml", "README.md"),  # for the wheel
)

ENDED = "the build ended with exit code"
PROBLEM = re.compile(
    rf"\b(WARNING|ERROR|CRITICAL)\b|^(Extension error|Sphinx error|Exception|{ENDED})"
)
FAILED = "WARNING: Executing notebook failed"
# The error at the end of a traceback and, where its message goes on, two lines more.
ERROR = re.compile(r"^\w+: .*(?:\n .+){0,2}", re.M)
COLOR = re.compile(r"\x1b\[[0-9;]*m")
# The kernels listen on this machine only, for the seconds that a page takes.
KERNEL_NOTE = "[IPKernelApp] WARNING | Kernel is running over TCP without encryption"
CHECKED = re.compile(r"^SA\d{3} checked:")


def main() -> int:
    """Build where needed; return the exit code."""
    started = time.monotonic()
    inputs = f"{fingerprint(ROOT, INPUTS)} {commit()}"  # the foot of each page names the commit
    if RECORD.is_file():
        record = json.loads(RECORD.read_text())
        if record["inputs"] == inputs and record["site"] == listing(SITE):
            print("Nothing has changed since the last build.")
            return report(record["summary"], time.monotonic() - started)
    RECORD.unlink(missing_ok=True)
    for folder in (SITE, BUILD / ".doctrees", BUILD / "jupyter_execute"):
        shutil.rmtree(folder, ignore_errors=True)

    executed = execute_pages()
    problems = run_jupyter_book()
    cells, checked, unexecuted = read_cells()
    problems = with_causes(problems + unexecuted)
    if not problems:
        problems += check_site(SITE)
    if problems:
        print(f"\nThe book was not built: {len(problems)} problem(s).", file=sys.stderr)
        print("\n".join(f"  {problem}" for problem in problems), file=sys.stderr)
        return 1
    summary = {
        "pages": len(list(SITE.rglob("*.html"))),
        "cells": cells,
        "executed": executed,
        "examples": len(checked),
        "checks": sum(checked.values()),
        "warnings": 0,
    }
    BUILD.mkdir(exist_ok=True)
    record = {"inputs": inputs, "site": listing(SITE), "summary": summary}
    RECORD.write_text(json.dumps(record, indent=1))
    return report(summary, time.monotonic() - started)


def run(command: list[str]) -> Iterator[str]:
    """Run a command of the build, echo its lines as they come, and yield them."""
    environment = os.environ | {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1"}
    environment.setdefault("SOURCE_DATE_EPOCH", RELEASED)  # the same inputs, the same bytes
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            plain = COLOR.sub("", line).rstrip().split("\r")[-1].replace(f"{ROOT}{os.sep}", "")
            if not plain.startswith(KERNEL_NOTE):
                print(plain, flush=True)
                yield plain
    if process.returncode:
        yield f"{ENDED} {process.returncode}"


def execute_pages() -> int:
    """Execute the pages that are not in the cache; return their number."""
    lines = list(run([sys.executable, "-m", "tools.execute_pages"]))
    return sum("Execution Successful" in line for line in lines)


def run_jupyter_book() -> list[str]:
    """Run Jupyter Book and return its problems."""
    program = Path(sys.executable).with_name("jupyter-book")
    lines = run([str(program), "build", ".", "-W", "-n", "--keep-going", "--all"])
    problems = [line for line in lines if PROBLEM.search(line)]
    ended = [line for line in problems if line.startswith(ENDED)]
    return [line for line in problems if line not in ended] or ended


def with_causes(problems: list[str]) -> list[str]:
    """Say why the cells of a page failed, and leave out what follows from that."""
    failed = {problem.split(":")[0] for problem in problems if FAILED in problem}
    told = []
    for problem in problems:
        page = problem.split(":")[0]
        if FAILED in problem:
            log = (SITE / "reports" / page).with_suffix(".err.log")
            report = COLOR.sub("", log.read_text(encoding="utf-8")) if log.is_file() else ""
            causes = ERROR.findall(report)
            told.append(f"{page}: a cell failed: {causes[-1].strip() if causes else problem}")
        elif page not in failed:
            told.append(problem)
    return told


def read_cells() -> tuple[int, dict[str, int], list[str]]:
    """Count the executed cells and the worked examples checked; list the pages not executed."""
    cells = 0
    checked: dict[str, int] = {}
    unexecuted = []
    cache = get_cache(cache_folder(ROOT))
    sources = BUILD / "jupyter_execute"
    for path in sorted(sources.rglob("*.ipynb")):
        notebook = nbformat.read(path, nbformat.NO_CONVERT)
        page = path.relative_to(sources).with_suffix(".md")
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        if not code:
            continue
        try:
            notebook = cache.get_cache_bundle(cache.match_cache_notebook(notebook).pk).nb
        except KeyError:
            unexecuted.append(f"{page}: its cells were not executed")
            continue
        for cell in notebook.cells:
            if cell.cell_type != "code":
                continue
            cells += 1
            if cell.execution_count is None:
                unexecuted.append(f"{page}: a cell was not executed: {cell.source[:60]!r}")
            for output in cell.outputs:
                text = "".join(output.get("data", {}).get("text/plain", ""))
                if CHECKED.match(text):
                    checked[text[:5]] = checked.get(text[:5], 0) + 1
    return cells, checked, unexecuted


def report(summary: dict[str, int], seconds: float) -> int:
    """Print the summary of a successful build."""
    print(
        f"\nThe book is built.\n"
        f"  pages                    {summary['pages']}\n"
        f"  cells executed           {summary['cells']}"
        f" (pages run anew in the last build: {summary['executed']})\n"
        f"  worked examples checked  {summary['examples']} (in {summary['checks']} places)\n"
        f"  warnings                 {summary['warnings']}\n"
        f"  seconds                  {seconds:.1f}\n"
        f"  open                     {(SITE / 'index.html').as_uri()}"
    )
    return 0


def listing(folder: Path) -> str:
    """Return a hash of the names, sizes and times of all files of a folder."""
    state = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            facts = path.stat()
            state.update(f"{path}\0{facts.st_size}\0{facts.st_mtime_ns}\n".encode())
    return state.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
