"""Let the pages import the package, and execute them again when what they import has changed."""

import os
import shutil
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from press.build.cells import RUNNING, set_environment, wait_for
from press.build.fingerprint import cache_folder

KEPT_CACHES = 4


def prepare(app: Sphinx, config: Config) -> None:
    """Point the kernels at the package and the cache at a folder of its own per fingerprint."""
    root = Path(app.srcdir)
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))  # for autodoc

    set_environment()
    cache = cache_folder(root)
    os.utime(cache)
    oldest_first = sorted(cache.parent.iterdir(), key=lambda path: path.stat().st_mtime)
    for old in oldest_first[:-KEPT_CACHES]:
        shutil.rmtree(old)
    config.nb_execution_cache_path = str(cache)


def wait(app: Sphinx, page: str, source: list[str]) -> None:
    """Wait for the results of the page that is read next."""
    wait_for(Path(app.env.doc2path(page)))


def wait_for_all(app: Sphinx, env: BuildEnvironment) -> None:
    """Wait for pages that nobody reads."""
    for page in [*RUNNING]:
        wait_for(page)
