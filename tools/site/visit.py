"""A page in a real browser: what it asks for, what it says, what its elements measure."""

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

CHROMIUM = os.environ["CHROMIUM"]  # found by tools/browser.sh
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
HEIGHTS = {320: 640, 390: 844, 768: 1024, 1280: 800, 1920: 1080}
SCRIPTS = Path(__file__).parent
# Runs before the page's own scripts. The console tells of violations, too, but not of all.
LISTEN = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} forbids ${event.blockedURI || "a piece"}`));
"""


@contextmanager
def launched() -> Iterator[Browser]:
    """Start a browser and end it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@functools.cache
def script(*names: str) -> str:
    """Return scripts of this folder, which use those before them, as a function of options."""
    body = "\n".join((SCRIPTS / f"{name}.js").read_text("utf-8") for name in ("common", *names))
    return f"(options) => {{ {body} }}"


@dataclass(frozen=True, order=True)
class Mode:
    """How a reader may look at a page. Nobody gets more motion than asked for."""

    width: int = 1280
    scheme: str = "light"
    media: str = "screen"
    forced: bool = False  # colors
    text: int = 100  # percent

    def __str__(self) -> str:
        """Say it in words."""
        words = [self.media] * (self.media != "screen") + [f"{self.width} px", self.scheme]
        words += ["forced colors"] * self.forced + [f"{self.text} % text"] * (self.text != 100)
        return " ".join(words)


WIDE, WIDE_DARK = Mode(), Mode(scheme="dark")
PHONE, PHONE_DARK = Mode(390), Mode(390, "dark")
FORCED, FORCED_DARK = Mode(forced=True), Mode(scheme="dark", forced=True)
PAPER = 718  # pixels of A4 within margins of a centimeter
PRINTED, PRINTED_DARK = Mode(PAPER, media="print"), Mode(PAPER, "dark", "print")


@dataclass
class Visit:
    """A visit to one page with an empty cache."""

    site: Path  # the folder
    address: str  # under which the folder is served
    name: str  # of the page: its path in the folder
    context: BrowserContext
    from_disk: bool = False
    front: frozenset[Path] = frozenset()  # what the front page has loaded before
    asked: list[str] = field(default_factory=list)  # in order
    said: list[str] = field(default_factory=list)  # on the console, and errors
    failed: list[str] = field(default_factory=list)
    mode: Mode = WIDE

    def __post_init__(self) -> None:
        """Open the page and wait until all that it shows is there."""
        self.page: Page = self.context.new_page()
        self.protocol = self.context.new_cdp_session(self.page)
        self.page.add_init_script(LISTEN)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("requestfailed", lambda request: self.failed.append(request.url))
        self.page.on(
            "response",
            lambda answer: self.failed.append(answer.url) if answer.status >= 400 else None,
        )
        base = self.site.as_uri() + "/" if self.from_disk else self.address
        self.page.goto(base + self.name, wait_until="load")
        self.page.evaluate("document.fonts.ready.then(() => null)")
        inside = (url.removeprefix(base) for url in self.asked if url.startswith(base))
        files = (self.site / unquote(urlsplit(path).path) for path in inside)
        self.first_loaded = frozenset(path for path in files if path.is_file())

    def enter(self, mode: Mode) -> None:
        """Put the page into a mode and wait until it is drawn."""
        before, self.mode = self.mode, mode
        height = HEIGHTS.get(mode.width, 800)
        self.page.set_viewport_size({"width": mode.width, "height": height})
        self.page.emulate_media(
            media=mode.media,
            color_scheme=mode.scheme,
            forced_colors="active" if mode.forced else "none",
            reduced_motion="reduce",  # a color on its way to another is none of the two
        )
        if mode.text != before.text:  # as a reader sets it in the preferences of the browser
            sizes = {"standard": 16 * mode.text // 100, "fixed": 13 * mode.text // 100}
            self.protocol.send("Page.setFontSizes", {"fontSizes": sizes})
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    def has(self, selector: str) -> bool:
        """Tell whether the page has such an element."""
        return self.page.query_selector(selector) is not None

    def measure(self, *names: str, **options: Any) -> Any:
        """Run scripts of this folder in the page and return the result of the last."""
        return self.page.evaluate(script(*names), options)
