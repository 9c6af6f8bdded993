"""A page in a real browser: what it asks for, what it says, what its elements measure."""

import functools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:  # the build, which tells what is measured, has no browser
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",  # as root in a container there is none
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nobody else is really asked
]
HEIGHTS = {320: 640, 390: 844, 768: 1024, 1280: 800}
SCRIPTS = Path(__file__).parent
# Runs before the page's own scripts. The console tells of violations, too, but not of all.
LISTEN = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} forbids ${event.blockedURI || "a piece"}`));
window.moved = 0;
new PerformanceObserver((list) => list.getEntries().forEach((entry) => { moved += entry.value; }))
  .observe({ type: "layout-shift", buffered: true });
"""
# Now and then a browser stops drawing, and `evaluate` has no limit of its own.
NOT_DRAWN = "The browser has drawn nothing for half a minute."
DRAWN = f"""new Promise((done, failed) => {{
  setTimeout(failed, 30000, new Error("{NOT_DRAWN}"));
  requestAnimationFrame(() => setTimeout(done));
}})"""


def chromium() -> str:
    """Return the browser that CHROMIUM names, or one that is installed."""
    for name in (os.environ.get("CHROMIUM", ""), *NAMES):
        if found := shutil.which(name):
            return found
    raise SystemExit(
        "error: no Chromium: install it ('apt install chromium'), "
        "or name it with 'CHROMIUM=/path/to/it make …'."
    )


@contextmanager
def launched() -> "Iterator[Browser]":
    """Start a browser and end it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield browser
        browser.close()


@functools.cache
def script(*names: str) -> str:
    """Return scripts of this folder, which use those before them, as a function of options."""
    body = "\n".join((SCRIPTS / f"{name}.js").read_text("utf-8") for name in ("common", *names))
    return f"(options) => {{ {body} }}"


class Way(StrEnum):
    """How a page is opened. `PLAIN` comes from a server, too."""

    SERVER = "from a server"
    DISK = "from a disk"
    PLAIN = "without script"


@dataclass(frozen=True, order=True)
class Mode:
    """How a reader may look at a page. Nobody gets more motion than asked for."""

    width: int = 1280
    scheme: str = "light"
    media: str = "screen"
    forced: bool = False  # colors
    text: int = 100  # percent
    way: Way = Way.SERVER

    def __str__(self) -> str:
        """Say it in words."""
        words = ["on paper"] * (self.media == "print") + [f"{self.width} px wide", self.scheme]
        words += ["forced colors"] * self.forced + [f"text at {self.text}%"] * (self.text != 100)
        return ", ".join(words + [str(self.way)] * (self.way is not Way.SERVER))


# What does not depend on each other is looked at together: a mode more costs every page a layout.
WIDE, PHONE_DARK = Mode(), Mode(390, "dark")
FORCED_DARK = Mode(scheme="dark", forced=True, text=200)  # a reader who needs both
PAPER = 718  # pixels of A4 within margins of a centimeter
PRINTED_DARK = Mode(PAPER, "dark", "print")
PLAIN_WIDE, PLAIN_PHONE_DARK = (replace(mode, way=Way.PLAIN) for mode in (WIDE, PHONE_DARK))


class Visit:
    """A visit to a page, as if for the first time: in a tab of a browser, without a cache.

    Kept from page to page, a tab loads in half the time.
    """

    def __init__(self, browser: "Browser") -> None:
        """Open an empty one."""
        context = browser.new_context()
        context.add_init_script(LISTEN)
        self.page: Page = context.new_page()
        self.mode = Mode(0)  # none yet
        self.protocol = context.new_cdp_session(self.page)
        self.protocol.send("Network.enable")
        self.protocol.send("Network.setCacheDisabled", {"cacheDisabled": True})
        self.asked: list[str] = []  # in order
        self.said: list[str] = []  # on the console, and errors
        self.failed: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("requestfailed", lambda request: self.failed.append(request.url))
        self.page.on(
            "response",
            lambda answer: self.failed.append(answer.url) if answer.status >= 400 else None,
        )

    def open(
        self,
        site: Path,
        address: str,
        name: str,
        way: Way = Way.SERVER,
        front: frozenset[Path] = frozenset(),
    ) -> None:
        """Open the page `name` of the folder `site`, which is served at `address`.

        The window is wide, or a phone's if it comes from the disk, and all that the page shows is
        there. What the `front` page has loaded before may be in a reader's cache.
        """
        self.front = front
        base = site.as_uri() + "/" if way is Way.DISK else address
        self.own = ("data:", "file:" if way is Way.DISK else address)  # addresses that begin so
        self.page.goto("about:blank")  # where a change of the mode is cheap
        # The page's scripts do not run then; what is evaluated does, but hears of nothing later.
        off = {"value": way is Way.PLAIN}
        self.protocol.send("Emulation.setScriptExecutionDisabled", off)
        self.enter(replace(PHONE_DARK if way is Way.DISK else WIDE, way=way))
        self.asked, self.said, self.failed = [], [], []
        self.page.goto(base + name, wait_until="load")
        self.page.evaluate("document.fonts.ready.then(() => null)")
        if way is not Way.PLAIN:
            for _frame in range(4):  # what a page does when it is loaded may move the next frames
                self.page.evaluate(DRAWN)
        self.moved: float = self.page.evaluate("moved")
        inside = (url.removeprefix(base) for url in self.asked if url.startswith(base))
        files = (site / unquote(urlsplit(path).path) for path in inside)
        self.first_loaded = frozenset(path for path in files if path.is_file())

    def enter(self, mode: Mode) -> None:
        """Put the page into a mode and wait until it is drawn."""
        if mode == self.mode:
            return
        before, self.mode = self.mode, mode
        self.page.emulate_media(
            media=mode.media,
            color_scheme=mode.scheme,
            forced_colors="active" if mode.forced else "none",
            reduced_motion="reduce",  # a color on its way to another is none of the two
        )
        if mode.text != before.text:  # as a reader sets it in the preferences of the browser
            sizes = {"standard": 16 * mode.text // 100, "fixed": 13 * mode.text // 100}
            self.protocol.send("Page.setFontSizes", {"fontSizes": sizes})
        height = HEIGHTS.get(mode.width, 800)  # last, as the page's script hears of nothing else
        self.page.set_viewport_size({"width": mode.width, "height": height})
        if mode.way is not Way.PLAIN:
            self.page.evaluate(DRAWN)

    def measure(self, *names: str, **options: Any) -> Any:
        """Run scripts of this folder in the page and return the result of the last."""
        return self.page.evaluate(script(*names), options)
