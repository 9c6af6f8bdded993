"""With a public address: what waits for one leads there. Run by `make test-project`."""

import json
import re
from urllib.parse import parse_qs, urldefrag, urlsplit

import pytest
import yaml
from lxml import html

from press.edition import check
from press.edition.check import missing
from press.edition.publish import publish
from press.edition.release import release
from press.site.addresses import elsewhere
from press.site.library import WHEEL
from tests.pages.sources import ROOT
from tests.project.rebuilds import PAGES as BOOK
from tests.project.small_books import rebuild, write

SITE = "https://site.test/attention"
SOURCES = "https://code.test/them/book"


def configured(text, site=SITE, sources=SOURCES):
    """Return the settings of the book with other addresses, whichever it has."""
    text = re.sub(r'(?<=baseurl: )"[^"]*"', f'"{site}"', text)
    text = re.sub(r'(?<=repository:\n  url: )"[^"]*"', f'"{sources}"', text)
    config = yaml.safe_load(text)
    assert (config["html"]["baseurl"], config["repository"]["url"]) == (site, sources)
    return text


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    write(folder, {name: (text, "") for name, text in BOOK.items()})
    settings = folder / "_config.yml"
    settings.write_text(configured(settings.read_text("utf-8")), "utf-8")
    done = rebuild(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "_build" / "html"


def page(site, name):
    return html.parse(str(site / name)).getroot()


def assert_there(site, address):
    """Require that an address is one of this site, with its anchor."""
    path, anchor = urldefrag(address)
    assert path.startswith(f"{SITE}/"), address
    name = path.removeprefix(f"{SITE}/")
    file = site / (f"{name}index.html" if not name or name.endswith("/") else name)
    assert file.is_file(), address
    if anchor:
        assert page(site, file).xpath(f"//*[@id='{anchor}']"), address


PAGES = ["index.html", "concepts/first.html", "SA005/index.html"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_its_address_and_all_formats_of_citing_do(site, name):
    root = page(site, name)
    (canonical,) = root.xpath("//link[@rel='canonical']/@href")
    assert_there(site, canonical)
    assert canonical.removeprefix(SITE).strip("/") == name.removesuffix("index.html").strip("/")
    assert root.xpath("//meta[@property='og:url']/@content") == [canonical]
    assert root.xpath("//meta[@name='citation_public_url']/@content") == [canonical]
    (data,) = root.xpath("//script[@type='application/ld+json']")
    said = json.loads(data.text)
    assert said["url"] == said["@id"] == canonical
    for file in said.get("distribution", []):
        assert_there(site, file["contentUrl"])
    assert root.xpath("//link[@rel='cite-as']/@href") == [canonical]
    texts = [one.text_content() for one in root.xpath("//details[@class='menu cite']//pre")]
    assert len(texts) == 4
    assert all(canonical in text for text in texts)


def test_a_statement_is_cited_with_its_anchor(site):
    root = page(site, "concepts/first.html")
    texts = [one.text_content() for one in root.xpath("//div[@id='cite-thm-first']//pre")]
    address = f"{SITE}/concepts/first.html#thm-first"
    assert_there(site, address)
    assert len(texts) == 4
    assert all(address in text for text in texts)


@pytest.mark.parametrize(
    "name, what, where",
    [
        ("concepts/first.html", "//footer", "concepts/first.html"),
        ("concepts/first.html", "//div[@id='cite-thm-first']", "thm-first"),
        ("SA005/index.html", "//footer", "SA005"),
    ],
)
def test_a_mistake_is_reported_with_a_form_that_knows_where(site, name, what, where):
    (to,) = page(site, name).xpath(f"{what}//a[.='Report a mistake']/@href")
    asked = parse_qs(urlsplit(to).query)
    assert to.startswith(f"{SOURCES}/issues/new?")
    assert asked["where"][0].startswith(f"{where}, version ")
    form = ROOT / ".github" / "ISSUE_TEMPLATE" / asked["template"][0]
    fields = yaml.safe_load(form.read_text("utf-8"))["body"]
    assert "where" in {field.get("id") for field in fields}


def test_a_page_is_edited_where_its_source_is(site):
    (to,) = page(site, "concepts/first.html").xpath("//a[.='Edit this page']/@href")
    source = to.removeprefix(f"{SOURCES}/edit/main/")
    assert (site.parents[1] / source).read_text("utf-8") == BOOK["concepts/first"]
    assert not page(site, "SA005/index.html").xpath("//a[.='Edit this page']")


@pytest.mark.parametrize(
    "name, notebook",
    [
        ("concepts/first.html", "concepts/first.ipynb"),
        ("SA005/index.html", "examples/SA005.ipynb"),
    ],
)
def test_a_notebook_runs_elsewhere_and_installs_from_here(site, name, notebook):
    (to,) = page(site, name).xpath("//a[contains(@href, 'fromURL')]/@href")
    assert to == elsewhere(SITE, notebook)
    (address,) = parse_qs(urlsplit(to).query)["fromURL"]
    assert_there(site, address)
    cells = json.loads((site / notebook).read_text("utf-8"))["cells"]
    assert any(f"pip install {SITE}/examples/{WHEEL}" in "".join(one["source"]) for one in cells)
    assert_there(site, f"{SITE}/examples/{WHEEL}")


def test_search_engines_get_a_list(site):
    listed = html.fromstring((site / "sitemap.xml").read_bytes()).xpath("//loc/text()")
    assert {f"{SITE}/SA005/", f"{SITE}/concepts/first.html"} <= set(listed)
    for address in listed:
        assert_there(site, address)


@pytest.fixture(scope="module")
def published(site, tmp_path_factory):
    folder = tmp_path_factory.mktemp("released")
    archive, *_ = release(site, folder / "files")
    publish([archive], folder / "public")
    return folder / "public"


def test_what_is_published_has_each_address_that_a_page_names(site, published):
    texts = [
        path.read_text("utf-8")
        for name in ("*.html", "*.ipynb", "*.xml")
        for path in site.rglob(name)
    ]
    named = set(re.findall(SITE + r"/[^\s\"'<>\\#&{}]*", " ".join(texts)))
    assert {f"{SITE}/examples/{WHEEL}", f"{SITE}/SA005/"} <= named
    for address in named:
        file = published / address.removeprefix(f"{SITE}/")
        assert (file / "index.html" if file.is_dir() else file).is_file(), address


def test_the_page_for_wrong_addresses_finds_home_from_any_depth(published):
    (base,) = page(published, "404.html").xpath("//base/@href")
    assert base == "/attention/latest/"
    for name in page(published, "404.html").xpath("//link[@rel='stylesheet']/@href | //a/@href"):
        file = published / "latest" / urlsplit(name).path
        assert re.match("https:|#", name) or file.is_file(), name


class TestPublishCheck:
    @pytest.fixture
    def sources(self, tmp_path):
        example = check.DATA.replace("*", "005")
        for name in ("_config.yml", "CITATION.cff", "CHANGELOG.md", check.CITING, example):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            text = (ROOT / name).read_text("utf-8").replace(check.DRAFT, "is published")
            (tmp_path / name).write_text(text, "utf-8")
        settings = tmp_path / "_config.yml"
        settings.write_text(configured(settings.read_text("utf-8"), "", ""), "utf-8")
        return tmp_path

    def test_it_names_what_is_missing(self, sources):
        said = "\n".join(missing(sources))
        assert "html.baseurl" in said
        assert "repository.url" in said
        assert "make release" in said

    def test_what_is_there_is_not_named(self, sources):
        settings = sources / "_config.yml"
        settings.write_text(configured(settings.read_text("utf-8")), "utf-8")
        said = "\n".join(missing(sources))
        assert "_config.yml" not in said

    @pytest.mark.parametrize(
        "name, old, new, said",
        [
            ("_config.yml", 'baseurl: ""', 'baseurl: "site.test/"', "_config.yml: html.baseurl is"),
            (
                "_config.yml",
                '\n  url: ""',
                '\n  url: "https://YOU.test"',
                "_config.yml: repository",
            ),
            ("CITATION.cff", "\nversion: ", "\nversion: 9", "CITATION.cff: version is 9"),
            ("CITATION.cff", "date-released: 2", "date-released: 3", "CHANGELOG.md: the heading"),
            ("CITATION.cff", "\ndate-released", "\nday", "CITATION.cff: date-released"),
            (check.CITING, "# How to cite", f"# This {check.DRAFT}", check.CITING),
            (check.DATA.replace("*", "005"), '"released": "2', '"released": "3', check.DATA),
        ],
    )
    def test_what_does_not_fit_is_named(self, sources, name, old, new, said):
        path = sources / name
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), "utf-8")
        lines = [line for line in missing(sources) if line.startswith(said)]
        assert lines
        assert "Without it" not in lines[0]

    def test_a_site_of_another_state_is_named(self, sources, monkeypatch):
        site = sources / check.BUILT
        site.mkdir(parents=True)
        for name in ("selfattn-book-1.pdf", "selfattn-examples-1.pdf"):
            (site / name).touch()
        for built, here, said in (
            ("abc", "abc", ""),
            ("abc", "abd", "not of the last commit"),
            ("abc-dirty", "abc-dirty", "changes that no commit has"),
        ):
            (site / "commit.txt").write_text(f"{built}\n")
            monkeypatch.setattr(check, "commit", lambda here=here: here)
            lines = [line for line in missing(sources) if "_config.yml" not in line]
            assert [said in line for line in lines] == [True] * bool(said)
        (site / "selfattn-examples-1.pdf").unlink()
        assert any("make release" in line for line in missing(sources))
