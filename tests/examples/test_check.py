"""Worked examples as users meet them: loaded by id, compared with what they have computed."""

import copy
import json
import pickle
import re
from xml.etree import ElementTree

import ml_dtypes
import numpy as np
import pytest

from selfattn_ref.worked_examples import (
    Agreement,
    Tolerance,
    WorkedExampleMismatch,
    _files,
    ids,
    load,
)

EVERY_EXAMPLE = pytest.mark.parametrize("example", [load(i) for i in ids()], ids=ids())
NARROW = pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])


class TestLoading:
    def test_words_are_a_tuple_indices_are_integers_and_numbers_are_float64(self):
        inputs = load("SA002").inputs
        assert inputs["words"] == ("bat", "cave", "racket")
        assert inputs["sentence_racket"].dtype == np.intp
        assert inputs["embeddings"].dtype == np.float64  # the file writes 3, not 3.0
        assert load("SA016").expected["mask"].dtype == np.bool_

    @pytest.mark.parametrize(
        "example_id, name, expected",
        [
            ("SA020", "width", 64),
            ("SA026", "num_heads", 2),
            ("SA027", "num_key_value_heads", 2),
            ("SA029", "shift", 7),
            ("SA030", "block_size", 2),
        ],
    )
    def test_counts_and_widths_are_the_integers_that_functions_want(
        self, example_id, name, expected
    ):
        found = load(example_id).inputs[name]
        assert type(found) is int
        assert found == expected
        for several in (load("SA017").inputs["widths"], load("SA029").inputs["positions"]):
            assert several.dtype == np.intp

    @EVERY_EXAMPLE
    def test_a_copy_is_the_example_itself(self, example):
        again = pickle.loads(pickle.dumps(example))
        assert load(example.id) is again is copy.copy(example) is copy.deepcopy(example) is example

    @EVERY_EXAMPLE
    def test_nothing_can_be_changed(self, example):
        with pytest.raises(AttributeError):
            example.title = "another"
        for mapping in (example.inputs, example.expected):
            for name, array in mapping.items():
                with pytest.raises(TypeError, match="does not support item assignment"):
                    mapping[name] = 0
                if isinstance(array, np.ndarray):
                    with pytest.raises(ValueError, match="read-only"):
                        array[...] = 0
                    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
                        array.setflags(write=True)

    @pytest.mark.parametrize(
        "unknown, nearest",
        [
            ("SA000", "SA001, SA002, SA003"),
            ("SA999", ", ".join(ids()[-3:])),
            ("sa001", "SA001, SA002, SA003"),
            ("softmax", ""),
            ("../../pyproject", ""),
        ],
    )
    def test_an_unknown_id_names_the_nearest(self, unknown, nearest):
        message = rf"no worked example has the id {unknown!r}.*the nearest are .*{nearest}$"
        with pytest.raises(ValueError, match=message):
            load(unknown)

    def test_where_numbers_are_missing_the_nearest_come_from_both_sides(self, monkeypatch):
        monkeypatch.setattr(_files, "ids", lambda: ("SA001", "SA009", "SA015", "SA016", "SA030"))
        with pytest.raises(ValueError, match=r"the nearest are SA009, SA015, SA016$"):
            load("SA014")

    @pytest.mark.parametrize("wrong", [5, None, ["SA001"]])
    def test_an_id_that_is_not_a_string_is_a_type_error(self, wrong):
        message = f"an example id is a string such as 'SA001', got {wrong!r}"
        with pytest.raises(TypeError, match=re.escape(message)):
            load(wrong)


