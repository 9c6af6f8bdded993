"""Build the wheel of the library that the site serves: the same bytes from the same sources."""

import os
import re
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from selfattn_ref import __version__

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "selfattn_ref")
WHEEL = f"selfattn_ref-{__version__}-py3-none-any.whl"
DAY = re.search(r"^date-released: (\S+)", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
# The date of all files: that of the release or, where this version has none yet, of its year.
RELEASED = str(int(datetime.fromisoformat(f"{DAY[1] if DAY else '2026-01-01'}T00:00Z").timestamp()))

# The hook that pip calls; a file keeps its mode in a wheel.
HOOK = """
import os, sys
from setuptools.build_meta import build_wheel
os.umask(0o022)
build_wheel(sys.argv[1])
"""


def build_wheel(folder: Path, root: Path = ROOT) -> Path:
    """Build the wheel of the sources below `root` into a folder, and return it."""
    environment = {"SOURCE_DATE_EPOCH": RELEASED} | os.environ
    with TemporaryDirectory() as name:
        copy = Path(name)  # the backend leaves files beside the sources
        for source in SOURCES:
            if (root / source).is_dir():
                made = shutil.ignore_patterns("__pycache__")
                shutil.copytree(root / source, copy / source, ignore=made)
            else:
                shutil.copyfile(root / source, copy / source)
        for path in copy.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        command = [sys.executable, "-c", HOOK, str(folder.resolve())]
        built = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    if built.returncode:
        raise RuntimeError(f"the wheel was not built:\n{built.stderr}")
    return folder / WHEEL
