"""Name the commit that the sources are at."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@cache
def commit() -> str:
    """Return the commit, marked where the sources differ; nothing where there is no clone."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # no git
        return ""
    return found.stdout.strip()
