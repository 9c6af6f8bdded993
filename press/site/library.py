"""The library as the site serves it: a wheel, and how it is installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from press.markup import paragraph, raw
from press.site.addresses import base_of
from press.site.commit import RELEASED
from selfattn_ref import __version__

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "selfattn_ref")
FOLDER = "examples"  # of the site: the wheel lies beside the data
WHEEL = f"selfattn_ref-{__version__}-py3-none-any.whl"

# The hook that pip calls.
HOOK = "import sys, setuptools.build_meta as backend; backend.build_wheel(sys.argv[1])"


def build_wheel(folder: Path, root: Path = ROOT) -> Path:
    """Build the wheel of the sources below `root` into a folder, and return it.

    The same sources give the same bytes.
    """
    environment = {"SOURCE_DATE_EPOCH": RELEASED} | os.environ
    with TemporaryDirectory() as name:
        copy = Path(name)  # the backend leaves files beside the sources
        for source in SOURCES:
            if (root / source).is_dir():
                made = shutil.ignore_patterns("__pycache__")
                shutil.copytree(root / source, copy / source, ignore=made)
            else:
                shutil.copyfile(root / source, copy / source)
        for path in copy.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        built = subprocess.run(
            [sys.executable, "-c", HOOK, str(folder.resolve())],
            cwd=copy,
            env=environment,
            umask=0o022,  # a file keeps its mode in a wheel
            capture_output=True,
            text=True,
        )
    if built.returncode:
        raise RuntimeError(f"the wheel was not built:\n{built.stderr}")
    return folder / WHEEL


def install(base: str) -> str:
    """Return the line that installs the library: from the site, or once it is downloaded."""
    return f"pip install {f'{base}/{FOLDER}' if base else '.'}/{WHEEL}"


def how_to_install(base: str, root: str = "../") -> list[nodes.Node]:
    """Return the lines that say on a page how the library is installed."""
    before, after = ("Install ", ":") if base else ("Download ", ", then install it:")
    link = raw(f'<a href="{root}{FOLDER}/{WHEEL}" download>')  # around text, so that it is found
    told = paragraph(before, link, WHEEL, raw("</a>"), after)
    block = nodes.literal_block(install(base), install(base), language="sh")
    return [told, nodes.container("", block, classes=["copied"])]


class Install(SphinxDirective):
    """``{install}``: how the library is installed."""

    def run(self) -> list[nodes.Node]:
        """Name the file of this site."""
        depth = self.env.app.builder.get_target_uri(self.env.docname).count("/")
        return how_to_install(base_of(self.config), "../" * depth)
