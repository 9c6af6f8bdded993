"""A lesson is written as the blocks of the book: one build of a small book, read as HTML."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag

from press.site.library import WHEEL
from tests.project.small_books import HEADER

LESSON = """
(label-{name})=
# A lesson

You will prove one thing.
You need [another lesson](#label-{name}) and patience.

A paragraph that names {{cite:t}}`vaswani2017attention`, {{cite:t}}`gemma2024improving` and SA005.

:::{{prf:theorem}} One is one
:label: thm-{name}

It is $1$.
:::

:::{{prf:proof}}
By looking.
:::

Checked by `tests/theorems/test_concepts.py::TestConvexHull`.

```{{code-cell}} python
from selfattn_ref.worked_examples import load
load("SA005").check(total=6.534938556205488)
```

```{{exercise-start}}
:label: ex-{name}
```
Look.
```{{exercise-end}}
```

```{{solution-start}} ex-{name}
:class: dropdown
```
Seen.
```{{solution-end}}
```
"""


def lesson(name, level):
    header = HEADER.replace("kernelspec", f"question: Is it?\nlevel: {level}\nkernelspec")
    return header + LESSON.format(name=name)


BOOKS = {
    "lesson": {
        "reference/bibliography": ("# Bibliography\n\n```{bibliography}\n```\n", ""),
        "concepts/first": (lesson("first", "1"), ""),
        "concepts/second": (lesson("second", "2–3"), ""),
    }
}


@pytest.fixture
def site(small_book):
    folder, _ = small_book("lesson")
    return Path(folder, "_build", "new", "html")  # it lacks pages, and so it is no site


def read(site, name):
    main = BeautifulSoup((site / name).read_text("utf-8"), "lxml").find("main")
    assert isinstance(main, Tag)
    return main


def test_cells_that_two_pages_have_in_common_are_executed_once(small_book):
    _, built = small_book("lesson")
    assert built.stdout.count("Execution Successful") == 1
    assert built.stdout.count("Using cached notebook") == 2


class TestLesson:
    def test_its_address_has_no_folder_of_the_sources(self, site):
        assert (site / "concepts" / "first.html").is_file()
        assert not (site / "book").exists()

    def test_question_promise_and_level_stand_at_its_head(self, site):
        main = read(site, "concepts/second.html")
        assert main.select_one(".kicker").text == "Is it?"
        names = [b.text for b in main.select(".facts strong")]
        assert names == ["You will", "You need", "Level", "Run it"]
        assert main.select_one(".facts").text.endswith(
            "Level 2–3, about 5 minutes without the exercises\n"
            "Run it as a notebook (or one without solutions), with the library beside it"
        )
        *notebooks, wheel = (a["href"] for a in main.select(".facts a[download]"))
        assert notebooks == ["second.ipynb", "second-for-students.ipynb"]
        assert all((site / "concepts" / name).is_file() for name in notebooks)
        assert wheel == f"../examples/{WHEEL}"

    def test_a_statement_has_its_title_and_a_link_to_its_test(self, site):
        head = read(site, "concepts/first.html").select_one("#thm-first p.head")
        assert head.select_one(".kind").text == "Theorem 1"
        assert head.select_one(".title").text == "One is one"
        link = head.select_one(".tested a")["href"]
        assert link == "../tests/theorems/test_concepts.html#TestConvexHull"
        assert "Checked by" not in read(site, "concepts/first.html").text

    def test_a_statement_can_be_cited_beside_its_title(self, site):
        statement = read(site, "concepts/first.html").select_one("#thm-first")
        button = statement.select_one("p.head button")
        assert button.text == "cite Theorem 1"
        opened = statement.find(id=button["popovertarget"])
        assert opened.has_attr("popover")
        assert [one.text for one in opened.select("summary")] == ["BibTeX", "RIS", "CSL-JSON"]
        assert "“Theorem 1 (One is one), thm-first.” In “A lesson”, " in opened.pre.text
        assert opened.pre.text.endswith(" concepts/first.html#thm-first")

    def test_a_proof_is_folded_at_level_one_only(self, site):
        first, second = (read(site, f"concepts/{n}.html") for n in ("first", "second"))
        assert not first.select_one("details.proof").has_attr("open")
        assert second.select_one("details.proof").has_attr("open")
        assert " ".join(first.select_one("details.proof").text.split()) == (
            "Proof of theorem 1 By looking.∎"
        )

    def test_a_check_is_a_link_to_its_example_and_no_output(self, site):
        cell = read(site, "concepts/first.html").select_one(".cell")
        assert cell.select_one(".check a")["href"] == "../SA005/index.html"
        assert "1 number" in cell.select_one(".check a").text
        assert cell.select_one(".cell_output") is None

    def test_of_code_only_what_has_a_style_is_marked(self, site):
        code = read(site, "concepts/first.html").select_one(".cell_input pre, .folded pre")
        marked = [(mark["class"], mark.text) for mark in code.select("span[class]:not(.long)")]
        assert marked == [(["kn"], "from"), (["kn"], "import")]

    def test_a_solution_is_folded_under_the_name_of_its_exercise(self, site):
        solution = read(site, "concepts/first.html").select_one("details.solution")
        assert solution.select_one("#ex-first-answer").text == "Seen."
        assert not solution.has_attr("open")

    def test_the_first_mention_of_a_source_has_a_note(self, site):
        note, team = read(site, "concepts/first.html").select(".notes details")
        assert note.summary.text == "Vaswani et al., 2017"
        assert team.summary.text == "Gemma Team, 2024"
        assert "Attention Is All You Need" in note.text
