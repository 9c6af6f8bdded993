"""Build the wheel of the library that the site serves: the same bytes from the same sources."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from selfattn_ref import __version__
from tools.commit import RELEASED

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "selfattn_ref")
WHEEL = f"selfattn_ref-{__version__}-py3-none-any.whl"

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
