"""Let Lighthouse score the heaviest page of each kind on a phone: the median of five runs."""

import json
import os
import shutil
import statistics
import subprocess
import sys

from press.build.book import SITE
from press.build.check_html import html_files
from press.build.server import serving, transfer_size
from press.measure.examine import PREFIX
from press.measure.visit import FLAGS, chromium

LIGHTHOUSE = "lighthouse@12.8.2"
RUNS = 5
OWN_KIND = ("index.html", "examples/index.html", "examples/checker.html", "examples/slips.html")
LEAST = {"performance": 98, "accessibility": 100, "best-practices": 100, "seo": 100}


def score(url: str) -> dict[str, float]:
    """Return the scores of one run, of 100."""
    flags = " ".join(["--headless", *FLAGS])
    command = ["npx", "--yes", LIGHTHOUSE, url, "--quiet", "--output=json"]
    command += [f"--chrome-flags={flags}", f"--only-categories={','.join(LEAST)}"]
    run = subprocess.run(
        command, env=os.environ | {"CHROME_PATH": chromium()}, capture_output=True, text=True
    )
    if run.returncode:
        raise SystemExit(f"error: Lighthouse could not visit {url}:\n{run.stderr}")
    categories = json.loads(run.stdout)["categories"]
    return {name: 100 * (categories[name]["score"] or 0) for name in LEAST}


def kind_of(page: str) -> str:
    """Return what kind of page it is: by its folder, with all examples in one."""
    if page in OWN_KIND:
        return page
    folder = page.rpartition("/")[0]
    return "example" if page.startswith("SA") else folder.partition("/")[0]


def heaviest_of_each_kind() -> list[str]:
    """Return a page of each kind; what is not for search engines has no score there."""
    pages = [path.relative_to(SITE).as_posix() for path in html_files(SITE)]
    heaviest = sorted(pages, key=lambda page: transfer_size(SITE / page))
    return sorted(
        {kind_of(page): page for page in heaviest if "/" in page or page in OWN_KIND}.values()
    )


def main() -> int:
    """Print the scores; return the exit code."""
    if not shutil.which("npx"):
        raise SystemExit("error: Lighthouse needs Node: install it, version 20 or newer.")
    good = True
    with serving(SITE, PREFIX) as address:
        for page in heaviest_of_each_kind():
            runs = [score(address + page) for _ in range(RUNS)]
            medians = {name: statistics.median(run[name] for run in runs) for name in LEAST}
            low = [name for name in LEAST if medians[name] < LEAST[name]]
            told = ", ".join(f"{name} {value:.0f}" for name, value in medians.items())
            print(f"{page}: {told}{' — too low: ' + ', '.join(low) if low else ''}", flush=True)
            good = good and not low
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