class TestAgreement:
    @EVERY_EXAMPLE
    def test_the_expected_values_agree_and_any_other_value_does_not(self, example):
        names = ", ".join(example.expected)
        assert re.fullmatch(
            rf"{example.id} checked: {names} agrees? \(\d+ (numbers|values), within 1e-12\)",
            repr(example.check(**example.expected)),
        )
        for name, expected in example.expected.items():
            for index in np.ndindex(expected.shape):
                changed = expected.copy()
                mask = changed.dtype == np.bool_
                step = 1e-9 * max(1, abs(expected[index]))
                other = expected[index] + step if np.isfinite(expected[index]) else 1e9
                changed[index] = not changed[index] if mask else other
                with pytest.raises(WorkedExampleMismatch):
                    example.check(**{name: changed})

    @pytest.mark.parametrize(
        "example_id, computed, line",
        [
            ("SA005", {"total": 6.534938556205488}, "total agrees (1 number, within 1e-12)"),
            ("SA016", {"mask": np.tri(4, dtype=bool)}, "mask agrees (16 booleans, exactly)"),
            ("SA016", load("SA016").expected, "agree (80 values, within 1e-12)"),
            ("SA001", {"dot": [[18, 12, 15], [12, 16, 0], [15, 0, 25]]}, "s, within 1e-12)"),
        ],
    )
    def test_the_line_counts_what_was_compared(self, example_id, computed, line):
        example = load(example_id)
        assert repr(example).startswith(f"{example_id}: ")
        assert repr(example.check(**computed)).startswith(f"{example_id} checked: ")
        assert repr(example.check(**computed)).endswith(line)

    @pytest.mark.parametrize(
        "difference, within",
        [(0.0, "1e-12"), (2**-52, "1e-12"), (2**-39, "1e-11"), (1e-5, "1e-5"), (3e-5, "1e-4")],
    )
    def test_the_line_rounds_the_difference_up_to_a_power_of_ten(self, difference, within):
        agreement = Agreement("SA005", ("total",), "1 number", difference)
        assert repr(agreement) == f"SA005 checked: total agrees (1 number, within {within})"

    def test_the_difference_is_known_to_the_last_digit(self):
        example = load("SA005")
        exponentials = example.expected["exponentials"] + np.array([0, 0, 2**-52, 0, 0])
        assert example.check(exponentials=exponentials).largest_difference == 2**-52

    @pytest.mark.parametrize("example_id", ["SA016", "SA022"])
    def test_a_notebook_gets_the_line_and_the_facts_of_which_it_is_made(self, example_id):
        call = load(example_id).calls[0]
        agreement = call.check(call.expected)
        shown = ElementTree.fromstring(agreement._repr_html_())
        facts = json.loads(shown.attrib["data-facts"])
        assert shown.text == repr(agreement)
        assert facts["id"] == example_id
        assert facts["names"] == [call.written]
        assert facts["convention"] == {"SA016": None, "SA022": "zeros"}[example_id]
        assert shown.text.endswith(f"({facts['found']})")


class TestTolerance:
    def test_the_tolerance_is_a_limit_that_still_agrees(self):
        dot = load("SA001").expected["dot"].copy()
        allowed = 1e-13 + 1e-13 * 18
        dot[0, 0] = 18 + 0.98 * allowed
        load("SA001").check(dot=dot)
        dot[0, 0] = 18 + 1.02 * allowed
        with pytest.raises(WorkedExampleMismatch):
            load("SA001").check(dot=dot)

    def test_a_tolerance_may_be_given(self):
        example = load("SA005")
        total = example.expected["total"] + 1e-4
        example.check(total=total, within=Tolerance(absolute=2e-4, relative=0))
        example.check(total=total, within=Tolerance(absolute=0, relative=1e-4))
        example.check(total=total, within=2e-4)
        with pytest.raises(WorkedExampleMismatch, match=r"allowed 5e-05$"):
            example.check(total=total.astype(np.float32), within=Tolerance(5e-5, relative=0))

    @NARROW
    @EVERY_EXAMPLE
    def test_what_a_narrow_type_rounds_agrees_and_a_slip_does_not(self, example, dtype):
        unit = float(ml_dtypes.finfo(dtype).eps)
        for name, expected in example.expected.items():
            if expected.dtype == np.bool_:
                continue
            finite = np.isfinite(expected)
            size = max(1.0, float(np.abs(expected[finite]).max()))
            with np.errstate(over="ignore"):
                rounded = expected.astype(dtype)
                off = (expected + 12 * unit * size).astype(dtype)
            if np.isfinite(rounded[finite]).all():
                example.check(**{name: rounded})
            with pytest.raises(WorkedExampleMismatch):
                example.check(**{name: off})


