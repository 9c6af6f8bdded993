"""Pages that have moved: each keeps its old address, which leads to the new one."""

from press.site.policy import POLICY

# What had a label there has it on the new page.
PAGES = {
    "analogies/cat-walks-by-the-bank": "analogies/party",
    "scaling/checking-by-experiment": "scaling/other-scalings",
}
PAGE = """\
<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>Moved: {old}</title><meta name="description" content="This page is now a part of {new}.">
<link rel="canonical" href="{to}"><script src="{up}_static/lead.js"></script>
<meta http-equiv="refresh" content="0; url={to}"></head>
<body><main><h1>This page has moved</h1>
<p>It is now a part of <a href="{to}">{new}</a>.</p></main></body></html>
"""
# Takes along what the refresh would lose: the place in the page, and what a figure shows.
LEAD = 'location.replace(document.querySelector("link").href + location.search + location.hash);\n'


def leading(old: str) -> str:
    """Return the page at an old address."""
    up, new = "../" * old.count("/"), PAGES[old]
    return PAGE.format(old=old, new=new, to=f"{up}{new}.html", up=up, policy=POLICY)


def former(page: str) -> list[str]:
    """Return the pages that are now a part of this one."""
    return [old for old, new in PAGES.items() if new == page]
