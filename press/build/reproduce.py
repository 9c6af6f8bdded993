"""Prove that the same sources give the same bytes: `make reproduce`.

Two copies of what the build reads, with nothing built, become books under conditions that differ
in all that must not matter: the folder, the home, where packages are installed, the local day, the
locale, the seed of hashes, the mask of new files, the cores that they may use, and what the
processor is said to be able to, so that the last digits of its results differ. Then every file of
the two is compared: the site with its notebooks and archives; and, but for `--no-pdf`, the PDFs and
what a release attaches.
"""

import os
import platform
import shutil
import subprocess
import sys
import time
from itertools import zip_longest
from pathlib import Path

import numpy as np

from press.build.book import BUILD, INPUTS, ROOT
from press.build.fingerprint import files

FOLDERS = (BUILD / "reproduce" / "one", BUILD / "reproduce" / "das zweite Büchlein — ein Zwilling")
MADE = ("html", "release")
OLDER = {  # as if on a processor of 2004
    "NPY_DISABLE_CPU_FEATURES": " ".join(np.show_config("dicts")["SIMD Extensions"]["found"]),
    "OPENBLAS_CORETYPE": {"x86_64": "Prescott", "aarch64": "ARMV8"}.get(platform.machine(), ""),
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F",
}
# The local clocks of the two never show the same day.
CONDITIONS = (
    {"TZ": "A+12", "LC_ALL": "C", "PYTHONHASHSEED": "1"},
    {"TZ": "B-14", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "4242", **OLDER},
)
BROWSER = ROOT / ".venv-browser" / "bin" / "python"


def make(number: int, with_pdf: bool) -> Path:
    """Make one of the two books; return the folder of what was made."""
    folder, conditions = FOLDERS[number], CONDITIONS[number]
    home = folder.with_name(f"home {number}")
    home.mkdir()
    no_clone = {"GIT_CEILING_DIRECTORIES": f"{BUILD}"}  # or a commit in between were seen
    environment = os.environ | no_clone | {"HOME": f"{home}", "PYTHONPATH": ""} | conditions
    print(f"\n{number + 1} of 2: {folder}\n  {conditions}", flush=True)

    def confine() -> None:
        os.umask((0o022, 0o077)[number])
        if number and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])

    python = sys.executable
    if number and sys.prefix != sys.base_prefix:  # a virtual environment, which `make` has
        installed = folder.with_name("environment")
        shutil.copytree(sys.prefix, installed, symlinks=True, copy_function=link_or_copy)
        python = f"{installed / Path(python).relative_to(sys.prefix)}"
    steps = [(python, "-m", "press", "build")]
    if with_pdf:
        steps += [(f"{BROWSER}", "-m", "press", step) for step in ("pdf", "site")]
        steps += [(python, "-m", "press", "release")]
    for step in steps:
        started = time.monotonic()
        subprocess.run(step, cwd=folder, env=environment, check=True, preexec_fn=confine)
        print(f"{number + 1} of 2: {step[-1]}: {time.monotonic() - started:.0f} s", flush=True)
    return folder / "_build"


def link_or_copy(source: str, target: str) -> None:
    """Give a file a second name, or copy it to another disk."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def difference(one: Path, two: Path) -> str:
    """Say what differs first in two folders; nothing where nothing does."""
    first, second = (
        {f"{path.relative_to(top)}" for path in top.rglob("*") if path.is_file()}
        for top in (one, two)
    )
    for name in sorted(first | second):
        if name not in first & second:
            return f"{name} is in {one if name in first else two} alone"
        a, b = (one / name).read_bytes(), (two / name).read_bytes()
        if a != b:
            at = next(i for i, (x, y) in enumerate(zip_longest(a, b)) if x != y)
            line = a[:at].count(b"\n") + 1
            around = slice(max(0, at - 60), at + 60)
            shown = "\n".join(f"  {part[around].decode(errors='replace')!r}" for part in (a, b))
            return f"{name}, line {line}, byte {at}:\n{shown}"
    return ""


def main(arguments: list[str]) -> int:
    """Make both and compare them; return the exit code."""
    shutil.rmtree(BUILD / "reproduce", ignore_errors=True)
    for name, path in files(ROOT, INPUTS):
        for folder in FOLDERS:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / name)
    with_pdf = "--no-pdf" not in arguments
    try:
        one, two = make(0, with_pdf), make(1, with_pdf)
    except subprocess.CalledProcessError as error:
        print(f"\nerror: {' '.join(error.cmd[1:3])} failed, as is said above", file=sys.stderr)
        return 1
    for name in MADE:
        if told := difference(one / name, two / name):
            print(f"\nThe two are not the same: {name}/{told}", file=sys.stderr)
            return 1
    count = sum(path.is_file() for name in MADE for path in (one / name).rglob("*"))
    print(f"\nThe two are the same, byte for byte: {count} files.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
