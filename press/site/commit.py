"""Name the commit that the sources are at, and the time that all files of the site bear."""

import re
import subprocess
from datetime import datetime
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def released(root: Path = ROOT) -> str:
    """Return the day of the release as CITATION.cff gives it; nothing before there is one."""
    # Without a parser of YAML: the environment of the browser has none.
    found = re.search(r"^date-released: (\S+)", (root / "CITATION.cff").read_text("utf-8"), re.M)
    return found[1] if found else ""


# The time of all files: that of the release or, where this version has none yet, always the same.
RELEASED = str(int(datetime.fromisoformat(f"{released() or '2026-01-01'}T00:00Z").timestamp()))


@cache
def commit() -> str:
    """Return the commit, marked where the sources differ; nothing where there is no clone."""

    def git(*command: str) -> str:
        run = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True)
        return run.stdout.strip()

    try:
        found = git("describe", "--always", "--exclude", "*")
        differs = found and git("status", "--porcelain")  # files that git does not know, too
    except FileNotFoundError:  # no git
        return ""
    return f"{found}-dirty" if differs else found
