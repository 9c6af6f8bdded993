"""Hash files by path and content, to know whether a result is still that of its inputs."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

# What a page's result depends on beside its own cells. The cache of MyST-NB sees the cells only.
DEPENDENCIES = ("selfattn_ref", "book/_lib", "tests/peers", "requirements.txt")
# The build makes these from the data, which is an input itself.
GENERATED = re.compile(r"SA\d{3}\.md")


def cache_folder(root: Path) -> Path:
    """Return the folder of the results of cells, one for each state of what they depend on."""
    folder = root / "_build" / ".executed" / fingerprint(root, DEPENDENCIES)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def fingerprint(root: Path, names: Iterable[str]) -> str:
    """Return a hash of all files below `names`, which are folders or files of `root`."""
    digest = hashlib.sha256()
    for name in names:
        top = root / name
        files = sorted(p for p in top.rglob("*") if p.is_file()) if top.is_dir() else [top]
        for path in files:
            if "__pycache__" not in path.parts and not GENERATED.fullmatch(path.name):
                digest.update(f"{path.relative_to(root)}\0{path.stat().st_size}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
