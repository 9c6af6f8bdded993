"""The prose quotes no number that code should supply, and speaks in the book's voice."""

import re

import pytest

from tests.pages.sources import cells, pages, prose, relative

EVERY_PAGE = pytest.mark.parametrize("page", pages(), ids=relative)

# Decimals that stand in the prose, by the reason.
QUOTED = {
    "an input": {
        "concepts/why-parameters": "0.01 0.3 0.99",
        "analogies/party": "0.15 0.2 0.3 0.4 0.45 0.6 1.3 1.9 1.95",
        "scaling/other-scalings": "0.99",
        "beyond/word-order": "0.1 0.5",
    },
    "e, its square, or a logarithm": {
        "concepts/why-parameters": "0.69",
        "concepts/mixing-words": "2.718 7.39",
        "concepts/all-at-once": "2.718",
        "beyond/many-heads": "4.113",
    },
    "a number that is wrong, or that a source prints": {
        "concepts/mixing-words": "0.71",
        "reference/sources-and-corrections": "0.1 0.2 0.3",
    },
    "a section, a definition or a bound of a paper, or a version": {
        "concepts/queries-keys-values": "3.2",
        "analogies/retrieval": "3.2",
        "analogies/party": "3.1 3.2 3.5",
        "scaling/other-scalings": "0.01 4.1",
        "causal/masking": "3.2",
        "causal/generating": "2.1",
        "reference/how-to-cite": "1.0",
        "beyond/many-heads": "3.2",
        "beyond/word-order": "3.5",
    },
}

AVOIDED = re.compile(
    r"\b(simply|obviously|clearly|trivial(?:ly)?|crucial(?:ly)?|powerful|beautiful(?:ly)?|magic\w*"
    r"|dive into|note that|it is important to|revolution\w*|delve|leverage\w*|seamless\w*"
    r"|normalis\w+|behaviour|colour\w*|centre|analyse\w*|neighbour\w*|labelled|modelling)\b",
    re.I,
)


def quoted(page):
    return {n for given in QUOTED.values() for n in given.get(relative(page), "").split()}


def typed_decimals(page):
    """Return the decimals of a page's sentences and captions that are typed."""
    source = page.read_text("utf-8")
    figures = [cell.options.get("mystnb", {}).get("figure", {}) for cell in cells(source)]
    text = "\n".join(map(prose, [source, *(figure.get("caption", "") for figure in figures)]))
    text = re.sub(r"selfattn_ref \d+\.\d+\.\d+", "", text)
    return set(re.findall(r"(?<![^\W_])(?<!\.)\d+\.\d+", text))


class TestProse:
    @EVERY_PAGE
    def test_every_decimal_is_quoted_with_a_reason(self, page):
        unexplained = typed_decimals(page) - quoted(page)
        typed = " ".join(sorted(unexplained))
        assert not unexplained, f"{relative(page)}: glue {typed}, or say why not in QUOTED"

    @EVERY_PAGE
    def test_no_reason_is_left_over(self, page):
        assert quoted(page) <= typed_decimals(page)

    @EVERY_PAGE
    def test_it_uses_no_word_that_says_nothing_and_one_spelling(self, page):
        found = AVOIDED.findall(prose(page.read_text("utf-8")))
        assert not found, f"{relative(page)}: {found}"
