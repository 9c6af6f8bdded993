"""A lesson quarrels with nobody and names pages by links; the glossary is sorted."""

import re

import pytest

from tests.pages.sources import BOOK, lessons, pages, prose, relative

EVERY_LESSON = pytest.mark.parametrize("page", lessons(), ids=relative)


class TestProse:
    @EVERY_LESSON
    def test_no_lesson_quarrels_with_a_text_that_nobody_can_open(self, page):
        text = page.read_text("utf-8")
        assert not re.findall(r"source0\d\d|[Ss]ource document|\w+_[0-9a-f]{16}\.txt", text)

    @EVERY_LESSON
    def test_a_page_is_named_by_a_link_and_not_by_its_place(self, page):
        text = re.sub(r"\[[^\]]*\]\([^)]*\)", "", prose(page.read_text("utf-8")))
        assert not re.findall(r"\b(?:next|last|previous) page\b|\bpage (?:before|after)\b", text)

    def test_a_link_that_has_the_title_of_a_page_leads_there(self):
        texts = {page: page.read_text("utf-8") for page in pages()}
        titles = {}
        for text in texts.values():
            label, title = re.search(r"^\((.+)\)=\n# (.+)$", text, re.M).groups()
            titles[title.lower()] = label
        found = [
            (words, label)
            for text in texts.values()
            for words, label in re.findall(r"\[([^\]\n]+)\]\(#([\w-]+)\)", text)
            if words.lower() in titles and not label.startswith("fig-")
        ]
        assert len(found) > 40
        assert [one for one in found if titles[one[0].lower()] != one[1]] == []

    @EVERY_LESSON
    def test_the_last_exercise_is_the_last(self, page):
        text = page.read_text("utf-8")
        for label in re.findall(r"\{ref\}`the last exercise <(.+?)>`", text):
            assert label == re.findall(r":label: (ex-.+)", text)[-1]

    def test_the_glossary_is_sorted_below_its_letters(self):
        text = (BOOK / "reference" / "glossary.md").read_text("utf-8")
        _, *parts = re.split(r"^## ", text, flags=re.M)
        letters = "".join(f'<a href="#{part[0].lower()}">{part[0]}</a> ' for part in parts)
        assert f'<p class="letters">{letters.strip()}</p>' in text
        entries = []
        for letter, below in ((part[0], part[1:]) for part in parts):
            # Other names follow the first.
            found = re.findall(r"(?:\n\n|\{glossary\}\n)(\w.+)", below)
            assert {entry[0].upper() for entry in found} == {letter}
            entries += found
        assert entries == sorted(entries, key=str.lower)
