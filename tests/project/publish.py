"""Releases and versions side by side, with the built site. Run by `make test-project`."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from lxml import html

from press.__main__ import COMMANDS
from press.edition.publish import SUMS, publish
from press.edition.release import release
from press.site.archives import archive
from tests.pages.sources import ROOT

SITE = ROOT / "_build" / "html"


def versions(folder: Path, *names: str) -> list[Path]:
    """Make the releases of a small site in several versions."""
    found = []
    for name in names:
        site = folder / name / "site"
        for page in ("index.html", "SA001/index.html", "causal/masking.html"):
            (site / page).parent.mkdir(parents=True, exist_ok=True)
            (site / page).write_text(f"<title>{page} of {name}</title><p>{name}</p>")
        (site / "404.html").write_text(f"<p>No page of {name} is here</p>")
        (site / f"new-in-{name}.html").write_text("<title>New</title>")
        (site / "examples").mkdir()
        (site / "examples/SA001.json").write_text("{}")
        (site / f"examples/selfattn_ref-{name}-py3-none-any.whl").write_text(name)
        (site / "_static").mkdir()
        (site / "_static/versions.js").write_text("")
        found.append(release(site, folder / name / "release", name)[0])
    return found


def test_a_release_of_the_site_has_everything_and_is_the_same_twice(tmp_path: Path) -> None:
    first = release(SITE, tmp_path / "first")
    second = release(SITE, tmp_path / "second")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    site, vectors, examples, wheel, sums = first
    with ZipFile(site) as zipped:
        names = set(zipped.namelist())
        assert zipped.testzip() is None
    assert {"index.html", "SA016/index.html", "_static/versions.js"} <= names
    assert len(names) == sum(
        path.is_file() and "reports" not in path.parts for path in SITE.rglob("*")
    )
    for path in (vectors, examples):
        assert path.read_bytes() == (SITE / "examples" / f"{path.stem[:-6]}.zip").read_bytes()
    assert wheel.suffix == ".whl"
    assert sums.name == SUMS
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in first[:-1]]
    lines = [f"{d}  {path.name}" for d, path in zip(digests, first, strict=False)]
    assert sums.read_text().splitlines() == lines


def test_versions_stand_side_by_side(tmp_path: Path) -> None:
    out = tmp_path / "public"
    archives = versions(tmp_path, "1.0.0", "1.1.0", "1.0.2", "0.9.1")
    assert publish(archives, out) == ["1.1", "1.0", "0.9"]
    assert "1.0.2" in (out / "v1.0/causal/masking.html").read_text()
    wheels = {path.read_text() for path in (out / "examples").glob("*.whl")}
    assert wheels == {"1.0.0", "1.1.0", "1.0.2", "0.9.1"}  # of patches, too
    assert (out / "latest/index.html").read_text() == (out / "v1.1/index.html").read_text()
    told = (out / "v1.0/_static/versions.js").read_text()
    assert '"here": "1.0", "all": ["1.1", "1.0", "0.9"]' in told
    assert '"lacks": {"1.1": ["new-in-1.0.2.html"], "0.9": ["new-in-1.0.2.html"]}' in told
    assert (out / "404.html").read_text() == "<p>No page of 1.1.0 is here</p>"
    with ZipFile(archives[2]) as zipped:  # of 1.0.2: nothing but the list of versions differs
        for name in set(zipped.namelist()) - {"_static/versions.js"}:
            assert (out / "v1.0" / name).read_bytes() == zipped.read(name), name
    for page in ("index.html", "SA001/index.html", "causal/masking.html"):
        (link,) = html.fromstring((out / page).read_text()).xpath("//a/@href")
        target = (out / page).parent / link
        assert (target / "index.html" if target.is_dir() else target).is_file(), link
        assert "1.1.0" in (out / page).read_text()


def test_what_is_not_as_it_was_released_is_refused(tmp_path: Path) -> None:
    (path,) = versions(tmp_path, "1.0.0")
    with pytest.raises(ValueError, match="exists already"):
        publish([path], tmp_path)
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(ValueError, match="checksum"):
        publish([path], tmp_path / "out")
    other = path.with_name("book.zip")
    with pytest.raises(ValueError, match="is not named"):
        publish([other], tmp_path / "out")
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil.txt").write_text("")
    out = archive(tmp_path / "evil", [], tmp_path / "selfattn-book-1.0.0.zip")
    with ZipFile(out, "w") as zipped:
        zipped.writestr("../evil.txt", "overwritten")
    digest = hashlib.sha256(out.read_bytes()).hexdigest()
    out.with_name(SUMS).write_text(f"{digest}  {out.name}\n")
    with pytest.raises(ValueError, match="leads out"):
        publish([out], tmp_path / "out")
    assert (tmp_path / "evil.txt").read_text() == ""


def test_the_command_says_what_is_wrong_in_one_line(tmp_path: Path) -> None:
    # Without what is installed: the workflow installs nothing for it.
    command = [
        sys.executable,
        "-S",
        "-m",
        "press",
        "publish",
        str(tmp_path / "out"),
        "missing.zip",
    ]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr == "error: missing.zip is not named as selfattn-book-1.0.0.zip is\n"


def test_every_script_of_the_workflows_is_bash(tmp_path: Path) -> None:
    """A dry run: the scripts parse, and what they call exists."""
    count, called = 0, []
    for path in sorted((ROOT / ".github/workflows").glob("*.yml")):
        for job in yaml.safe_load(path.read_text("utf-8"))["jobs"].values():
            for step in job["steps"]:
                script = re.sub(r"\$\{\{.*?\}\}", "value", step.get("run", ""))
                checked = subprocess.run(["bash", "-n"], input=script, text=True, check=False)
                assert checked.returncode == 0, script
                count += bool(script)
                called += re.findall(r"-m press (\w+)", script)
    assert count > 8
    assert called
    assert set(called) <= set(COMMANDS)
