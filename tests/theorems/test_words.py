"""A statement has a proof and a test, and what its test calls its parts are words of it."""

import re

import pytest

from tests.pages.sources import pages
from tests.theorems.__main__ import by_label

# A statement, and what follows up to the next one.
STATED = re.compile(
    r"^:::+ ?\{prf:\w+\}[^\n]*\n:label: (thm-\S+)\n(?::[^\n]*\n)*(.*?)^:::+\n"
    r"(.*?)(?=^:::+ ?\{prf:\w+\}[^\n]*\n:label: thm-|\Z)",
    re.M | re.S,
)
EQUATION = re.compile(r"^\$\$\n([^$]*)^\$\$ \((eq-[^)]+)\)$", re.M)
TEXT = "\n".join(page.read_text("utf-8") for page in pages())
STATED_ON_PAGES = STATED.findall(TEXT)
TESTED, AFTER = by_label(), {label: after for label, _, after in STATED_ON_PAGES}


def statements():
    """Return the text of each statement, with the equations that it names."""
    text = re.sub(r"(?<!\^)\*", "", TEXT)
    equations = {label: formula for formula, label in EQUATION.findall(text)}
    return {
        label: " ".join(
            [*said.split(), *(equations[name] for name in re.findall(r"\{eq\}`(.*?)`", said))]
        )
        for label, said, _ in STATED.findall(text)
    }


STATEMENTS = statements()


def test_each_statement_has_a_test_of_the_form_of_statement():
    assert TESTED.keys() == STATEMENTS.keys()
    assert len(STATED_ON_PAGES) == len(STATEMENTS)


@pytest.mark.parametrize("label", STATEMENTS)
def test_a_statement_has_a_proof_and_names_its_test(label):
    test = TESTED[label]
    assert "{prf:proof}" in AFTER[label]
    file = test.__module__.replace(".", "/")
    assert f"Checked by `{file}.py::{test.__name__}`" in AFTER[label]


@pytest.mark.parametrize("label", STATEMENTS)
def test_hypotheses_and_conclusion_are_words_of_the_statement(label):
    test = TESTED[label]
    assert test.concludes
    words = (*test.hypotheses, *test.concludes)
    assert not [one for one in words if one not in STATEMENTS[label]]
