"""Serve the book until Ctrl-C, and build it again after every save: `make serve`.

A page that is open loads again when it has changed, with the problems of the build at its foot.
"""

import contextlib
import html
import shutil
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path

from press.build.book import INPUTS, NEW, PAGE, ROOT, SITE, attempt, start_sphinx
from press.build.fingerprint import files
from press.build.server import Handler, serving

PREVIEW = SITE.parent / "preview"  # what a build with problems has written
RELOAD = """
addEventListener("DOMContentLoaded", async () => {
  const seen = document.querySelector("meta[name=build]").content;
  for (;;) {
    const answer = await fetch("/-/" + seen).then((a) => a.text(), () => new Promise(
      (then) => setTimeout(then, 500, seen)));
    if (answer !== seen) return location.reload();
  }
});
"""
PROBLEMS = (
    "position: fixed; inset: auto 0 0 0; z-index: 9; margin: 0; padding: 1em; max-height: 40vh; "
    "overflow: auto; white-space: pre-wrap; background: #fff4e5; color: #5a1e00; font-size: 14px"
)


class Shown:
    """What open pages show: of which site, and the problems of the last build."""

    def __init__(self) -> None:
        self.changed, self.number = threading.Condition(), 0
        self.site, self.problems = SITE, list[str]()

    def show(self, site: Path, problems: list[str]) -> None:
        """Have the open pages load again."""
        with self.changed:
            self.number += 1
            self.site, self.problems = site, problems
            self.changed.notify_all()

    def preview(self, problems: list[str]) -> None:
        """Show what a build has written that is not the site."""
        site = SITE
        if (NEW / "html").is_dir():
            shutil.rmtree(PREVIEW, ignore_errors=True)
            site = (NEW / "html").rename(PREVIEW)
        self.show(site, problems)


class LiveHandler(Handler):
    """Serve a site whose pages load again when `shown` says so."""

    shown = Shown()

    def do_GET(self) -> None:
        """Answer; where a page asks for the next change, when there is one."""
        self.directory = str(self.shown.site)
        if not self.path.startswith("/-/"):
            return super().do_GET()
        with self.shown.changed:
            seen = self.path.rpartition("/")[2]
            self.shown.changed.wait_for(lambda: f"{self.shown.number}" != seen, timeout=20)
            body = f"{self.shown.number}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None

    def read(self, path: Path) -> bytes | None:
        """Add to a page the problems, and to its script what loads it again."""
        if path.name == "page.js":
            return path.read_bytes() + RELOAD.encode()
        if path.suffix != ".html":
            return None
        told = html.escape("\n".join(self.shown.problems))
        foot = f'<div role="alert" style="{PROBLEMS}">{told}</div>' if told else ""
        mark = f'<meta name="build" content="{self.shown.number}"></head>'
        text = path.read_text("utf-8").replace("</head>", mark, 1)
        return text.replace("</body>", f"{foot}</body>").encode()


def times() -> dict[str, int]:
    """Return when each input was written."""
    found = {}
    for name, path in files(ROOT, INPUTS):
        with contextlib.suppress(FileNotFoundError):
            found[name] = path.stat().st_mtime_ns
    return found


def watch(shown: Shown) -> None:
    """Build after every save, and show what comes of it."""
    before, sphinx = times(), start_sphinx()
    for module in ("jupyter_cache.cache.main", "press.build.check_html"):
        import_module(module)  # what a build imports late, so that no reader waits for it
    while True:
        time.sleep(0.2)
        if (now := times()) == before:
            continue
        changed = sorted({name for name, _ in now.items() ^ before.items()})
        before = now
        print(f"Changed: {', '.join(changed)}", flush=True)
        if all(PAGE.fullmatch(name) for name in changed):
            problems = attempt(sphinx, lambda: shown.preview(["The other pages follow …"]))
        else:  # perhaps this very program
            build = subprocess.run([sys.executable, "-m", "press", "build"], cwd=ROOT)
            problems = ["The book was not built: see the terminal."] if build.returncode else []
        shown.preview(problems) if problems else shown.show(SITE, [])
        sphinx.kill()
        sphinx = start_sphinx()


def main() -> None:
    """Serve on a free port, print the address, and watch."""
    with serving(SITE, kind=LiveHandler) as address:
        print(f"Serving the book at {address} — Ctrl-C ends it.", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            watch(LiveHandler.shown)


if __name__ == "__main__":
    main()
