"""The prose quotes no number that code should supply, and speaks in the book's voice."""

import re
from pathlib import Path

import pytest

from tests.pages.sources import pages, prose, relative

EVERY_PAGE = pytest.mark.parametrize("page", pages(), ids=relative)

# Decimals that stand in the prose: what a source prints, an input, or a constant of mathematics.
QUOTED = {
    "concepts/mixing-words": {
        "2.718": "e, a constant",
        "7.39": "e squared, a constant",
        "0.71": "the cosine, rounded too early",
    },
    "concepts/all-at-once": {
        "0.1": "an input",
        "0.2": "an input",
        "0.4": "an input",
        "0.5": "an input",
        "0.6": "an input",
    },
    "concepts/why-parameters": {"0.01": "a nudge, an input", "0.3": "a step size, an input"},
    "concepts/attention-equation": {
        "709.7": "the largest exponent of float64",
        "88.7": "the largest exponent of float32",
    },
    "concepts/queries-keys-values": {
        "0.1": "an input",
        "0.2": "an input",
        "0.3": "an input",
        "0.4": "an input",
        "0.5": "an input",
        "0.7": "an input",
        "3.2": "a section of a paper",
    },
    "reference/sources-and-corrections": {
        "0.1": "a source prints it",
        "0.2": "a source prints it",
        "0.3": "a source prints it",
    },
    "analogies/retrieval": {"3.2": "a section of a paper"},
    "analogies/party": {
        "0.15": "an input",
        "0.3": "an input",
        "0.4": "an input",
        "1.9": "an input",
        "3.1": "a section of a paper",
        "3.5": "a section of a paper",
    },
    "analogies/cat-walks-by-the-bank": {
        "0.2": "an input",
        "0.3": "an input",
        "0.45": "an input",
        "1.3": "an input",
        "1.95": "an input",
        "3.2": "a section of a paper",
    },
    "scaling/other-scalings": {
        "0.01": "the bound of a paper",
        "0.99": "an input",
        "4.1": "a definition in a paper",
    },
    "causal/masking": {
        "3.2": "a section of a paper",
    },
    "causal/generating": {"2.1": "a version"},
}

AVOIDED = re.compile(
    r"\b(simply|obviously|clearly|trivial(?:ly)?|crucial(?:ly)?|powerful|beautiful(?:ly)?|magic\w*"
    r"|dive into|note that|it is important to|revolution\w*|delve|leverage\w*|seamless\w*"
    r"|normalis\w+|behaviour|colour\w*|centre|analyse\w*|neighbour\w*|labelled|modelling)\b",
    re.I,
)


def typed_decimals(page: Path) -> set[str]:
    text = re.sub(r"selfattn_ref \d+\.\d+\.\d+", "", prose(page.read_text(encoding="utf-8")))
    return set(re.findall(r"(?<![\w.])\d+\.\d+", text))


class TestProse:
    @EVERY_PAGE
    def test_every_decimal_is_quoted_with_a_reason(self, page: Path) -> None:
        unexplained = typed_decimals(page) - set(QUOTED.get(relative(page), {}))
        assert not unexplained, f"{relative(page)}: glue these, or say why not in QUOTED"

    @EVERY_PAGE
    def test_no_reason_is_left_over(self, page: Path) -> None:
        assert set(QUOTED.get(relative(page), {})) <= typed_decimals(page)

    def test_a_typed_number_is_noticed(self, tmp_path: Path) -> None:
        page = tmp_path / "page.md"
        page.write_text("The share is 0.573, or $0.427$, not {glue:text}`x` and not `1.5`.\n")
        assert typed_decimals(page) == {"0.573", "0.427"}

    @EVERY_PAGE
    def test_it_uses_no_word_that_says_nothing_and_one_spelling(self, page: Path) -> None:
        found = AVOIDED.findall(prose(page.read_text(encoding="utf-8")))
        assert not found, f"{relative(page)}: {found}"
