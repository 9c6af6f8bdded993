"""The theme of the pages: the templates of book/theme, its stylesheet and its scripts."""

import re
import shutil
from pathlib import Path

import rjsmin
from sphinx.application import Sphinx
from sphinx.config import Config

from book.figures.palette import css_variables
from press import seams
from press.fonts import font_faces_css
from selfattn_ref import __version__ as version

ROOT = Path(__file__).resolve().parents[2]
THEME = ROOT / "book" / "theme"
SHEETS = (
    "page.css",
    "math.css",
    "figures.css",
    "sheet.css",
    "poster.css",
    "arrays.css",
)  # one stylesheet for the reader
# Jupyter Book loads these for its own theme; they would put scripts and styles into the pages.
UNUSED = {
    "pydata_sphinx_theme",
    "sphinx_book_theme",
    "sphinx_comments",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_thebe",
    "sphinx_togglebutton",
}


OPTIONS = {"repository_url", "repository_branch"}  # of theme.toml


def use_theme(app: Sphinx, config: Config) -> None:
    """Choose the theme; of Jupyter Book's options keep where the sources are."""
    config.html_theme = "theme"
    config.html_theme_path = ["book"]
    options = config.html_theme_options
    config.html_theme_options = {name: options[name] for name in options if name in OPTIONS}
    seams.disconnect(app, UNUSED)


def name_book(app: Sphinx, config: Config) -> None:
    """Give the inventory what other books say beside a link to this one: its name and version."""
    config.project, config.version, config.release = config.html_title, version, version


def forget_folders(app: Sphinx, config: Config) -> None:
    """Leave out where other themes are installed, or .buildinfo depends on it."""
    config.templates_path = []


def write_assets(app: Sphinx) -> None:
    """Put the stylesheet, the scripts and the licenses into the site, before pages ask for them.

    The colors are those of the figures' palette, which stands in front of the stylesheet.
    """
    static = Path(app.outdir, "_static")
    static.mkdir(parents=True, exist_ok=True)
    sheets = [(THEME / name).read_text("utf-8") for name in SHEETS]
    sheets = [font_faces_css(), css_variables(), *sheets]
    text = re.sub(r"/\*.*?\*/|^ +", "", "\n".join(sheets), flags=re.S | re.M)
    (static / "page.css").write_text(re.sub(r"\n+", "\n", text), encoding="utf-8")
    for script in THEME.glob("*.js"):
        copy_script(script, static / script.name)
    for name in ("cards.css", "lecture.css", "favicon.svg", "icon.png"):
        shutil.copyfile(THEME / name, static / name)
    # Who publishes several versions side by side names them here: press/edition/publish.py.
    (static / "versions.js").write_text("", encoding="utf-8")
    shutil.copyfile(ROOT / "LICENSE", static / "LICENSE.txt")


def copy_script(source: Path, target: Path, *needs: Path) -> None:
    """Copy a script, after those that it needs, without its comments and indentation."""
    text = "".join(path.read_text("utf-8") for path in (*needs, source))
    if re.search(r"\$\{[^`}]*`", text):  # its spaces would be lost
        raise ValueError(f"{source.name}: a template literal stands within another")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(rjsmin.jsmin(text), encoding="utf-8")
