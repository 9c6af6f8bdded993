"""The checks of the built site notice what they are for."""

from pathlib import Path

import pytest

from tools.check_site import check_site

GOOD = """<!doctype html><html><head><link rel="stylesheet" href="style.css"></head><body>
<main id="top"><h1 id="title">Title</h1>
<figure><svg role="img" aria-label="Two bars, 1 and 2."></svg>
<figcaption>Claim.</figcaption></figure>
<a href="#title">here</a> <a href="other.html#there">there</a> <a href="sub/">sub</a>
<a href="https://example.org/paper">elsewhere</a></main></body></html>"""
OTHER = '<html><body><main><p id="there">x</p></main></body></html>'


def site(folder: Path, page: str) -> Path:
    (folder / "sub").mkdir()
    (folder / "sub" / "index.html").write_text(OTHER)
    (folder / "other.html").write_text(OTHER)
    (folder / "page.html").write_text(page)
    return folder


class TestCheckSite:
    def test_a_good_site_has_no_problem(self, tmp_path: Path) -> None:
        assert check_site(site(tmp_path, GOOD)) == []

    @pytest.mark.parametrize(
        "good, bad, problem",
        [
            ("other.html#there", "missing.html", "broken link: missing.html"),
            ("other.html#there", "other.html#gone", "broken anchor: other.html#gone"),
            ('href="#title"', 'href="#gone"', "broken anchor: #gone"),
            (' aria-label="Two bars, 1 and 2."', "", "drawing without a description"),
            ("figure>", "div>", "drawing without a caption"),
            ("<h1", '<img src="a.png" alt=""><h1', "image without an alt text: a.png"),
            ("<h1", '<script src="https://cdn.test/x.js"></script><h1', "asks another site"),
            ('href="style.css"', 'href="//cdn.test/s.css"', "asks another site: //cdn.test/s.css"),
            ('id="top"', 'id="title"', "the id 'title' stands twice"),
        ],
    )
    def test_a_defect_is_named_with_its_page(
        self, tmp_path: Path, good: str, bad: str, problem: str
    ) -> None:
        assert good in GOOD
        (found,) = check_site(site(tmp_path, GOOD.replace(good, bad)))
        assert found.startswith("page.html: ")
        assert problem in found

    def test_an_empty_site_is_a_problem(self, tmp_path: Path) -> None:
        assert check_site(tmp_path) == [f"{tmp_path}: no page was built"]
