"""What can be cited on the built site can be found: by another book, and by programs.

Run by `make test-project`, which builds the site first.
"""

import json
import re
import subprocess
import sys
from functools import cache
from urllib.parse import urldefrag

import pytest
from bs4 import BeautifulSoup
from sphinx.util.inventory import InventoryFile

from press.build.book import SITE
from press.build.check_html import anchors_of, parsed
from selfattn_ref import __version__
from selfattn_ref.worked_examples import ids
from tests.pages.sources import BOOK, labels, lessons, relative

PAGE = (BOOK / "reference" / "how-to-cite.md").read_text("utf-8")
BUILD = ["-m", "sphinx", "-q", "-W", "-n", "--keep-going"]


@cache
def anchors(page):
    return anchors_of(parsed(SITE / page))


@pytest.fixture(scope="module")
def inventory():
    """Return what the inventory lists: for each name its address and its title."""
    with (SITE / "objects.inv").open("rb") as file:
        found = InventoryFile.load(file, "", lambda base, uri: uri)
    return {
        kind: {name: (address, title) for name, (_, _, address, title) in entries.items()}
        for kind, entries in found.items()
    }


class TestInventory:
    def test_it_says_which_book_it_is_of_and_which_version(self):
        with (SITE / "objects.inv").open("rb") as file:
            head = [file.readline().decode().strip() for _ in range(3)]
        assert head[1:] == ["# Project: Self-attention, computed", f"# Version: {__version__}"]

    def test_every_label_of_the_sources_is_listed_and_its_address_exists(self, inventory):
        places = {label: f"{page}.html" for label, page in labels().items()}
        assert len(places) > 150
        for label, page in places.items():
            address, title = inventory["std:label"][label]
            where, anchor = urldefrag(address)
            assert where == page, label
            assert anchor == (f"equation-{label}" if label.startswith("eq-") else label)
            assert anchor in anchors(page), label
            assert title not in {"", "-"}, label

    def test_every_example_is_listed(self, inventory):
        for name in ids():
            address, title = inventory["std:label"][name.lower()]
            assert (SITE / urldefrag(address)[0]).is_file()
            assert title.startswith(f"{name}: ")


class TestAnotherBook:
    def test_it_refers_to_this_one_as_the_page_says(self, tmp_path):
        (settings,) = re.findall(r"```python\n(extensions.*?)```", PAGE, re.S)
        (source,) = re.findall(r"```md\n(.*?)```", PAGE, re.S)
        assert "path/to/this/site/" in settings
        (tmp_path / "conf.py").write_text(settings.replace("path/to/this/site/", f"{SITE}/"))
        (tmp_path / "index.md").write_text(f"# Another book\n\n{source}")
        command = [sys.executable, *BUILD, tmp_path, tmp_path / "html"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        html = BeautifulSoup((tmp_path / "html" / "index.html").read_text("utf-8"), "lxml")
        links = {a.text: a["href"] for a in html.select("a.external") if str(SITE) in a["href"]}
        assert links.keys() >= {
            "SA016: Causal mask, step by step",
            "What a hidden key gets",
            "selfattn_ref.softmax()",
        }
        assert len(links) == 5
        for text, address in links.items():
            path, anchor = urldefrag(address[address.index(str(SITE)) :])
            assert anchor in anchors(path), text


class TestPrograms:
    def data(self, address):
        (script,) = parsed(SITE / address).xpath("//script[@type='application/ld+json']")
        return json.loads(script.text)

    def test_every_lesson_is_a_learning_resource_and_says_what_its_head_says(self):
        for page in lessons():
            data = self.data(f"{relative(page)}.html")
            assert data["@type"] == "LearningResource"
            (head,) = parsed(SITE / f"{relative(page)}.html").find_class("facts")
            facts = head.text_content()
            level, minutes = re.search(r"Level (\S+), about (\d+) minutes", facts).groups()
            assert data["educationalLevel"] == f"Level {level}"
            assert data["timeRequired"] == f"PT{minutes}M"
            words = re.findall("[a-z]{3,}", data["teaches"])
            assert len(words) >= 3
            assert set(words) <= set(re.findall("[a-z]{3,}", facts))

    def test_every_example_is_a_dataset_whose_files_hold_it(self):
        from selfattn_ref.worked_examples import load

        for name in ids():
            data = self.data(f"{name}/index.html")
            example = load(name)
            assert data["@type"] == "Dataset"
            assert data["identifier"] == f"{name}@{__version__}#sha256:{example.digest}"
            assert data["datePublished"] == str(example.released)
            files = [SITE / name / one["contentUrl"] for one in data["distribution"]]
            assert [path.suffix for path in files] == [".json", ".npz", ".safetensors"]
            assert json.loads(files[0].read_text("utf-8"))["id"] == name
            assert all(path.is_file() for path in files)

    def test_the_names_that_the_page_gives_are_addresses_of_the_site(self):
        rows = re.findall(r"^\| .+ \| `\S+` \| `(\S+)` \|$", PAGE, re.M)
        assert len(rows) == 8
        for address in rows:
            path, anchor = urldefrag(address)
            path += "index.html" if path.endswith("/") else ""
            assert (SITE / path).is_file(), address
            assert not anchor or anchor in anchors(path), address
