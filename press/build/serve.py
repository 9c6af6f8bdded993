"""Serve the book until Ctrl-C, and build it again after every save: `make serve`.

Where the text of pages is all that has changed, Sphinx first reads and writes these alone, with
what it knows of the others from the last good build: a preview, which takes seconds. Then the whole
book follows. A page that is open loads again each time, with the problems of a build at its foot.
"""

import contextlib
import re
import shutil
import subprocess
import sys
import time

from tornado.web import RequestHandler

from press.build.book import BUILD, INPUTS, ROOT, SITE, run, start_sphinx, tell
from press.build.fingerprint import files
from press.build.server import Files, serving

PREVIEW = BUILD / "preview"
PAGE = re.compile(r"book/.+\.md")
FOOT = (
    "position: fixed; inset: auto 0 0 0; z-index: 9; margin: 0; padding: 1em; max-height: 40vh; "
    "overflow: auto; white-space: pre-wrap; background: #fff4e5; color: #5a1e00; font-size: 14px"
)
RELOAD = """
addEventListener("DOMContentLoaded", () => {{
  const foot = document.body.appendChild(document.createElement("div"));
  foot.role = "alert";
  setInterval(async () => {{
    const told = await fetch("/-/").then((answer) => answer.json(), () => null);
    if (told && told.number !== {number}) return location.reload();
    foot.textContent = told ? told.problems : "";
    foot.style = foot.textContent && "{style}";
  }}, 500);
}});
"""


class Shown:
    """What open pages show: after how many builds, and the problems of the last one."""

    number, problems = 0, ""


class State(RequestHandler):
    """Tell the open pages what is shown."""

    def get(self) -> None:
        """Answer."""
        self.write({"number": Shown.number, "problems": Shown.problems})


class Script(RequestHandler):
    """Serve the script of all pages, and with it what loads them again."""

    def get(self) -> None:
        """Answer."""
        self.set_header("Content-Type", "text/javascript")
        self.set_header("Cache-Control", "no-store")
        self.write((SITE / "_static" / "page.js").read_bytes())
        self.write(RELOAD.format(number=Shown.number, style=FOOT))


class Live(Files):
    """Serve the site, and in the place of its pages those of the preview."""

    @classmethod
    def get_absolute_path(cls, root: str, path: str) -> str:
        """Return the file of an address."""
        previewed = PREVIEW / "html" / (path if path.endswith(".html") else f"{path}/index.html")
        return super().get_absolute_path(
            root, f"{previewed if previewed.is_file() else SITE / path}"
        )

    def set_extra_headers(self, path: str) -> None:
        """Have the browser ask each time."""
        self.set_header("Cache-Control", "no-cache")


def times() -> dict[str, int]:
    """Return when each input was written."""
    found = {}
    for name, path in files(ROOT, INPUTS):
        with contextlib.suppress(FileNotFoundError):
            found[name] = path.stat().st_mtime_ns
    return found


def names(now: dict[str, int], before: dict[str, int]) -> list[str]:
    """Return what was written since."""
    return sorted({name for name, _ in now.items() ^ before.items()})


def preview(sphinx: subprocess.Popen[str], pages: list[str]) -> list[str]:
    """Build some pages as they are in the whole book; return the problems."""
    shutil.rmtree(PREVIEW, ignore_errors=True)
    shutil.copytree(BUILD / ".doctrees", PREVIEW / ".doctrees")
    problems, _ = run(sphinx, PREVIEW, pages)
    if problems:
        tell(problems)
    return problems


def show(problems: str) -> None:
    """Have the open pages load again."""
    Shown.problems = problems
    Shown.number += 1


def watch() -> None:
    """Build after every save, and show what comes of it."""
    good = before = times()  # at the last good build, and a moment ago
    sphinx, build = start_sphinx(), None
    while True:
        time.sleep(0.2)
        if build and build.poll() is not None:
            _, said = build.communicate()
            print(said, end="", file=sys.stderr)
            if not build.returncode:
                good = before
                shutil.rmtree(PREVIEW, ignore_errors=True)
                sphinx.kill()  # perhaps this very program has changed
                sphinx = start_sphinx()
            show(said.strip())
            build = None
        if (now := times()) == before:
            continue
        print(f"Changed: {', '.join(names(now, before))}", flush=True)
        before, changed = now, names(now, good)
        if build:
            build.kill()
            build.communicate()
            build = None
        problems: list[str] = []
        if changed and all(PAGE.fullmatch(one) and one in now and one in good for one in changed):
            problems = preview(sphinx, changed)
            show("\n".join(problems))
            sphinx = start_sphinx()
        if not problems:
            command = [sys.executable, "-m", "press", "build"]
            build = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def main() -> None:
    """Serve on a free port, print the address, and watch."""
    more = [("/-/", State), ("/_static/page.js", Script)]
    with serving(BUILD, files=Live, more=more) as address:
        print(f"Serving the book at {address} — Ctrl-C ends it.", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            watch()


if __name__ == "__main__":
    main()
