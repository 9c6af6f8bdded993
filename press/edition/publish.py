"""Arrange the sites of all releases side by side, as they are published.

    python -m press publish OUT ARCHIVE…

Each archive is the site of a release, with its SHA256SUMS beside it. OUT gets /v1.0/ for each of
them (of several 1.0.x the last), /latest/ for the newest, and for each address without a version a
page that leads to the newest; what is no page is there itself, and so is the wheel of each archive.
No page of a site is changed: which versions there are, and which of its pages each of them lacks,
stands in one script of each, _static/versions.js.
"""

import hashlib
import html
import json
import re
import shutil
import sys
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit
from zipfile import BadZipFile, ZipFile

from press.site.moved import LEAD
from press.site.nowhere import from_any_depth

NAME, SUMS = "selfattn-book", "SHA256SUMS"  # as a release attaches them
NOWHERE = "404.html"
SCRIPT = Path(__file__).parents[2] / "book" / "theme" / "versions.js"
ARCHIVE = re.compile(rf"{NAME}-(\d+)\.(\d+)\.(\d+)\.zip")
HOME = re.compile(r'<link rel="canonical" href="([^"]+)"')
STUB = """\
<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<link rel="canonical" href="{to}"><script src="{up}lead.js"></script>
<meta http-equiv="refresh" content="0; url={to}"></head>
<body><p>The newest version of this page: <a href="{to}">{title}</a></p></body></html>
"""


def publish(archives: list[Path], out: Path) -> list[str]:
    """Arrange the archives in the folder `out`, which must not exist; return the versions."""
    if out.exists():
        raise ValueError(f"{out} exists already: name a folder that does not")
    newest: dict[tuple[int, int], tuple[int, Path]] = {}
    for path in archives:
        major, minor, patch = version_of(path)
        newest[major, minor] = max(newest.get((major, minor), (-1, path)), (patch, path))
    if not newest:
        raise ValueError("no archive was named")
    order = sorted(newest, reverse=True)
    names = [f"{major}.{minor}" for major, minor in order]
    for name, key in zip(names, order, strict=True):
        unpack(newest[key][1], out / f"v{name}")
    pages = {name: pages_of(out / f"v{name}") for name in names}
    for name in names:
        tell(out / f"v{name}", name, pages)
    shutil.copytree(out / f"v{names[0]}", out / "latest")
    tell(out / "latest", "latest", pages)
    for page in pages[names[0]] - {NOWHERE}:
        lead(out, PurePosixPath(page))
    for path in (out / "latest").rglob("*"):  # data, notebooks, the wheel: programs ask for these
        if path.is_file() and path.suffix != ".html":
            target = out / path.relative_to(out / "latest")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    for path in archives:
        unpack(path, out, ".whl")  # a notebook names that of its version
    (out / "lead.js").write_text(LEAD, encoding="utf-8")
    # Not a page that leads on: a host shows it at any address, however deep.
    if (nowhere := out / "latest" / NOWHERE).is_file():
        home = HOME.search((out / "latest" / "index.html").read_text("utf-8"))
        at = urlsplit(home[1]).path if home else "/"
        text = from_any_depth(nowhere.read_text("utf-8"), f"{at}latest/")
        (out / NOWHERE).write_text(text, encoding="utf-8")
    return names


def pages_of(folder: Path) -> set[str]:
    """Return the pages of a version."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.html")}


def version_of(path: Path) -> tuple[int, int, int]:
    """Return the version of an archive, once its checksum is right."""
    found = ARCHIVE.fullmatch(path.name)
    if not found:
        raise ValueError(f"{path.name} is not named as {NAME}-1.0.0.zip is")
    sums = path.with_name(SUMS)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if not sums.is_file() or f"{digest}  {path.name}" not in sums.read_text("utf-8").splitlines():
        raise ValueError(f"{path.name}: its checksum is not the one in {sums}")
    major, minor, patch = map(int, found.groups())
    return major, minor, patch


def unpack(path: Path, folder: Path, suffix: str = "") -> None:
    """Unpack what ends in `suffix`; all names of the archive must lie within the folder."""
    try:
        with ZipFile(path) as zipped:
            for name in zipped.namelist():
                if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                    raise ValueError(f"{path.name}: {name!r} leads out of the folder")
            zipped.extractall(folder, [one for one in zipped.namelist() if one.endswith(suffix)])
    except BadZipFile as error:
        raise ValueError(f"{path.name} is no archive: {error}") from error


def tell(folder: Path, here: str, pages: dict[str, set[str]]) -> None:
    """Tell the pages of a version which versions there are, and which of them some lack."""
    own = pages_of(folder)
    lacks = {name: sorted(own - theirs) for name, theirs in pages.items() if own - theirs}
    facts = json.dumps({"here": here, "all": [*pages], "lacks": lacks})
    script = SCRIPT.read_text("utf-8") if len(pages) > 1 else ""
    told = f"bookVersions = {facts};\n{script}"
    (folder / "_static" / "versions.js").write_text(told, encoding="utf-8")


def lead(out: Path, page: PurePosixPath) -> None:
    """Write the page that leads from an address without a version to the newest."""
    text = (out / "latest" / page).read_text("utf-8")
    title = re.search(r"<title>(.*?)</title>", text, re.S)
    up = "../" * (len(page.parts) - 1)
    to = f"{up}latest/{page}".removesuffix("index.html")
    target = out / page
    target.parent.mkdir(parents=True, exist_ok=True)
    stub = STUB.format(title=title[1] if title else html.escape(page.name), to=to, up=up)
    target.write_text(stub, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Arrange what the arguments name; return the exit code."""
    if len(arguments) < 2:
        print("usage: python -m press publish OUT ARCHIVE…", file=sys.stderr)
        return 2
    out, *archives = map(Path, arguments)
    try:
        names = publish(archives, out)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{out}: /latest/ is version {names[0]}; beside it {', '.join(f'/v{n}/' for n in names)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
