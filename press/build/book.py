"""Build the book strictly, show what happens, and end with a summary.

The site is built beside the last good one and takes its place if nothing is wrong with it; a build
that fails or is interrupted leaves everything as it was. Sphinx reads and writes the whole book: it
would not know which pages show something of another that has changed. The results of the cells come
from the cache where nothing that they depend on has changed.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from press.build.check_html import check_site
from press.build.fingerprint import cache_folder, fingerprint
from press.site.commit import RELEASED, commit

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "_build"
SITE = BUILD / "html"
NEW = BUILD / "new"  # what becomes the site, and what the next build needs of this one
OLD = BUILD / "old"
STATE = (".doctrees", "html")
RECORD = BUILD / "built.json"
COMMIT = "commit.txt"  # the one file that names it: a commit alone changes no page
INPUTS = (
    *("_config.yml", "_toc.yml", "book", "requirements.txt", "selfattn_ref", "derivations"),
    *("tests/contracts", "tests/examples", "tests/library", "tests/pages", "tests/theorems"),
    *("tests/mutation", "tests/support", "tests/conftest.py"),
    "tests/site/test_live.py",  # which "How the project is built" reads
    *(".ci/run", ".github/workflows"),  # when commands run
    *("press", "LICENSE", "CITATION.cff", "pyproject.toml", "README.md"),
)

ENDED = "the build ended with"
# What a worker says in brackets, Sphinx says again with the page. What a kernel says outside of its
# cells ("ERROR:tornado.general: …", when it ends on a busy machine) is of no page.
PROBLEM = re.compile(rf"^(?!\[|[A-Z]+:\S).*\b(WARNING|ERROR|CRITICAL)\b|^{ENDED}")
FAILED = "WARNING: Executing notebook failed"
WARNED = "WARNING: stderr was found in the cell outputs"
WARNING = re.compile(r"\w+Warning: .*")
# The error at the end of a traceback and, where its message goes on, two lines more.
ERROR = re.compile(r"^\w+: .*(?:\n .+){0,2}", re.M)
COLOR = re.compile(r"\x1b\[[0-9;]*m")
PLACE_NOTE = "The HTML pages are in"  # for a moment: the summary says where they end
FULL = re.compile(r"No space left on device|Disk quota exceeded|File too large|disk is full")

Record = dict[str, Any]


def main() -> int:
    """Build where needed, unless another build is at it; return the exit code."""
    try:
        with alone():
            problems = build()
    except (OSError, sqlite3.Error) as error:  # such as a disk on which nothing may be written
        problems = [f"{error}"[:300]]
    except KeyboardInterrupt:
        tell(["it was interrupted; the site is as it was"])
        return 130
    if full := [problem for problem in problems if FULL.search(problem)]:
        problems = [f"the disk is full: {full[0]}"]  # whatever else is said follows from that
    if problems:
        tell(problems)
    return bool(problems)


def tell(problems: list[str]) -> None:
    """Print the problems, a line for each."""
    print(f"\nThe book was not built: {len(problems)} problem(s).", file=sys.stderr)
    print("\n".join(f"  {problem}" for problem in problems), file=sys.stderr)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Hold off other builds; the system lets go of the lock when this process ends, however."""
    BUILD.mkdir(exist_ok=True)
    with contextlib.closing(sqlite3.connect(BUILD / "lock", timeout=0)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" in f"{error}":
                raise OSError(
                    f"another build is running here (it holds {BUILD / 'lock'})"
                ) from None
            raise
        yield


def build() -> list[str]:
    """Build where needed and return the problems."""
    started = time.monotonic()
    if (OLD / "html").is_dir() and not SITE.is_dir():  # interrupted at the last moment
        (OLD / "html").rename(SITE)
    inputs = f"{fingerprint(ROOT, INPUTS)} {sys.version} {epoch()}"
    record = last_record()
    if record.get("inputs") == inputs and record.get("site") == listing(SITE):
        print("Nothing has changed since the last build.")
    else:
        shutil.rmtree(NEW, ignore_errors=True)
        NEW.mkdir(parents=True)
        problems, made = run(start_sphinx(), NEW)
        if not problems:
            (NEW / "html" / COMMIT).touch()  # where pages link to
            problems = check_site(NEW / "html")
        if problems:
            return problems
        record = made | {"inputs": inputs, "pages": len(list((NEW / "html").rglob("*.html")))}
        publish(record)
    told = commit() or "built from a copy without Git"
    (SITE / COMMIT).write_text(f"{told}\n", encoding="utf-8")
    report(record, time.monotonic() - started)
    return []


def last_record() -> Record:
    """Return the record of the last build; nothing if it is not whole."""
    try:
        record: Record = json.loads(RECORD.read_text("utf-8"))
        return record
    except (OSError, ValueError):
        return {}


def run(
    sphinx: subprocess.Popen[str], folder: Path, pages: Sequence[str] = ()
) -> tuple[list[str], Record]:
    """Build the whole book or some pages into a folder, and echo what Sphinx says.

    Return the problems, and what is counted.
    """
    assert sphinx.stdin is not None
    assert sphinx.stdout is not None
    asked = json.dumps([f"{folder}", *pages])
    lines = []
    try:
        with contextlib.suppress(BrokenPipeError):  # it has ended, and said why
            os.write(sphinx.stdin.fileno(), f"{asked}\n".encode())
        for line in sphinx.stdout:
            plain = COLOR.sub("", line).rstrip().split("\r")[-1].replace(f"{ROOT}{os.sep}", "")
            if not plain.startswith(PLACE_NOTE):
                print(plain, flush=True)
                lines.append(plain)
        if sphinx.wait():
            lines.append(f"{ENDED} exit code {sphinx.returncode}")
    finally:
        sphinx.kill()
    counted, unexecuted, warned = read_cells(folder)
    problems = with_causes(problems_of(lines) + unexecuted, warned, folder)
    executed = sum("Execution Successful" in line for line in lines)
    return problems, counted | {"executed": executed}


def publish(record: Record) -> None:
    """Put what has been built in the place of what was there."""
    shutil.rmtree(OLD, ignore_errors=True)
    OLD.mkdir()
    RECORD.unlink(missing_ok=True)
    for name in STATE:
        if (BUILD / name).exists():
            (BUILD / name).rename(OLD / name)
        (NEW / name).rename(BUILD / name)
    RECORD.write_text(json.dumps(record | {"site": listing(SITE)}, indent=1))
    shutil.rmtree(OLD)
    shutil.rmtree(NEW)


def epoch() -> str:
    """Return the time that the site bears: the same inputs, the same bytes."""
    return os.environ.get("SOURCE_DATE_EPOCH", RELEASED)


def start_sphinx() -> subprocess.Popen[str]:
    """Start the process that runs Sphinx; it imports what it needs and waits."""
    given = {"PYTHONUNBUFFERED": "1", "SOURCE_DATE_EPOCH": epoch()}
    return subprocess.Popen(
        [sys.executable, "-m", "press.build.run_sphinx"],
        cwd=ROOT,
        env={"PYTHONHASHSEED": "0"} | os.environ | given,  # `make reproduce` gives others
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def problems_of(lines: Iterable[str]) -> list[str]:
    """Return the lines that are problems; how the build ended only where there is no other."""
    problems = [line for line in lines if PROBLEM.search(line)]
    ended = [line for line in problems if line.startswith(ENDED)]
    return [line for line in problems if line not in ended] or ended[:1]


def with_causes(problems: list[str], warned: dict[str, list[str]], folder: Path) -> list[str]:
    """Say why the cells of a page failed, and leave out what follows from that; quote warnings."""
    failed = {problem.split(":")[0] for problem in problems if FAILED in problem}
    told = []
    for problem in problems:
        page = problem.split(":")[0]
        if FAILED in problem:
            log = (folder / "html" / "reports" / page).with_suffix(".err.log")
            report = COLOR.sub("", log.read_text(encoding="utf-8")) if log.is_file() else ""
            causes = ERROR.findall(report)
            cause = re.sub(r"\n\s+", "; ", causes[-1]) if causes else problem
            told.append(f"{page}: a cell failed: {cause}")
        elif WARNED in problem and warned.get(page):
            told.append(f"{problem.partition(' ')[0]} a cell warns: {warned[page].pop(0)}")
        elif page not in failed:
            told.append(problem)
    return told


def read_cells(folder: Path) -> tuple[Record, list[str], dict[str, list[str]]]:
    """Return how many cells there are and which examples they check, a name for each place.

    With that, the cells that were not executed, and what the cells of a page print as warnings.
    """
    import nbformat
    from jupyter_cache import get_cache

    from press.markup import agreement

    count, checked, unexecuted = 0, list[str](), list[str]()
    warned: dict[str, list[str]] = {}
    cache = get_cache(cache_folder(ROOT))
    sources = folder / "jupyter_execute"
    for path in sorted(sources.rglob("*.ipynb")):
        page = path.relative_to(sources).with_suffix(".md").as_posix()
        try:
            notebook = nbformat.read(path, nbformat.NO_CONVERT)
            if not any(cell.cell_type == "code" for cell in notebook.cells):
                continue
            notebook = cache.get_cache_bundle(cache.match_cache_notebook(notebook).pk).nb
        except (KeyError, ValueError):  # or Sphinx could not write all of it
            unexecuted.append(f"{page}: its cells were not executed")
            continue
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        unexecuted += [
            f"{page}: a cell was not executed: {cell.source[:60]!r}"
            for cell in code
            if cell.execution_count is None
        ]
        outputs = [output.get("data", {}) for cell in code for output in cell.outputs]
        shown = (agreement("".join(data.get("text/html", ""))) for data in outputs)
        checked += [found["id"] for found in shown if found]
        count += len(code)
        printed = [output for cell in code for output in cell.outputs if "text" in output]
        errors = [output.text.strip() for output in printed if output.name == "stderr"]
        warned[page] = [(WARNING.findall(text) or text.splitlines())[-1] for text in errors if text]
    return {"cells": count, "checked": checked}, unexecuted, warned


def report(record: Record, seconds: float) -> None:
    """Print the summary of a successful build."""
    print(
        f"\nThe book is built.\n"
        f"  pages                    {record['pages']}\n"
        f"  cells executed           {record['cells']}"
        f" (pages run anew in the last build: {record['executed']})\n"
        f"  worked examples checked  {len(set(record['checked']))}"
        f" (in {len(record['checked'])} places)\n"
        f"  warnings                 0\n"
        f"  seconds                  {seconds:.1f}\n"
        f"  open                     {(SITE / 'index.html').as_uri()}"
    )


def listing(folder: Path) -> str:
    """Return a hash of the names, sizes and times of all files of the site but the commit's."""
    state = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path != folder / COMMIT:
            facts = path.stat()
            state.update(f"{path}\0{facts.st_size}\0{facts.st_mtime_ns}\n".encode())
    return state.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