class TestDisagreement:
    @pytest.mark.parametrize(
        "computed, message",
        [
            ({}, "SA005.check needs at least one of: exponentials, total, weights"),
            (
                {"sum": 6.5, "total": 0},
                "SA005 has no expected value sum; it has: exponentials, total, weights",
            ),
        ],
    )
    def test_a_call_without_a_known_name_is_a_type_error(self, computed, message):
        with pytest.raises(TypeError) as caught:
            load("SA005").check(**computed)
        assert str(caught.value) == message

    def test_the_report_names_every_value_that_disagrees(self):
        example = load("SA005")
        with pytest.raises(AssertionError) as caught:
            example.check(
                exponentials=example.expected["exponentials"],
                total=6.5,
                weights=example.expected["weights"] + [0, 0, 0.5, 0, 0.25],
            )
        assert str(caught.value).splitlines() == [
            "SA005: Softmax by hand",
            "  total: 1 of 1 entry differs",
            "    total: got 6.5, expected 6.534938556205488, off by 0.0349, allowed 7.53e-13",
            "  weights: 2 of 5 entries differ",
            "    weights[2]: got 0.752293308731193, expected 0.25229330873119304, off by 0.5, "
            "allowed 1.25e-13",
            "    weights[4]: got 0.4313796474329229, expected 0.18137964743292287, off by 0.25, "
            "allowed 1.18e-13",
        ]

    def test_the_report_shows_the_first_few_entries_with_their_indices(self):
        with pytest.raises(WorkedExampleMismatch) as caught:
            load("SA016").check(mask=~np.tri(4, dtype=bool))
        _, first, *lines = str(caught.value).splitlines()
        assert first == "  mask: 16 of 16 entries differ"
        assert lines[0] == "    mask[0, 0]: got False, expected True"
        assert [line.split(":")[0] for line in lines[1:]] == [
            *("    mask[0, 1]", "    mask[0, 2]", "    mask[0, 3]", "    mask[1, 0]"),
            "    and 11 more",
        ]

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_nan_and_infinity_agree_with_nothing(self, value):
        weights = load("SA005").expected["weights"].copy()
        weights[3] = value
        message = rf"1 of 5 entries differ\n    weights\[3\]: got {value!r}, expected 0.17957"
        with pytest.raises(WorkedExampleMismatch, match=message):
            load("SA005").check(weights=weights)

    @pytest.mark.parametrize(
        "example_id, name, value, message",
        [
            ("SA005", "weights", np.zeros((5, 1)), "got shape (5, 1), expected shape (5,)"),
            ("SA005", "total", [6.5], "got shape (1,), expected shape ()"),
            ("SA005", "weights", np.zeros(5, bool), "must be real numbers, got dtype bool"),
            ("SA005", "weights", np.zeros(5, "c8"), "must be real numbers, got dtype complex64"),
            ("SA005", "weights", list("abcde"), "must be real numbers, got dtype <U1"),
            ("SA016", "mask", np.tri(4), "must be boolean, got dtype float64"),
            ("SA016", "mask", np.tri(4, dtype=int), "must be boolean, got dtype int64"),
            ("SA001", "dot", [[18, 12], [12]], "the values do not form an array"),
        ],
    )  # fmt: skip
    def test_another_shape_or_kind_disagrees(self, example_id, name, value, message):
        with pytest.raises(WorkedExampleMismatch, match=re.escape(f"  {name}: {message}")):
            load(example_id).check(**{name: value})
