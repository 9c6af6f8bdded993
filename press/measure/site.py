"""Measure every budget on every page; print a table, name what fails, write a report."""

import argparse
import sys
import time

from press.build.book import SITE
from press.build.check_html import check_frames, check_site, html_files
from press.measure.budgets import Row
from press.measure.examine import visit_all
from press.measure.report import report

REPORT = SITE.parent / "site-report.json"


def main() -> int:
    """Run all checks; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help="paths in the site; all without")
    wanted = parser.parse_args().pages
    started = time.monotonic()
    pages = [path.relative_to(SITE).as_posix() for path in html_files(SITE)]
    if wanted:
        pages = [page for page in pages if page in wanted]
    if not pages:
        raise SystemExit(f"error: no such page in {SITE}; 'make book' builds the site.")

    rows: list[Row] = []
    for number, (page, found) in enumerate(visit_all(SITE, pages), start=1):
        rows += found
        faults = sum(len(row.reading.faults) for row in found)
        told = f"{faults} against a budget" if faults else "good"
        print(f"[{number:3}/{len(pages)}] {page}: {told}", flush=True)
    sources = check_site(SITE) + check_frames(SITE)
    return report(REPORT, rows, sources, time.monotonic() - started)


if __name__ == "__main__":
    sys.exit(main())
