"""Put what a release attaches into _build/release: the same bytes from the same site.

The site as an archive; the archives of examples, the wheel and the PDFs that it serves; checksums.
"""

import hashlib
import shutil
from pathlib import Path

from press.edition.publish import NAME, SUMS
from press.site.archives import archive
from selfattn_ref import __version__

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "site"  # as `make site` leaves it: with the PDFs
RELEASE = ROOT / "_build" / "release"


def release(site: Path, target: Path, version: str = __version__) -> list[Path]:
    """Fill the folder `target` and return its files, the checksums last."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    every = [path for path in site.rglob("*") if path.is_file() and "reports" not in path.parts]
    found = [archive(site, every, target / f"{NAME}-{version}.zip")]
    for path in sorted((site / "examples").glob("*.zip")):
        found.append(Path(shutil.copy(path, target / f"{path.stem}-{version}.zip")))
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
