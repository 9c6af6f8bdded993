"""The checks of the built site notice what they are for."""

import pytest

from press.build.check_html import check_frames, check_site
from press.site.policy import POLICY

GOOD = """<!doctype html><html><head><link rel="stylesheet" href="style.css"></head><body>
<main id="top"><h1 id="title">Title</h1>
<a href="#title">here</a> <a href="other.html#there">there</a> <a href="sub/">sub</a>
<a href="https://example.org/paper">elsewhere</a></main></body></html>"""
OTHER = '<html><body><main><p id="there">x</p></main></body></html>'


def site(folder, page):
    (folder / "sub").mkdir()
    (folder / "sub" / "index.html").write_text(OTHER)
    (folder / "other.html").write_text(OTHER)
    (folder / "style.css").touch()
    (folder / "page.html").write_text(page)
    return folder


class TestCheckSite:
    def test_a_good_site_has_no_problem(self, tmp_path):
        assert check_site(site(tmp_path, GOOD)) == []

    @pytest.mark.parametrize(
        "good, bad, problem",
        [
            ("other.html#there", "missing.html", "broken link: missing.html"),
            ("other.html#there", "other.html#gone", "broken anchor: other.html#gone"),
            ('href="#title"', 'href="#gone"', "broken anchor: #gone"),
            ("<h1", '<script src="https://cdn.test/x.js"></script><h1', "asks another site"),
            ("</head>", '<link rel="item" href="data.json"></head>', "broken link: data.json"),
            ('href="style.css"', 'href="//cdn.test/s.css"', "asks another site: //cdn.test/s.css"),
            ("https://example.org/paper", " javascript:go()", "inline script: "),
            ('id="top"', 'id="title"', "the id 'title' stands twice"),
            ("<h1", "pip install selfattn_ref<h1", "installs what is not here: selfattn_ref"),
            ("<h1", "pip install ./a-1.whl<h1", "installs what is not here: ./a-1.whl"),
        ],
    )
    def test_a_defect_is_named_with_its_page(self, tmp_path, good, bad, problem):
        assert good in GOOD
        (found,) = check_site(site(tmp_path, GOOD.replace(good, bad)))
        assert found.startswith("page.html: ")
        assert problem in found

    @pytest.mark.parametrize("where", ["./", "https://book.test/examples/"])
    def test_what_is_installed_is_a_file_of_the_site(self, tmp_path, where):
        there = site(tmp_path, GOOD.replace("<h1", f"<p>pip install {where}a-2.whl</p><h1"))
        assert len(check_site(there)) == 1
        (there / "examples").mkdir()
        (there / "examples" / "a-2.whl").touch()
        assert check_site(there) == []

    def test_a_notebook_installs_no_other_file_either(self, tmp_path):
        (tmp_path / "a.ipynb").write_text('["# %pip install selfattn_ref\\n"]')
        assert check_site(site(tmp_path, GOOD)) == [
            "a.ipynb: installs what is not here: selfattn_ref"
        ]

    def test_an_empty_site_is_a_problem(self, tmp_path):
        assert check_site(tmp_path) == [f"{tmp_path}: no page was built"]


FRAMED = f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>One</title><meta name="description" content="What the page is about.">
<link rel="stylesheet" href="style.css"><script defer src="page.js"></script></head>
<body><main><h1>One</h1><h2>Two</h2><h3>Three</h3><h2>Four</h2><a href="#x">x</a></main></body>
</html>"""


class TestCheckFrames:
    def test_a_good_frame_has_no_flaw(self, tmp_path):
        (tmp_path / "page.html").write_text(FRAMED)
        assert check_frames(tmp_path) == []

    @pytest.mark.parametrize(
        "good, bad, flaw",
        [
            ("What the page is about.", "", "no description"),
            ("What the page is", "What the &lt;a …", "no description in plain text"),
            ("<h1>One</h1>", "<p>One</p>", "0 headings of level 1"),
            ("<h2>Two</h2>", "<h1>Two</h1><h2>Two</h2>", "2 headings of level 1"),
            ("; connect-src 'self'", "", "not the policy"),
            ('<meta charset="utf-8">', '<script src="early.js"></script>', "does not stand before"),
        ],
    )
    def test_a_flaw_is_named_with_its_page(self, tmp_path, good, bad, flaw):
        assert good in FRAMED
        (tmp_path / "page.html").write_text(FRAMED.replace(good, bad))
        (found,) = check_frames(tmp_path)
        assert found.startswith("page.html: ")
        assert flaw in found

    def test_two_pages_with_one_title_are_a_flaw(self, tmp_path):
        for name in ("page.html", "other.html"):
            (tmp_path / name).write_text(FRAMED)
        assert check_frames(tmp_path) == ["2 pages have the title 'One'"]

    def test_an_address_that_begins_with_book_is_a_flaw(self, tmp_path):
        (tmp_path / "book").mkdir()
        (tmp_path / "book" / "page.html").write_text(FRAMED)
        (found,) = check_frames(tmp_path)
        assert found.startswith("book/: ")
