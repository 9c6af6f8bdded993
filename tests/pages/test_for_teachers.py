"""The lessons that teachers are offered take the time that their headings say."""

import re

import numpy as np
import pytest
from docutils import nodes

from book.figures.handouts import SOURCE, Handout
from press.example.snippets import ATTENTION
from press.lesson.lab import ALONE, MASKED, START, STUB
from press.lesson.opening import minutes
from press.site.rights import TEXT as TERMS
from selfattn_ref import __version__, scaled_dot_product_attention
from selfattn_ref.worked_examples import WorkedExampleMismatch, load
from tests.pages.sources import BOOK, lessons, relative

TEXT = (BOOK / "reference" / "for-teachers.md").read_text("utf-8")
LESSONS = [
    (int(length), title, list(map(int, re.findall(r"^\| (\d+) \|", plan, re.M))))
    for length, lessons in re.findall(
        r"^## Lessons of (\d+) minutes\n(.*?)(?=^## )", TEXT, re.M | re.S
    )
    for title, plan in re.findall(r"^### (.+?)\n(.*?)(?=^###? |\Z)", lessons, re.M | re.S)
]


@pytest.mark.parametrize("length, title, minutes", LESSONS, ids=[title for _, title, _ in LESSONS])
def test_the_minutes_of_a_lesson_add_up(length, title, minutes):
    assert sum(minutes) == length


def test_there_are_lessons_of_both_lengths():
    assert {length for length, _, _ in LESSONS} == {45, 90}


HANDOUTS = re.findall(
    r"^- \[\]\(#reference-handouts-([a-z-]+)\): .*\. (Half an hour|Twenty minutes)", TEXT, re.M
)


@pytest.mark.parametrize("name, time", HANDOUTS)
def test_a_handout_takes_the_time_that_its_sheet_and_its_lesson_say(name, time):
    sheet = (BOOK / "reference" / "handouts" / f"{name}.md").read_text("utf-8")
    assert f"It takes {time.lower()} " in sheet
    (planned,) = re.findall(rf"^\| (\d+) \|.*\(#reference-handouts-{name}\)", TEXT, re.M)
    assert planned == {"Half an hour": "30", "Twenty minutes": "20"}[time]


def test_more_than_half_of_the_lessons_can_fill_an_evening():
    assert "More than half of them, beginning with [](#causal-masking), have one that keeps" in TEXT
    says = r"\b(For an evening:|An evening\.)"
    long = [page for page in lessons() if re.search(says, page.read_text("utf-8"))]
    assert relative(long[0]) == "causal/masking"
    assert len(long) > len(lessons()) / 2


@pytest.mark.parametrize("kind, length", [("note", 20), ("dropdown", 5)])
def test_what_is_folded_takes_no_time_before_its_fold_is_made(kind, length):
    text = nodes.paragraph(text="word " * 4000)
    assert minutes(nodes.section("", nodes.admonition("", text, classes=[kind]))) == length


def test_an_output_in_two_forms_takes_the_time_of_one():
    forms = [
        nodes.container("", *(nodes.literal_block() for _ in range(n)), mime_type=kind)
        for n, kind in ((40, "text/plain"), (20, "text/html"))
    ]
    assert minutes(nodes.container("", *forms)) == 10
    assert minutes(nodes.container("", forms[0])) == 20


def test_a_sheet_says_where_it_is_from_and_on_which_terms():
    assert SOURCE.endswith(f" version {__version__}, {TERMS.name}.")
    handout = Handout("A title", "Worked example SA036.")._repr_html_()
    assert handout.count(f"{SOURCE} Worked example SA036.") == 2


def test_the_laboratory_says_what_the_calls_of_its_example_are():
    calls = [call for call in load("SA016").calls if call.function == ATTENTION]
    (line,) = re.findall(r"^.*SA016 calls .*$", TEXT, re.M)
    asked = [{*call.arguments} - {"query", "key", "value"} for call in calls]
    assert [set(re.findall(r"(\w+)=", call)) for call in re.findall(r"f\((.*?)\)", line)] == asked


def run(*code, attention):
    names = {}
    exec(START, names)
    exec(STUB, names)
    if attention:
        names["attention"] = attention
    for one in code:
        exec(one, names)


def test_the_notebook_of_the_laboratory_accepts_what_is_right_and_nothing_before(capsys):
    with np.printoptions():
        run(ALONE, MASKED, attention=scaled_dot_product_attention)
        said = capsys.readouterr().out.splitlines()
        for code in (ALONE, MASKED):
            with pytest.raises((WorkedExampleMismatch, TypeError)):
                run(code, attention=None)
    assert said == [
        "SA009 agrees",
        "SA034 agrees",
        "SA016 with mask agrees",
        "SA016 with causal agrees",
    ]


def test_its_message_names_the_slip_of_a_first_program():
    def lost(query, key, value):
        powers = np.exp(query @ key.T / np.sqrt(key.shape[-1]))
        return powers / powers.sum(-1) @ value

    with np.printoptions(), pytest.raises(WorkedExampleMismatch, match="sum-without-keepdims"):
        run(ALONE, attention=lost)


def test_a_link_to_a_lecture_names_a_lesson_of_the_first_reading():
    linked = re.findall(r'href="\.\./([a-z/-]+)\.html\?lecture"', TEXT)
    assert len(linked) > 5
    for name in linked:
        assert re.search(r"^paths:.* first\b", (BOOK / f"{name}.md").read_text("utf-8"), re.M), name
    slides = re.findall(r'lecture=(\d+)">(?:slides? )?(\d+)', TEXT)
    assert len(slides) > 3
    assert all(to == said for to, said in slides)
