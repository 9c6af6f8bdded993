"""Every fault is refused in one line, the site untouched, or survived: `make test-faults`.

Each breaks a copy of a miniature of the book, already built, in a way of its own. What is survived
ends with the site that a build from nothing gives, byte for byte.
"""

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.faults.miniature import BUILD, EXAMPLE, LESSON, Book, Run, causes, edit


class Fault(NamedTuple):
    """A way to break a book: what is to be said of it, and after which change it is survived."""

    breaks: Callable[[Book], Run | None]
    said: tuple[str, ...]
    change: str | None = None


FAULTS: dict[str, Fault] = {}


def refused(*said: str) -> Callable[..., None]:
    """Enter a fault that has to be refused, in one line that says this."""
    return lambda breaks: FAULTS.update({breaks.__name__: Fault(breaks, said)})


def survived(change: str, *said: str) -> Callable[..., None]:
    """Enter a fault after which the site has to be what a build of the changed book gives."""
    return lambda breaks: FAULTS.update({breaks.__name__: Fault(breaks, said, change)})


# The changes of a book that is built after a fault, or under it.
CHANGED = "The package has changed."


def nothing(book: Book) -> None:
    """Leave it as it was."""


def more(book: Book) -> None:
    """Add a sentence and a cell."""
    book.add("More.")
    book.add_cell("print('More', 6 * 7)")


def package(book: Book) -> None:
    """Change what a cell shows of the package."""
    edit(book.folder / "selfattn_ref" / "similarity.py", r'\A""".+"""', f'"""{CHANGED}"""')


CHANGES = {change.__name__: change for change in (nothing, more, package)}


def attempt(name: str, book: Book, clean: Callable[[str], dict[str, bytes]]) -> str:
    """Break a book and require what has to follow; return the line that was said."""
    fault, before = FAULTS[name], book.site()
    run = fault.breaks(book)
    lines = causes(run) if run else []
    if fault.said:
        assert run.returncode != 0, run.stdout[-2000:]
        assert "Traceback" not in run.stderr
        assert len(lines) == 1, lines
        assert [text for text in fault.said if text not in lines[0]] == [], lines
    if fault.change is None:
        assert book.site() == before
        return lines[0]
    built = book.build()
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr
    ours, theirs = book.site(), clean(fault.change)
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name] != theirs[name]] == []
    return lines[0] if lines else "the site is what a build from nothing gives"


class TestFaults:
    @pytest.mark.parametrize("name", FAULTS)
    def test_it_is_refused_or_survived(self, name: str, outcome: Callable[[str], str]) -> None:
        assert outcome(name)


PAGE = f"book/{LESSON}.md"


# --- A page ---------------------------------------------------------------------------------------


@refused(PAGE, "a cell failed: ZeroDivisionError: division by zero")
def a_cell_raises(book: Book) -> Run:
    book.add_cell("1 / 0")
    return book.build()


@refused(PAGE, "WorkedExampleMismatch: SA001", "dot[0, 0]: got 19.0, expected 18.0")
def a_number_is_wrong(book: Book) -> Run:
    edit(book.page(), r"dot=(dot_similarity.+)\)", r"dot=\1 + 1)")
    return book.build()


@refused("book/reference/how-to-cite.md", "duplicate label concepts-similarity", PAGE)
def a_label_stands_twice(book: Book) -> Run:
    book.add("(concepts-similarity)=\n## Again", "reference/how-to-cite")
    return book.build()


@refused("toctree", "nonexisting document 'book/concepts/gone'")
def a_page_of_the_table_of_contents_is_not_there(book: Book) -> Run:
    edit(book.folder / "_toc.yml", r"\Z", "      - file: book/concepts/gone\n")
    return book.build()


