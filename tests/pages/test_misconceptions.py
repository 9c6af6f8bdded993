"""Of each sentence about what is true instead of a misconception, an assertion quotes words."""

import ast
import re

from selfattn_ref.worked_examples import load
from tests.pages.sources import BOOK, CELL, ROOT, cells
from tests.pages.test_quotes import not_held, quotes_of, sentences

TEXT = (BOOK / "reference" / "misconceptions.md").read_text("utf-8")
SECTIONS = re.findall(r"^\((misconception|question)-.+\)=\n### ", TEXT, re.M)
ELSEWHERE = re.compile(r"(?:See|Proved in|The slips? in code:|The numbers are in) (?:\[|SA)")

# What tells no number, and makes no claim that this page could compute.
NO_CLAIM = """\
A shelf mark finds the book, but it is not what you read; see [](#concepts-queries-keys-values).
At the end are [four questions](#four-questions) that are not mistakes at all.
Each comes with a counterexample small enough to run, with what is true instead, and with the page \
that explains or proves it.
Each gets a short answer and a number.
Removing a part and seeing what changes tells you more: in [](#beyond-learning), a head listens to \
the same word in two sentences, and the answers are opposite.
The cells run in order, with NumPy and `selfattn_ref` alone.
These are not mistakes.
They are what people still ask after a good explanation.
Twenty sentences about attention that are heard often and are wrong.
Where the mistake can be made in code, a link leads to it in the [catalog of \
slips](#examples-slips), with the worked examples that catch it.
Whether the weights of a trained model explain its answers is disputed: \
{cite:t}`jain2019attention` say no, {cite:t}`wiegreffe2019attention` say that it \
depends on what counts as an explanation.
[](#beyond-many-heads) has sentences where this makes the difference.
{prf:ref}`thm-context-hides-shares` says what an output hides.
""".splitlines()


def claims(text):
    """Return the sentences of a page that do not only lead to other pages."""
    text = CELL.sub("", re.sub(r"\A---\n.*?^---\n", "", text, flags=re.M | re.S))
    lines = re.findall(r"^(?!#|\(.+\)=$).+", text, re.M)
    found = [one for line in lines for one in sentences(line)]
    return [one for one in found if not ELSEWHERE.match(one)]


def test_of_each_sentence_an_assertion_quotes_words():
    assert sorted(not_held(claims(TEXT), quotes_of(TEXT))) == NO_CLAIM


def test_there_are_as_many_as_it_says():
    assert (SECTIONS.count("misconception"), SECTIONS.count("question")) == (20, 4)
    assert "\nTwenty sentences about attention" in TEXT
    assert "\n## Four questions\n" in TEXT
    lessons = (BOOK / "reference" / "for-teachers.md").read_text("utf-8")
    assert "[twenty misconceptions](#" in lessons
    changes = " ".join((ROOT / "CHANGELOG.md").read_text("utf-8").split())
    for told in ("twenty sentences that are often heard", "four questions with a number each"):
        assert f'"Misconceptions" answers {told}' in changes


def test_an_example_that_is_named_is_one_of_its_page():
    found = re.findall(
        r"\[\]\(#([\w-]+)\)[^\n]*?(?:; |The numbers are in )((?:SA\d{3}(?:, )?)+)\.", TEXT
    )
    assert len(found) == 6
    for page, names in found:
        for name in names.split(", "):
            assert load(name).page.replace("/", "-") == page


def test_the_visible_cells_import_numpy_and_the_library_alone():
    code = "\n".join(cell.code for cell in cells(TEXT) if cell.visible)
    imported = {
        name
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None) or node.names[0].name]
    }
    assert imported == {"numpy", "selfattn_ref"}
