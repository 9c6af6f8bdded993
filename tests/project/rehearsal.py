"""The steps of CONTRIBUTING.md, taken in a copy of the repository: `make test-project`."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def copied(folder):
    """Copy the repository, without what is made, to a folder, and return it."""
    made = shutil.ignore_patterns("_build", "__pycache__", ".git", ".venv*", ".*_cache", "SA*.md")
    shutil.copytree(ROOT, folder, ignore=made)
    return folder
