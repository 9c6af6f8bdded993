"""What a test of a statement calls its hypotheses and its conclusion are words of the statement."""

import importlib
import re
from pathlib import Path

import pytest

from tests.pages.sources import pages
from tests.theorems.statement import Statement

STATED = re.compile(
    r"^:::+ ?\{prf:\w+\}[^\n]*\n:label: (thm-\S+)\n(?::[^\n]*\n)*(.*?)^:::+\n", re.M | re.S
)
EQUATION = re.compile(r"^\$\$\n([^$]*)^\$\$ \((eq-[^)]+)\)$", re.M)


def by_label():
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        importlib.import_module(f"tests.theorems.{path.stem}")
    own = (
        one for one in Statement.__subclasses__() if one.__module__.startswith("tests.theorems.")
    )
    return {str(one.__doc__).partition(":")[0]: one for one in own}


def statements():
    """Return the text of each statement, with the equations that it names."""
    text = "\n".join(page.read_text("utf-8") for page in pages())
    text = re.sub(r"(?<!\^)\*", "", text)
    equations = {label: formula for formula, label in EQUATION.findall(text)}
    return {
        label: " ".join(
            [*said.split(), *(equations[name] for name in re.findall(r"\{eq\}`(.*?)`", said))]
        )
        for label, said in STATED.findall(text)
    }


TESTED, STATEMENTS = by_label(), statements()


def not_said(test, text):
    return [words for words in (*test.hypotheses, *test.concludes) if words not in text]


def test_each_statement_has_a_test_of_the_form_of_statement():
    assert TESTED.keys() == STATEMENTS.keys()


@pytest.mark.parametrize("label", STATEMENTS)
def test_hypotheses_and_conclusion_are_words_of_the_statement(label):
    assert TESTED[label].concludes
    assert not not_said(TESTED[label], STATEMENTS[label])


def test_another_constant_in_a_statement_is_found():
    label = "thm-softmax-jacobian-norm"
    changed = STATEMENTS[label].replace(r"\tfrac12", r"\tfrac14")
    assert not_said(TESTED[label], changed) == [r"m \le \lVert J \rVert_2 \le 2m \le \tfrac12"]
