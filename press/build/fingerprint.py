"""Hash files by path and content, to know whether a result is still that of its inputs."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from platform import python_version

# What a page's result depends on beside its own cells. The cache of MyST-NB sees the cells only.
DEPENDENCIES = (
    *("selfattn_ref", "derivations", "book/figures", "book/reference/other_libraries.py"),
    "requirements.txt",
)
# The build makes the first from the data, which is an input itself; editors make the others.
UNSEEN = re.compile(r"SA\d{3}\.md|\..*|.*~")


def cache_folder(root: Path) -> Path:
    """Return the folder of the results of cells, one for each state of what they depend on."""
    state = f"{fingerprint(root, DEPENDENCIES)}-{python_version()}"
    folder = root / "_build" / ".executed" / state
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def files(root: Path, names: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Yield every file below `names`, which are folders or files of `root`, with its name there."""
    for name in names:
        top = root / name
        for path in sorted(p for p in top.rglob("*") if p.is_file()) if top.is_dir() else [top]:
            if "__pycache__" not in path.parts and not UNSEEN.fullmatch(path.name):
                yield path.relative_to(root).as_posix(), path


def fingerprint(root: Path, names: Iterable[str]) -> str:
    """Return a hash of all files below `names`."""
    state = hashlib.sha256()
    for name, path in files(root, names):
        state.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return state.hexdigest()[:16]