@refused(PAGE, "DeadKernelError", "Kernel died")
def a_kernel_is_killed(book: Book) -> Run:
    book.add_cell("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    return book.build()


@refused("BrokenProcessPool: A process in the process pool was terminated abruptly")
def what_executes_a_page_is_killed(book: Book) -> Run:
    """As by a system that is out of memory."""
    book.add_cell("import psutil\npsutil.Process().parent().kill()")
    return book.build()


@refused("the build ended with exit code -9")
def sphinx_is_killed(book: Book) -> Run:
    book.add_cell("import psutil\npsutil.Process().parent().parent().kill()")
    return book.build()


@refused("SyntaxError", "similarity.py")
def the_package_does_not_parse(book: Book) -> Run:
    edit(book.folder / "selfattn_ref" / "similarity.py", r"\Z", "\ndef half(\n")
    return book.build()


@refused(f"{LESSON}.md is not UTF-8")
def a_page_has_another_encoding(book: Book) -> Run:
    with book.page().open("ab") as page:
        page.write("ü\n".encode("latin-1"))
    return book.build()


# --- A worked example -----------------------------------------------------------------------------


@refused("released.json: Expecting")
def the_ledger_has_a_conflict(book: Book) -> Run:
    edit(book.folder / "derivations" / "released.json", r"\A", "<<<<<<< ours\n")
    return book.build()


@refused(f"{EXAMPLE} is released and its numbers or calls have changed")
def an_example_changed_after_its_release(book: Book) -> Run:
    edit(book.data(), r'"absolute": .+', '"absolute": 1e-9,')
    return book.build()


@refused(f"{EXAMPLE}.json: NaN is not JSON")
def the_data_has_a_nan(book: Book) -> Run:
    edit(book.data(), r"\[18\.0, ", "[NaN, ")
    return book.build()


# --- The build ------------------------------------------------------------------------------------


@refused("the disk is full", "File too large")
def the_disk_is_full(book: Book) -> Run:
    """No file may grow beyond 60 kB: a write fails half-way, as on a full disk."""
    more(book)
    return book.build(before=["bash", "-c", 'ulimit -f 60; exec "$@"', "bash"])


@refused("Permission denied", "_build")
def the_checkout_is_read_only(book: Book) -> Run:
    more(book)
    paths = [book.folder, *book.folder.rglob("*")]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    # Root loses its right to write where nobody may.
    bound = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    run = book.build(before=bound if os.getuid() == 0 else ())
    for path in paths:
        path.chmod(path.stat().st_mode | 0o200)
    return run


@contextlib.contextmanager
def building(book: Book, until: str) -> Iterator[subprocess.Popen[str]]:
    """Run a build, and do what follows when it says something."""
    with subprocess.Popen(
        BUILD,
        cwd=book.folder,
        env=os.environ | {"PYTHONPATH": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # a process group, as a shell makes one
        # A shell that puts the tests into the background has them ignore what Ctrl-C sends.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as build:
        assert any(until in line for line in build.stdout)
        yield build


@survived("more", "another build is running here")
def two_builds_run_at_once(book: Book) -> Run:
    before = book.site()
    more(book)
    with building(book, "Running Sphinx") as first:
        second = book.build()
        assert first.poll() is None
        assert book.site() == before
        first.communicate()
    assert first.returncode == 0
    return second


def interrupted(book: Book, stop: Callable[[int], None]) -> Run:
    """Stop a build while a cell runs, and change the page."""
    before, page = book.site(), book.page().read_text("utf-8")
    book.add_cell("import time\ntime.sleep(30)")
    with building(book, "Executing: ") as build:
        time.sleep(2)
        stop(build.pid)
        said = build.communicate(timeout=120)
    assert book.site() == before
    assert left_over(book) == []
    book.page().write_text(page, "utf-8")
    more(book)
    return subprocess.CompletedProcess(BUILD, build.returncode, *said)


def left_over(book: Book) -> list[str]:
    """Return the processes that work in the folder of a book, after some time to end."""
    for _ in range(100):
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "cwd").resolve(strict=True).is_relative_to(book.folder):
                    found.append((process / "cmdline").read_text("utf-8"))
        if not found:
            break
        time.sleep(0.1)
    return found


@survived("more", "it was interrupted")
def a_build_is_interrupted_by_its_user(book: Book) -> Run:
    return interrupted(book, lambda process: os.killpg(process, signal.SIGINT))


@survived("more")
def a_build_is_killed(book: Book) -> None:
    run = interrupted(book, lambda process: os.kill(process, signal.SIGKILL))
    assert run.returncode == -signal.SIGKILL


@survived("nothing")
def a_build_is_killed_when_it_puts_the_site_in_place(book: Book) -> None:
    """The old site has been moved away, and the new one is not there yet."""
    made = book.folder / "_build"
    (made / "old").mkdir()
    (made / "html").rename(made / "old" / "html")
    (made / "built.json").unlink()


@survived("nothing")
def the_file_that_names_the_commit_is_gone(book: Book) -> None:
    (book.folder / "_build" / "html" / "commit.txt").unlink()


@survived("nothing")
def a_stored_result_is_cut_short(book: Book) -> None:
    (result,) = book.folder.glob("_build/.executed/*/executed/*/base.ipynb")
    result.write_bytes(result.read_bytes()[:200])
    (book.folder / "_build" / "built.json").unlink()  # the build looks for it


@survived("package")
def the_package_changes_under_a_warm_cache(book: Book) -> None:
    page = f"{LESSON}.html"
    assert CHANGED.encode() not in book.site()[page]
    package(book)
    assert book.build().returncode == 0
    assert CHANGED.encode() in book.site()[page]


# Every Python of a build reads it first; the kernels have the folder of the book in their path.
NO_NETWORK = """
import sys

def refuse(event, arguments):
    if event in {"socket.getaddrinfo", "socket.gethostbyname"}:
        host = arguments[0]
    elif event in {"socket.connect", "socket.sendto"} and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return  # also what talks through a file
    if host not in {"127.0.0.1", "::1", "localhost"}:
        raise OSError(f"there is no network: {event} {host}")

sys.addaudithook(refuse)
"""
REACH_OUT = """
import socket, time
for reach in (
    lambda: socket.create_connection(("192.0.2.1", 80), timeout=1),
    lambda: socket.getaddrinfo("example.org", 80),
):
    try:
        reach()
    except OSError as error:
        assert "there is no network" in str(error), error
    else:
        raise SystemExit("there is a network")
"""


@survived("more")
def there_is_no_network_after_the_installation(book: Book) -> None:
    (book.folder / "sitecustomize.py").write_text(NO_NETWORK)
    path = {"PYTHONPATH": f"{book.folder}"}
    tried = book.run(sys.executable, "-c", REACH_OUT, **path)
    assert tried.returncode == 0, tried.stderr
    more(book)
    built = book.build(**path)
    assert built.returncode == 0, built.stdout + built.stderr


@survived("more")
def the_path_has_spaces_and_other_letters(book: Book) -> None:
    moved = book.folder.with_name("Bücher & 本 (mit Leerzeichen)")
    book.folder = book.folder.rename(moved)
    more(book)


# --- The environment ------------------------------------------------------------------------------


def with_one_package(book: Book, digest: str = "") -> dict[str, str]:
    """Require one package, which lies beside; return the environment in which pip finds it."""
    wheel = book.folder / "wheels" / "tiny-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    about = "tiny-1.0.dist-info"
    files = {
        "tiny.py": "",
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/RECORD": "",
    }
    files[f"{about}/RECORD"] = "".join(f"{name},,\n" for name in files)
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    digest = digest or hashlib.sha256(wheel.read_bytes()).hexdigest()
    requirements = book.folder / "requirements.txt"
    requirements.write_text(f"tiny==1.0 \\\n    --hash=sha256:{digest}\n")
    found = {"NO_INDEX": "1", "FIND_LINKS": f"{wheel.parent}"}
    python = {"PYTHON": getattr(sys, "_base_executable", sys.executable)}
    return python | {f"{tool}_{key}": one for tool in ("PIP", "UV") for key, one in found.items()}


OLD_PYTHON = """#!/bin/sh
exec '{}' -c 'import sys; sys.version_info = (3, 9, 18, "final", 0); exec(sys.argv.pop(2))' "$@"
"""


@refused("Python 3.11 or newer is missing: install it")
def python_is_too_old(book: Book) -> Run:
    programs = book.folder / "programs"
    programs.mkdir()
    for name in ("bash", "rm", "grep", "awk"):
        (programs / name).symlink_to(shutil.which(name))
    old = programs / "python3"
    old.write_text(OLD_PYTHON.format(sys.executable))
    old.chmod(0o755)
    return book.run(shutil.which("make"), "book", PATH=f"{programs}", PYTHON="")


@refused("tiny==1.0", "has not the hash that requirements.txt names")
def a_package_has_another_hash_than_the_lock(book: Book) -> Run:
    settings = with_one_package(book, digest="0" * 64)
    return book.run("make", "book", **settings)


@refused("No matching distribution found for tiny==1.0", "check the network")
def a_package_cannot_be_fetched(book: Book) -> Run:
    settings = with_one_package(book)
    shutil.rmtree(book.folder / "wheels")
    return book.run("make", "book", **settings)


@survived("nothing")
def the_environment_is_half_made(book: Book) -> None:
    requirements = book.folder / "requirements.txt"
    locked = requirements.read_bytes()
    settings = with_one_package(book)
    command = ["make", ".venv/.ready"]
    with subprocess.Popen(
        command,
        cwd=book.folder,
        env=os.environ | settings,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as making:
        assert any("Installing the 1 packages" in line for line in making.stdout)
        os.killpg(making.pid, signal.SIGKILL)
    python = book.folder / ".venv" / "bin" / "python"
    assert python.exists()
    assert book.run(python, "-c", "import tiny").returncode != 0
    made = book.run(*command, **settings)
    assert made.returncode == 0, made.stdout + made.stderr
    assert book.run(python, "-c", "import tiny").returncode == 0
    requirements.write_bytes(locked)
