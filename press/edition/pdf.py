"""Print the built book into one PDF."""

import argparse
import sys
import time

from press.build.book import SITE
from press.edition.combined import edition_of, read
from press.edition.printed import print_book
from press.measure.visit import launched


def main() -> int:
    """Print the book; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help="paths in the site; all without")
    wanted = parser.parse_args().pages
    started = time.monotonic()
    path = edition_of(SITE)
    if wanted:
        path = path.with_name("part.pdf")
    path.parent.mkdir(exist_ok=True)
    with launched() as browser:
        tab, draft = browser.new_page(), path.with_name("book.html")
        content = print_book(tab, SITE, read(SITE, wanted), draft)
    path.write_bytes(content)
    print(f"{path}: {len(content) / 1e6:.1f} MB, {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
