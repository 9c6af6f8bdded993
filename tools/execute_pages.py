"""Execute the pages that are not in the cache, one on each core.

Sphinx, which would execute one after the other, then finds them there. A page that fails is
executed again by Sphinx, which reports it.
"""

import logging
import os
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.executors import load_executor

from tools.fingerprint import cache_folder

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 120  # seconds a cell may take


def main() -> None:
    """Execute what is missing; the executor says which page it is at."""
    cache = get_cache(cache_folder(ROOT))
    pages = [str(path) for path in sorted((ROOT / "book").rglob("*.md")) if has_cells(path)]
    for page in pages:
        cache.add_nb_to_project(page, read_data={"type": "plugin", "name": "myst_nb_md"})
    os.environ["PYTHONPATH"] = str(ROOT)
    logger = logging.getLogger(__name__)
    logger.setLevel(logging.INFO)
    executor = load_executor("local-parallel", cache, logger=logger)
    executor.run_and_cache(filter_uris=pages, timeout=TIMEOUT)


def has_cells(page: Path) -> bool:
    """Tell whether a page is one that MyST-NB executes."""
    return page.read_text(encoding="utf-8").startswith("---\nfile_format: mystnb\n")


if __name__ == "__main__":
    main()
