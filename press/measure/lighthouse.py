"""Let Lighthouse score the heaviest pages on a phone: the median of five runs each."""

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
PAGES = 5
RUNS = 5
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


def main() -> int:
    """Print the scores; return the exit code."""
    if not shutil.which("npx"):
        raise SystemExit("error: Lighthouse needs Node: install it, version 20 or newer.")
    good = True
    with serving(SITE, PREFIX) as address:
        for path in sorted(html_files(SITE), key=transfer_size, reverse=True)[:PAGES]:
            page = path.relative_to(SITE).as_posix()
            runs = [score(address + page) for _ in range(RUNS)]
            medians = {name: statistics.median(run[name] for run in runs) for name in LEAST}
            low = [name for name in LEAST if medians[name] < LEAST[name]]
            told = ", ".join(f"{name} {value:.0f}" for name, value in medians.items())
            print(f"{page}: {told}{' — too low: ' + ', '.join(low) if low else ''}", flush=True)
            good = good and not low
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
