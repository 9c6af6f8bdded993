"""Archives that depend on the names and the bytes of their files alone."""

import time
from collections.abc import Iterable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from press.site.commit import RELEASED


def archive(folder: Path, files: Iterable[Path], target: Path, top: str = "") -> Path:
    """Write files of a folder into an archive that depends on their names and bytes alone."""
    with ZipFile(target, "w", ZIP_DEFLATED) as zipped:
        for path in sorted(files):
            name = f"{top}{path.relative_to(folder).as_posix()}"
            entry = ZipInfo(name, time.gmtime(int(RELEASED))[:6])
            entry.external_attr = 0o644 << 16
            zipped.writestr(entry, path.read_bytes(), ZIP_DEFLATED, 9)
    return target
