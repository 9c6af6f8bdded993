"""Measure every budget on the pages; print a table, name what fails, write a report."""

import argparse
import json
import statistics
import sys
import time

from press.build.book import SITE
from press.build.check_html import check_frames, check_site, html_files
from press.measure.budgets import BUDGETS, Row
from press.measure.examine import visit_all
from press.site import moved

REPORT = SITE.parent / "site-report.json"
SHOWN = 12  # faults of a budget on the screen; the file has every fault
# The first letters of pages that a program writes, many from one template.
WRITTEN_ALIKE = ("SA", "_modules/", "derivations/", "tests/")
HEAVIEST = 6  # of each kind stand for all of it in a sample


def main() -> int:
    """Run all checks; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help="paths in the site; all without")
    parser.add_argument(
        "--sample",
        action="store_true",
        help=f"of pages that a program writes only the {HEAVIEST} heaviest of each kind",
    )
    options = parser.parse_args()
    started = time.monotonic()
    pages = every_page()
    if options.pages:
        pages = [page for page in pages if page in options.pages]
    if options.sample:
        pages = sample(pages)
    if not pages:
        raise SystemExit(f"error: no such page in {SITE}; 'make book' builds the site.")

    rows: list[Row] = []
    for number, (page, found) in enumerate(visit_all(SITE, pages), start=1):
        rows += found
        faults = sum(len(row.reading.faults) for row in found)
        told = f"{faults} against a budget" if faults else "good"
        print(f"[{number:3}/{len(pages)}] {page}: {told}", flush=True)
    sources = check_site(SITE) + check_frames(SITE)
    return report(rows, sources, time.monotonic() - started)


def every_page() -> list[str]:
    """Return the pages of the site, without the old addresses that only lead on."""
    pages = [path.relative_to(SITE).as_posix() for path in html_files(SITE)]
    return [page for page in pages if page.removesuffix(".html") not in moved.PAGES]


def sample(pages: list[str]) -> list[str]:
    """Leave out pages that are written by the same program as heavier ones."""
    by_weight = sorted(pages, key=lambda page: -(SITE / page).stat().st_size)
    alike = [[page for page in by_weight if page.startswith(kind)] for kind in WRITTEN_ALIKE]
    left_out = {page for kind in alike for page in kind[HEAVIEST:]}
    return [page for page in pages if page not in left_out]


def report(rows: list[Row], sources: list[str], seconds: float) -> int:
    """Print the faults and the table, write the report; return the exit code."""
    faults = {"pages as written": sources}
    lines = []
    for budget in BUDGETS:
        own = [row for row in rows if row.budget == budget.name]
        if not own:
            lines.append(f"{budget.name:32} {budget.limit:22} nothing to measure")
            continue
        worst = max(own, key=lambda row: budget.badness(row.reading.value))
        median = statistics.median(row.reading.value for row in own)
        found = [f"{row.page} ({row.mode}): {fault}" for row in own for fault in row.reading.faults]
        if budget.median is not None and median > budget.median:
            found.append(f"the median of all pages is {median:.0f}")
        faults[budget.name] = found
        lines.append(
            f"{budget.name:32} {budget.limit:22} median {median:<8.4g} worst "
            f"{worst.reading.value:<8.4g} on {worst.page} ({worst.mode})"
        )
    for name, found in faults.items():
        if found:
            print("\n  ".join([f"\n{name}: {len(found)}", *found[:SHOWN]]))
    print("\n".join(["", *lines, ""]))
    readings = [
        {"budget": row.budget, "page": row.page, "mode": row.mode, "value": row.reading.value}
        for row in rows
    ]
    content = {"seconds": seconds, "faults": faults, "readings": readings}
    REPORT.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")
    total = sum(map(len, faults.values()))
    told = f"{total} against a budget: see {REPORT}" if total else "All budgets hold."
    print(f"{seconds:.0f} s. {told}")
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
