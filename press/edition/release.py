"""Put what a release attaches into _build/release: the same bytes from the same site.

The site and the examples as archives, the wheel and the PDF that the site serves, their checksums.
"""

import hashlib
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from press.edition.publish import NAME, SUMS
from press.site.commit import RELEASED
from selfattn_ref import __version__

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "site"  # as `make site` leaves it: with the PDF
RELEASE = ROOT / "_build" / "release"


def archive(folder: Path, files: Iterable[Path], target: Path) -> Path:
    """Write files of a folder into an archive that depends on their names and bytes alone."""
    with ZipFile(target, "w", ZIP_DEFLATED) as zipped:
        for path in sorted(files):
            entry = ZipInfo(path.relative_to(folder).as_posix(), time.gmtime(int(RELEASED))[:6])
            entry.external_attr = 0o644 << 16
            zipped.writestr(entry, path.read_bytes(), ZIP_DEFLATED, 9)
    return target


def release(site: Path, target: Path, version: str = __version__) -> list[Path]:
    """Fill the folder `target` and return its files, the checksums last."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    every = [path for path in site.rglob("*") if path.is_file() and "reports" not in path.parts]
    examples = [path for path in (site / "examples").iterdir() if path.suffix != ".html"]
    found = [
        archive(site, every, target / f"{NAME}-{version}.zip"),
        archive(site, examples, target / f"selfattn-examples-{version}.zip"),
    ]
    for path in [*(site / "examples").glob("*.whl"), *site.glob("*.pdf")]:
        found.append(Path(shutil.copy(path, target)))
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in found]
    (target / SUMS).write_text("".join(lines), encoding="utf-8")
    return [*found, target / SUMS]


def main() -> None:
    """Make the files of a release of the site that was built and list them."""
    if not (SITE / "index.html").is_file():
        raise SystemExit(f"error: there is no site in {SITE}: run 'make site' first.")
    for path in release(SITE, RELEASE):
        print(f"{path.stat().st_size:12,}  {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
