"""Every budget holds on a good page and notices what it is for. Run by `make check-site`."""

import base64
import functools
import random

import pytest
from playwright.sync_api import Error

from press.build.book import SITE
from press.build.check_html import check_frames
from press.build.server import serving
from press.measure import examine as pool
from press.measure import visit
from press.measure.budgets import BUDGETS
from press.measure.examine import examine
from press.measure.lighthouse import kind_of
from press.measure.site import WRITTEN_ALIKE, every_page, sample
from press.measure.visit import Visit
from press.site import moved
from press.site.policy import POLICY

SENTENCE = "Attention mixes what the words of a sentence mean in shares that add up to one. "
GOOD = f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>Good</title><meta name="description" content="A page in which nothing is wrong.">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><link rel="stylesheet" href="page.css">
<script defer src="page.js"></script></head>
<body><nav aria-label="Book"><a href="page.html">Book</a> <button type="button">Theme</button></nav>
<main><h1>Good</h1><p>{SENTENCE * 14}</p>
<pre tabindex="0"><code>scores = queries @ keys.T</code></pre>
<figure>
<svg role="img" aria-label="A cell, a line." viewBox="0 0 300 100" width="300" height="100">
<rect x="10" y="10" width="60" height="40" fill="#333"/>
<text x="30" y="35" font-size="14" style="fill:#fff">.42</text>
<path d="M100 80H200" stroke="currentColor"/>
<text x="130" y="60" font-size="14" fill="currentColor">plain</text>
<text x="130" y="85" font-size="14" class="halo">label</text></svg>
<figcaption>A claim<b class="wide">, aside</b><b class="phone">, below</b>.</figcaption></figure>
<details><summary>Proof</summary><p>It follows.</p></details></main></body></html>"""
CSS = """
:root { color-scheme: light dark; --ink: light-dark(#222, #eee); --paper: light-dark(#fff, #111); }
html { font: 1.125rem/1.6 serif; background: var(--paper); color: var(--ink); }
a { color: light-dark(#0b5a94, #7cb7e8); }
main, nav { max-width: 30rem; margin: auto; overflow-wrap: break-word; }
a, button, summary { display: inline-block; min-height: 24px; }
pre { white-space: pre-wrap; }
svg { max-width: 100%; height: auto; } figure { margin: 0; }
svg text { fill: currentColor; }
.halo { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
:focus-visible { outline: 2px solid currentColor; }
@media print { :root { color-scheme: light; } nav { display: none; }
  details::details-content { content-visibility: visible; display: block; } }
@media (scripting: none) { button { display: none; } }
@media (width < 600px) { .wide { display: none; } }
@media (width >= 600px) { .phone { display: none; } }
"""
SCRIPT = "document.documentElement.dataset.ready = '';"
NOISE = base64.b64encode(random.Random(0).randbytes(300_000)).decode()  # stays as large, compressed
PLAIN = "@media (scripting: none) {"
NOSCRIPT = '<noscript><img alt="A dot" src="{}"></noscript></main>'

# budget: (what of the page, the style sheet or the script, what it becomes, part of what is said)
DEFECTS = {
    "axe: violations": [
        ("</main>", '<img src="page.css"></main>', "image-alt"),
        (' lang="en"', "", "html-has-lang"),
        ("<title>Good</title>", "<title> </title>", "document-title"),
        ("<main><h1>Good</h1>", "<div><h1>Good</h1>", "landmark-one-main"),
        ("</main>", "<h3>Next</h3></main>", "heading-order"),
        ("</main>", '<div style="height: 3em; background: #555"></div><p style="position: relative;'
         ' margin-top: -2.5em">On it.</p></main>', "insufficient color contrast"),
        ("</main>", '<p>In a sentence stands <a href="page.html" style="display: inline;'
         ' color: #444; text-decoration: none">a link</a>.</p></main>', "link-in-text-block"),
    ],
    "contrast of text": [
        ("#222", "#999", "contrast 2.8"),
        ("#eee", "#222", "contrast 1."),
        ("a { color", "p { opacity: 0.4 } a { color", "contrast 2."),
        ("a { color", f"{PLAIN} p {{ opacity: 0.4 }} }} a {{ color", "contrast 2."),
    ],
    "focus that cannot be seen": [
        ("2px solid currentColor", "none", "a “Book”: looks as without the focus"),
        ("2px solid currentColor", "2px solid transparent", "button “Theme”: looks as"),
        (">Book</a>", ' style="opacity: 0">Book</a>', "hidden while it has the focus"),
    ],
    "motion where less is asked for": [
        ("a { color", "a { transition: color .3s; color", "0.3 s"),
    ],
    "lost without script": [
        ("a { color", f"{PLAIN} h1 {{ display: none }} }} a {{ color", "h1 “Good”: is hidden"),
        ("<p>It follows.</p>", "<p hidden>It follows.</p>", "p “It follows.”: is hidden"),
        # Nothing unfolds it.
        ("<summary>", '<summary style="display: none">', "p “It follows.”: is hidden"),
        ("<p>It follows.</p>", "<p popover>It follows.</p>", "p “It follows.”: is hidden"),
        (PLAIN, "@media print {", "button “Theme”: does nothing"),
        ("<p>It follows.</p>", '<p class="scripted">Press it.</p>', "“Press it.”: does nothing"),
    ],
    "layout shift while a page loads": [
        ("dataset.ready = '';", "dataset.ready = ''; addEventListener('load', () => "
         "requestAnimationFrame(() => requestAnimationFrame(() => "
         "document.querySelector('h1').before('Later.'))));", "moved by"),
    ],
    "px of text in figures": [
        ('font-size="14" fill', 'font-size="11" fill', "“plain” of svg “A cell, a line.”: 11.0"),
        ("max-width: 100%; height: auto", "width: 150px; height: auto", "7.0 px"),
    ],
    "contrast in figures": [("fill:#fff", "fill:#444", "“.42” of svg")],
    "collisions in figures": [
        ('x="130" y="60"', 'x="130" y="88"', "“plain” of svg “A cell, a line.” runs into “label”"),
        ('x="130" y="60"', 'x="110" y="83"', "is crossed by path"),
        ('x="130" y="60"', 'x="60" y="35"', "is crossed by rect"),
        ("paint-order: stroke;", "", "“label” of svg “A cell, a line.” is crossed by path"),
        ("</text></svg>", '</text><circle cx="145" cy="80" r="30"/></svg>', "is hidden by circle"),
    ],
    "px beyond the window": [
        ("</main>", '<p style="width: 700px">x</p></main>', "p “x”"),
        ("a { color", f"{PLAIN} p {{ width: 700px }} }} a {{ color", "p “Attention"),
        ("1.125rem", "18px", "18 px, whatever the reader asks for"),
    ],
    "px of code cut": [
        ("pre-wrap", "pre; overflow: auto; max-width: 90px", "px cut"),
        ("<p>It follows.</p>", f"<pre>{'folded ' * 20}</pre><style>pre {{ white-space: pre; "
         "overflow: auto; max-width: 400px }</style>", "pre “folded"),
    ],
    "characters per line": [("30rem", "40rem", "median of"), ("30rem", "22rem", "median of")],
    "height of a figure in windows": [("height: auto;", "height: 900px;", "900 px high")],
    "contrast on paper": [("@media print { :root", "@media print { em", "contrast 1.")],
    "flaws on paper": [
        ("nav { display: none; }", "", "is printed"),
        ("details::details-content", "em", "stays folded"),
    ],
    "requests elsewhere": [
        ("</main>", '<img alt="A dot" src="http://elsewhere.test/dot.png"></main>', "asks for"),
        ("</main>", NOSCRIPT.format("http://elsewhere.test/dot.png"), "asks for"),
    ],
    "violations of the policy": [
        ("</main>", "<script>window.inline = 1;</script></main>", "script-src"),
        ("</main>", '<script type="module">window.inline = 1;</script></main>', "script-src"),
        ("<h1>", '<h1 onclick="go()">', "script-src"),
        ('<script defer src="page.js">', "<script>eval('1')</script><script>", "script-src"),
    ],
    "console messages": [
        ("dataset.ready = '';", "dataset.ready = ''; console.info('hello');", "says hello"),
        ("dataset.ready = '';", "dataset.ready = ''; nothing();", "nothing is not defined"),
        ("</main>", NOSCRIPT.format("http://elsewhere.test/dot.png"), "img-src"),
    ],
    "failed requests": [
        ("page.js", "gone.js", "could not load"),
        ("</main>", NOSCRIPT.format("gone.png"), "could not load"),
    ],
    "kB on a first visit": [("</main>", f"<!-- {NOISE} --></main>", "page.html 3")],
    "kB on the next page": [("</main>", f"<!-- {NOISE[:100_000]} --></main>", "page.html 7")],
}  # fmt: skip


@pytest.fixture(scope="module")
def tab(browser):
    return Visit(browser)


def measured(tab, site, budgets, old="", new=""):
    """Return what budgets find, in each mode, on a small site in which `old` has become `new`."""
    files = {"page.html": GOOD, "page.css": CSS, "page.js": SCRIPT}
    assert not old or any(old in text for text in files.values())
    for name, text in files.items():
        (site / name).write_text(text.replace(old, new) if old else text, encoding="utf-8")
    with serving(site, "/below/") as address:
        rows = examine(tab, site, address, "page.html", budgets=budgets)
    return {(row.budget, row.mode): row.reading.faults for row in rows}


def test_a_good_page_is_within_every_budget_in_every_mode_of_it(tab, tmp_path):
    modes = {(budget.name, str(mode)): [] for budget in BUDGETS for mode in budget.modes}
    assert measured(tab, tmp_path, BUDGETS) == modes
    assert check_frames(tmp_path) == []


def test_every_budget_has_a_defect_of_its_own():
    assert [budget.name for budget in BUDGETS] == list(DEFECTS)


@pytest.mark.parametrize(
    "name, old, new, told", [(name, *case) for name, cases in DEFECTS.items() for case in cases]
)
def test_a_defect_is_noticed(tab, tmp_path, name, old, new, told):
    (budget,) = (budget for budget in BUDGETS if budget.name == name)
    found = measured(tab, tmp_path, [budget], old, new).values()
    assert any(told in fault for faults in found for fault in faults), found


def test_a_browser_that_draws_nothing_is_not_waited_for(tab, tmp_path, monkeypatch):
    monkeypatch.setattr(visit, "DRAWN", visit.DRAWN.replace("30000", "300"))
    with pytest.raises(Error, match=visit.NOT_DRAWN):
        measured(tab, tmp_path, BUDGETS, SCRIPT, "window.requestAnimationFrame = () => 0;")


def test_a_page_that_was_not_drawn_is_measured_again_in_a_new_browser(monkeypatch):
    opened = []

    def measured_by_the_second(tab, page):
        if tab == 1:
            raise Error(visit.NOT_DRAWN)
        return [page]

    def own_visit():
        opened.append(len(opened) + 1)
        return opened[-1]

    monkeypatch.setattr(pool, "own_visit", functools.cache(own_visit))
    monkeypatch.setattr(pool, "examine", measured_by_the_second)
    assert [pool.examine_in_pool(page) for page in "ab"] == [["a"], ["b"]]
    assert opened == [1, 2]


def test_a_sample_has_pages_of_every_kind():
    pages = every_page()
    kept = sample(pages)
    left_out = set(pages) - set(kept)
    assert left_out
    assert all(page.startswith(WRITTEN_ALIKE) for page in left_out)
    assert {kind_of(page) for page in kept} == {kind_of(page) for page in pages}
    files = {path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html")}
    assert files - set(pages) == {f"{old}.html" for old in moved.PAGES}
