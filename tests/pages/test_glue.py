"""Numbers for the prose."""

import numpy as np
import pytest
from myst_nb.core.variables import format_plain_text

from book.figures import glue


class TestNumber:
    @pytest.mark.parametrize(
        "value, digits, text",
        [
            (0.5727, 3, "0.573"),
            (-1.5, 1, "−1.5"),
            (-0.0001, 2, "0.00"),
            (12, 0, "12"),
            (2.5, 2, "2.50"),
        ],
    )
    def test_it_is_rounded_with_a_true_minus_sign(self, value, digits, text):
        assert glue.number(value, digits) == text


class TestSay:
    @pytest.mark.parametrize(
        "value, text",
        [(0.12345, "0.12"), (0.1, "0.10"), (7, "7"), (np.int64(3), "3"), (np.float32(0.5), "0.50"),
         ("word", "word"), (np.array([1, -2.0]), "(1.00, −2.00)")],
    )  # fmt: skip
    def test_a_value_becomes_the_text_of_the_sentence(self, value, text, monkeypatch):
        said = {}
        monkeypatch.setattr(glue, "glue", lambda name, shown, display: said.update({name: shown}))
        glue.say(2, it=value)
        assert said["it"] == text
        # The role reads the value back as a literal: a number would lose its last zeros.
        assert format_plain_text(repr(said["it"]), "") == text
