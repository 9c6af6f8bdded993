"""Numbers in the definitions of the glossary: each is tried here, in the words of its sentence."""

import numpy as np
import pytest

from tests.pages.sources import BOOK

TEXT = (BOOK / "reference" / "glossary.md").read_text("utf-8")
SURPRISE = [-np.log(p) for p in (1, 1 / np.e, 0.5, 0.01)]


def entropy(shares):
    return -sum(p * np.log(p) for p in shares if p)


@pytest.mark.parametrize(
    "words, holds",
    [
        (r"One nat is $1/\ln 2$ bits", np.isclose(-np.log2(1 / np.e), 1 / np.log(2))),
        ("a word of probability $1/e$ is a surprise of one nat", np.isclose(SURPRISE[1], 1)),
        (r"probability $\tfrac12$ is a surprise of one bit", np.log2(0.5) == -1),
        ("0 for a sure thing, and large for an unlikely one", SURPRISE[0] == 0 < 4 < SURPRISE[3]),
        (
            r"0 for one share of 1, $\ln n$ for $n$ equal ones",
            entropy([1, 0, 0]) == 0 and np.isclose(entropy([1 / 7] * 7), np.log(7)),
        ),
    ],
)
def test_a_number_of_a_definition_holds(words, holds):
    assert words in TEXT
    assert holds
