"""The checks themselves: what they let through, what they refuse, and in which words."""

import ast
import inspect
import math
from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from selfattn_ref import _checks


def refusal(check, *arguments, **named):
    """Return the type and the text of what a check raises."""
    with pytest.raises((TypeError, ValueError)) as caught:
        check(*arguments, **named)
    return caught.type, str(caught.value)


class TestPlainArray:
    def test_returns_the_very_array(self):
        array = np.ones((3, 5))
        assert _checks.plain_array("x", array) is array

    def test_refuses_masked_arrays(self):
        assert refusal(_checks.plain_array, "key", np.ma.ones(3)) == (
            TypeError,
            "key is a masked array, whose mask would be lost: pass key.filled()",
        )

    @pytest.mark.parametrize("ragged", [[[1], [1, 2]], [[1, 2], 3], [np.ones(2), np.ones(3)]])
    def test_refuses_ragged_lists(self, ragged):
        assert refusal(_checks.plain_array, "key", ragged) == (
            ValueError,
            "key is ragged: its rows must all have the same length",
        )

    def test_hides_the_message_of_numpy(self):
        with pytest.raises(ValueError, match="ragged") as caught:
            _checks.plain_array("key", [[1], [1, 2]])
        assert caught.value.__suppress_context__


class TestRealArray:
    @pytest.mark.parametrize(
        "dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.longdouble]
    )
    def test_leaves_floating_types_alone(self, dtype):
        array = np.ones((3, 5), dtype)
        assert _checks.real_array("x", array) is array

    @pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.uint64])
    def test_turns_integers_and_booleans_into_float64(self, dtype):
        array = _checks.real_array("x", np.ones((3, 5), dtype))
        assert array.dtype == np.float64
        np.testing.assert_array_equal(array, np.ones((3, 5)))

    @pytest.mark.parametrize(
        "dtype, shown",
        [
            (np.complex64, "complex64"),
            (object, "object"),
            ("U3", "<U3"),
            ("S3", "|S3"),
            ("M8[D]", "datetime64[D]"),
            ("m8[D]", "timedelta64[D]"),
            ([("a", "f8")], "[('a', '<f8')]"),
            (ml_dtypes.float8_e5m2, "float8_e5m2"),
            (ml_dtypes.float8_e4m3fn, "float8_e4m3fn"),
            (ml_dtypes.int4, "int4"),
        ],
    )
    def test_refuses_all_other_kinds(self, dtype, shown):
        assert refusal(_checks.real_array, "query", np.zeros(3, dtype)) == (
            TypeError,
            f"query must hold real numbers, got dtype {shown}",
        )

    def test_refuses_nothing_at_all(self):
        assert refusal(_checks.real_array, "query", None) == (
            TypeError,
            "query must hold real numbers, got dtype object",
        )

    @pytest.mark.parametrize("axes, least", [("(...)", 0), ("(d_model, d)", 1), ("(..., n, d)", 2)])
    def test_wants_as_many_axes_as_are_named(self, axes, least):
        for ndim in range(4):
            array = np.ones((2,) * ndim)
            if ndim >= least:
                assert _checks.real_array("x", array, axes) is array
            else:
                assert refusal(_checks.real_array, "x", array, axes) == (
                    ValueError,
                    f"x {array.shape}: it must have the axes {axes}",
                )

    def test_keeps_the_byte_order_from_the_results(self):
        # A file in the other byte order is as good as any; its results are in native order.
        swapped = np.arange(3.0).astype(np.dtype(np.float64).newbyteorder())
        compute, result = _checks.working_dtype(_checks.real_array("x", swapped))
        assert compute.isnative
        assert result.isnative


class TestWorkingDtype:
    @pytest.mark.parametrize(
        "dtypes, compute, result",
        [
            ([np.float16], np.float32, np.float16),
            ([ml_dtypes.bfloat16], np.float32, ml_dtypes.bfloat16),
            ([np.float32], np.float32, np.float32),
            ([np.float64], np.float64, np.float64),
            ([np.longdouble], np.longdouble, np.longdouble),
            ([np.float16, np.float32], np.float32, np.float32),
            ([np.float32, np.float64, np.float16], np.float64, np.float64),
        ],
    )
    def test_only_16_bits_compute_wider_than_they_return(self, dtypes, compute, result):
        arrays = [np.ones(1, dtype) for dtype in dtypes]
        assert _checks.working_dtype(*arrays) == (np.dtype(compute), np.dtype(result))

    def test_refuses_types_without_a_common_one(self):
        arrays = np.ones(1, np.float16), np.ones(1, ml_dtypes.bfloat16)
        assert refusal(_checks.working_dtype, *arrays) == (
            TypeError,
            "the dtypes float16, bfloat16 have no common one: cast the inputs to one",
        )


class TestCast:
    def test_copies_only_what_changes(self):
        array = np.ones(3)
        assert _checks.cast(array, np.dtype(np.float64)) is array
        assert _checks.cast(array, np.dtype(np.float32)).dtype == np.float32


class TestSameSize:
    def test_lets_equal_sizes_pass(self):
        _checks.same_size("length", key=(np.ones((7, 11)), -2), value=(np.ones((7, 13)), -2))

    def test_names_both_shapes_the_rule_and_both_sizes(self):
        key, value = np.ones((2, 3, 6, 8)), np.ones((2, 3, 5, 8))
        assert refusal(_checks.same_size, "length", key=(key, -2), value=(value, -2)) == (
            ValueError,
            "key (2, 3, 6, 8) and value (2, 3, 5, 8): they must have the same length, got 6 and 5",
        )


class TestLeadingAxes:
    @pytest.mark.parametrize(
        "shapes, expected",
        [
            ([(3, 5), (7, 5)], ()),
            ([(2, 3, 5), (2, 7, 5)], (2,)),
            ([(2, 3, 5), (7, 5)], (2,)),
            ([(11, 1, 3, 5), (2, 7, 5)], (11, 2)),
            ([(0, 3, 5), (1, 7, 5)], (0,)),
        ],
    )
    def test_broadcast(self, shapes, expected):
        x, y = (np.ones(shape) for shape in shapes)
        assert _checks.leading_axes(x=x, y=y) == expected

    def test_that_do_not_broadcast_are_refused(self):
        arrays = {"query": np.ones((2, 3, 5)), "key": np.ones((11, 7, 5)), "value": np.ones((7, 5))}
        assert refusal(_checks.leading_axes, **arrays) == (
            ValueError,
            "query (2, 3, 5) and key (11, 7, 5) and value (7, 5): the axes before the last two "
            "must be equal, or 1, or absent",
        )


class TestFits:
    @pytest.mark.parametrize(
        "shape", [(), (1,), (7,), (5, 1), (3, 1, 7), (1, 1, 1, 1), (2, 3, 5, 7)]
    )
    def test_accepts_equal_one_or_absent(self, shape):
        _checks.fits("mask", np.ones(shape), "scores", (2, 3, 5, 7))

    @pytest.mark.parametrize(
        "shape, scores",
        [
            ((5,), (5, 7)),
            ((7, 5), (5, 7)),
            ((0,), (5, 7)),
            ((5, 7), (1, 7)),
            ((1, 5, 7), (5, 7)),
            ((2, 1, 1), (3, 5, 7)),
        ],
    )
    def test_refuses_anything_else(self, shape, scores):
        assert refusal(_checks.fits, "bias", np.ones(shape), "scores", scores) == (
            ValueError,
            f"bias {shape} and scores {scores}: each axis of bias, counted from the last, must be "
            f"equal to that of the scores, or 1",
        )


class TestMaskArray:
    def test_returns_the_very_mask(self):
        mask = np.ones((5, 7), bool)
        assert _checks.mask_array(mask, (5, 7)) is mask

    @pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "complex128", "object"])
    def test_refuses_numbers_and_points_to_the_bias(self, dtype):
        assert refusal(_checks.mask_array, np.ones((5, 7), dtype), (5, 7)) == (
            TypeError,
            f"mask must be boolean (True = this query may attend to this key), got dtype {dtype}; "
            f"numbers to add to the scores are a bias",
        )


class TestBiasArray:
    @pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.longdouble])
    def test_returns_the_very_bias(self, dtype):
        bias = np.ones((5, 7), dtype)
        assert _checks.bias_array(bias, (5, 7)) is bias

    @pytest.mark.parametrize("dtype", ["bool", "int64", "uint8"])
    def test_refuses_masks_and_points_to_the_mask(self, dtype):
        assert refusal(_checks.bias_array, np.ones((5, 7), dtype), (5, 7)) == (
            TypeError,
            f"bias must be floating, got dtype {dtype}; to say which key a query may attend to, "
            f"pass a boolean mask",
        )


class TestFiniteNumber:
    @pytest.mark.parametrize(
        "value", [2, -2.5, 0, np.float32(0.5), np.float16(3), np.int8(7), Fraction(1, 4)]
    )
    def test_returns_a_python_float(self, value):
        number = _checks.finite_number("scale", value)
        assert type(number) is float
        assert number == value

    @pytest.mark.parametrize(
        "value, kind",
        [
            (True, "bool"),
            (np.False_, "bool"),
            ("1", "str"),
            (1j, "complex"),
            (None, "NoneType"),
            ([1.0], "list"),
            (np.ones(()), "ndarray"),
            (Decimal(1), "Decimal"),
        ],
    )
    def test_refuses_what_is_no_real_number(self, value, kind):
        assert refusal(_checks.finite_number, "scale", value) == (
            TypeError,
            f"scale must be a real number, got {kind}",
        )

    @pytest.mark.parametrize(
        "value, shown",
        [
            (math.nan, "nan"),
            (math.inf, "inf"),
            (-math.inf, "-inf"),
            (np.float32("inf"), "inf"),
            (10**400, "inf"),
            (-(10**400), "-inf"),
            (Fraction(-(10**400), 3), "-inf"),
        ],
    )
    def test_refuses_what_is_not_finite_as_a_float(self, value, shown):
        assert refusal(_checks.finite_number, "cap", value) == (
            ValueError,
            f"cap must be finite, got {shown}",
        )


class TestScaleOrDefault:
    def test_takes_the_given_scale(self):
        assert _checks.scale_or_default(0, 64) == 0.0
        assert _checks.scale_or_default(-3, 0) == -3.0

    def test_divides_by_the_root_of_the_width(self):
        assert _checks.scale_or_default(None, 64) == 0.125

    def test_has_no_default_for_width_zero(self):
        assert refusal(_checks.scale_or_default, None, 0) == (
            ValueError,
            "scale: 1/√d_k is undefined for d_k = 0; pass a scale",
        )


class TestWholeNumber:
    @pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3), np.array(3)])
    def test_returns_a_python_int(self, value):
        number = _checks.whole_number("Tk", value)
        assert type(number) is int
        assert number == 3

    @pytest.mark.parametrize(
        "value, kind",
        [
            (3.0, "float"),
            (True, "bool"),
            ("3", "str"),
            (None, "NoneType"),
            (Fraction(3), "Fraction"),
            (np.True_, "bool"),
            (np.float64(3), "float64"),
            (np.array([3, 4]), "ndarray"),
        ],
    )
    def test_refuses_what_is_no_integer(self, value, kind):
        assert refusal(_checks.whole_number, "Tk", value) == (
            TypeError,
            f"Tk must be an integer, got {kind}",
        )

    def test_refuses_less_than_the_least(self):
        assert _checks.whole_number("n", 2, least=2) == 2
        assert refusal(_checks.whole_number, "n", 1, least=2) == (
            ValueError,
            "n must be at least 2, got 1",
        )
        assert refusal(_checks.whole_number, "n", -1) == (
            ValueError,
            "n must be at least 0, got -1",
        )

    def test_none_as_the_least_allows_every_integer(self):
        assert _checks.whole_number("offset", -(10**30), least=None) == -(10**30)


class TestAxisOf:
    def test_accepts_the_axes_from_either_end(self):
        array = np.ones((3, 5))
        assert [_checks.axis_of("x", array, axis) for axis in (-2, -1, 0, 1)] == [-2, -1, 0, 1]

    @pytest.mark.parametrize("axis", [-3, 2])
    def test_refuses_the_next_ones(self, axis):
        assert refusal(_checks.axis_of, "x", np.ones((3, 5)), axis) == (
            ValueError,
            f"axis {axis}: x (3, 5) has no such axis",
        )

    def test_a_single_number_has_no_axis(self):
        assert refusal(_checks.axis_of, "x", np.ones(()), -1) == (
            ValueError,
            "axis -1: x () has no such axis",
        )


class TestLengthsArray:
    def test_accepts_both_ends(self):
        array = _checks.lengths_array("lengths", [0, 3], 3, "Tk")
        assert array.dtype == np.intp
        np.testing.assert_array_equal(array, [0, 3])

    @pytest.mark.parametrize("lengths, got, place", [([1, 4], 4, "(1,)"), (-1, -1, "()")])
    def test_says_which_length_is_wrong(self, lengths, got, place):
        shape = np.shape(lengths)
        assert refusal(_checks.lengths_array, "lengths", lengths, 3, "Tk") == (
            ValueError,
            f"lengths {shape}: each must lie between 0 and Tk = 3, got {got} at {place}",
        )


class TestFromZeroTo:
    def test_accepts_both_ends_and_no_integers_if_there_are_no_numbers(self):
        _checks.from_zero_to("lengths", np.array([0, 3]), 3, "Tk")
        _checks.from_zero_to("lengths", np.array([]), 3, "Tk")

    @pytest.mark.parametrize("number", [-1, 4])
    def test_asks_only_where_it_counts(self, number):
        array = np.array([[0, number], [number, 3]])
        _checks.from_zero_to("targets", array, 3, "V − 1", array == array[0, 0])
        counts = np.array([[True, False], [True, True]])
        assert refusal(_checks.from_zero_to, "targets", array, 3, "V − 1", counts) == (
            ValueError,
            f"targets (2, 2): each must lie between 0 and V − 1 = 3, got {number} at (1, 0)",
        )

    @pytest.mark.parametrize("dtype", ["float64", "bool", "<U1", "object"])
    def test_refuses_what_is_no_integer(self, dtype):
        assert refusal(_checks.from_zero_to, "targets", np.zeros(2, dtype), 3, "V − 1") == (
            TypeError,
            f"targets must hold integers, got dtype {dtype}",
        )


class TestTargetsArray:
    def test_returns_the_targets_and_what_is_kept(self):
        mask = [[True, True], [True, False]]
        targets, kept = _checks.targets_array([[0, 4], [2, -9]], np.ones((2, 2, 5)), mask)
        assert targets.dtype == np.intp
        np.testing.assert_array_equal(targets, [[0, 4], [2, 0]])
        np.testing.assert_array_equal(kept, mask)

    def test_keeps_all_without_a_mask(self):
        _, kept = _checks.targets_array([0, 4], np.ones((2, 5)), None)
        np.testing.assert_array_equal(kept, [True, True])

    @pytest.mark.parametrize(
        "targets, mask, kind, message",
        [
            (
                [0, 1, 2],
                None,
                ValueError,
                "logits (2, 5) and targets (3,): targets must have the axes of logits without "
                "the last",
            ),
            (
                [0, 5],
                None,
                ValueError,
                "targets (2,): each must lie between 0 and V − 1 = 4, got 5 at (1,)",
            ),
            (
                [-1, 0],
                None,
                ValueError,
                "targets (2,): each must lie between 0 and V − 1 = 4, got -1 at (0,)",
            ),
            (
                [0, 0],
                [1, 0],
                TypeError,
                "mask must be boolean (True = this position counts), got dtype int64",
            ),
            (
                [0, 0],
                [False, False],
                ValueError,
                "targets (2,): no position is kept, and the mean of nothing is undefined",
            ),
            (
                np.ma.zeros(2, int),
                None,
                TypeError,
                "targets is a masked array, whose mask would be lost: pass targets.filled()",
            ),
            (
                [0, 0],
                np.ma.ones(2, bool),
                TypeError,
                "mask is a masked array, whose mask would be lost: pass mask.filled()",
            ),
        ],
    )
    def test_says_what_is_wrong(self, targets, mask, kind, message):
        found = refusal(_checks.targets_array, targets, np.ones((2, 5)), mask)
        assert found == (kind, message)

    def test_a_single_target_that_is_out_of_range_is_refused(self):
        assert refusal(_checks.targets_array, 7, np.ones(5), None) == (
            ValueError,
            "targets (): each must lie between 0 and V − 1 = 4, got 7 at ()",
        )


class TestAttentionInputs:
    def test_returns_what_it_is_given(self):
        query, key, value = np.ones((5, 3)), np.ones((7, 3)), np.ones((7, 2))
        mask, bias = np.ones((5, 7), bool), np.ones((1, 7))
        found = _checks.attention_inputs(query, key, value, mask, bias)
        assert all(a is b for a, b in zip(found, (query, key, value, mask, bias), strict=True))
        assert _checks.attention_inputs(query, key, value, None, None)[3:] == (None, None)

    @pytest.mark.parametrize(
        "shapes, message",
        [
            (
                [(5, 3), (7, 2), (7, 2)],
                "query (5, 3) and key (7, 2): they must have the same width d_k, got 3 and 2",
            ),
            (
                [(5, 3), (7, 3), (6, 2)],
                "key (7, 3) and value (6, 2): they must have the same length, got 7 and 6",
            ),
            (
                [(2, 5, 3), (3, 7, 3), (7, 2)],
                "query (2, 5, 3) and key (3, 7, 3): the axes before the last two must be equal, "
                "or 1, or absent",
            ),
            (
                [(2, 5, 3), (1, 7, 3), (3, 7, 2)],
                "query (2, 5, 3) and key (1, 7, 3) and value (3, 7, 2): the axes before the last "
                "two must be equal, or 1, or absent",
            ),
        ],
    )
    def test_refuses_what_does_not_fit(self, shapes, message):
        arrays = (np.ones(shape) for shape in shapes)
        assert refusal(_checks.attention_inputs, *arrays, None, None) == (ValueError, message)

    def test_the_values_do_not_widen_the_scores(self):
        query, key, value = np.ones((5, 3)), np.ones((7, 3)), np.ones((2, 7, 2))
        mask = np.ones((2, 5, 7), bool)
        kind, message = refusal(_checks.attention_inputs, query, key, value, mask, None)
        assert (kind, message[:36]) == (ValueError, "mask (2, 5, 7) and scores (5, 7): ea")


class TestMatrix:
    def test_returns_the_very_matrix(self):
        w = np.ones((3, 5))
        assert _checks.matrix("w", w, "(a, b)") is w

    @pytest.mark.parametrize("shape", [(5,), (2, 3, 5)])
    def test_refuses_any_other_number_of_axes(self, shape):
        assert refusal(_checks.matrix, "w", np.ones(shape), "(a, b)") == (
            ValueError,
            f"w {shape}: it must be a matrix, (a, b)",
        )


class TestProjection:
    def test_returns_the_very_matrix(self):
        w = np.ones((3, 5))
        assert _checks.projection("w_key", w, x=np.ones((2, 7, 3))) is w

    def test_says_which_rows_it_does_not_fit(self):
        assert refusal(_checks.projection, "w_key", np.ones((3, 5)), source=np.ones((7, 5))) == (
            ValueError,
            "source (7, 5) and w_key (3, 5): they must have the same width d_model, got 5 and 3",
        )


class TestMultiple:
    @pytest.mark.parametrize("size, number, times", [(6, 2, 3), (6, 6, 1), (0, 3, 0), (5, 1, 5)])
    def test_returns_how_many_times(self, size, number, times):
        assert _checks.multiple("x", size, "h", number) == times

    @pytest.mark.parametrize("size, number", [(7, 2), (2, 4), (5, 0), (0, 0)])
    def test_refuses_what_is_not_whole(self, size, number):
        assert refusal(_checks.multiple, "x: its width", size, "num_heads", number) == (
            ValueError,
            f"x: its width must be a multiple of num_heads, got {size} and {number}",
        )


class TestHeadCounts:
    def test_key_heads_are_as_many_by_default(self):
        assert _checks.head_counts(4, None) == (4, 4)
        assert _checks.head_counts(np.int8(4), 2) == (4, 2)

    @pytest.mark.parametrize(
        "heads, shared, message",
        [
            (0, None, "num_heads must be at least 1, got 0"),
            (4, 0, "num_key_value_heads must be at least 1, got 0"),
            (4, 3, "num_heads must be a multiple of num_key_value_heads, got 4 and 3"),
        ],
    )
    def test_refuses_counts_that_do_not_divide(self, heads, shared, message):
        assert refusal(_checks.head_counts, heads, shared) == (ValueError, message)


class TestHeadWidths:
    @staticmethod
    def widths(query=12, key=6, value=4, rows=8):
        return [np.ones(shape) for shape in ((11, query), (13, key), (13, value), (rows, 17))]

    def test_accepts_whole_heads(self):
        _checks.head_widths(*self.widths(), 4, 2)

    @pytest.mark.parametrize(
        "change, message",
        [
            (
                {"query": 13},
                "w_query (11, 13): its width must be a multiple of num_heads, got 13 and 4",
            ),
            (
                {"key": 7},
                "w_key (13, 7): its width must be a multiple of num_key_value_heads, got 7 and 2",
            ),
            (
                {"value": 5},
                "w_value (13, 5): its width must be a multiple of num_key_value_heads, got 5 and 2",
            ),
            (
                {"key": 4},
                "w_query (11, 12) and w_key (13, 4): they must have the same width d_k of a head, "
                "got 3 and 2",
            ),
            (
                {"key": 8},
                "w_query (11, 12) and w_key (13, 8): they must have the same width d_k of a head, "
                "got 3 and 4",
            ),
            (
                {"rows": 4},
                "w_value (13, 4) and w_output (4, 17): w_output must have num_heads · d_v = "
                "4 · 2 = 8 rows, got 4",
            ),
        ],
    )
    def test_refuses_heads_that_do_not_fit(self, change, message):
        found = refusal(_checks.head_widths, *self.widths(**change), 4, 2)
        assert found == (ValueError, message)


class TestPositiveNumber:
    def test_returns_a_float(self):
        assert _checks.positive_number("base", 5e-324) == 5e-324
        assert type(_checks.positive_number("base", 2)) is float

    @pytest.mark.parametrize("number", [0, -0.0, -2])
    def test_refuses_zero_and_below(self, number):
        assert refusal(_checks.positive_number, "base", number) == (
            ValueError,
            f"base must be positive, got {float(number)}",
        )


class TestFlag:
    @pytest.mark.parametrize("value", [True, False, np.True_, np.False_])
    def test_returns_a_boolean(self, value):
        assert _checks.flag("interleaved", value) is bool(value)

    @pytest.mark.parametrize("value", [0, 1, "no", None, np.array([True])])
    def test_refuses_what_only_counts_as_one(self, value):
        assert refusal(_checks.flag, "interleaved", value) == (
            TypeError,
            f"interleaved must be True or False, got {type(value).__name__}",
        )


class TestCausalOffset:
    @pytest.mark.parametrize("offset", [-3, 0, 2**70, np.int8(4)])
    def test_returns_the_position_of_the_first_query(self, offset):
        assert _checks.causal_offset(True, offset) == offset

    def test_returns_none_without_causal(self):
        assert _checks.causal_offset(False, 0) is None

    @pytest.mark.parametrize("offset", [1, -1])
    def test_refuses_an_offset_that_would_be_ignored(self, offset):
        assert refusal(_checks.causal_offset, False, offset) == (
            ValueError,
            f"offset {offset}: it has no meaning without causal=True",
        )


class TestBlockPair:
    @pytest.mark.parametrize(
        ("given", "pair"), [(None, None), (3, (3, 3)), ((1, 9), (1, 9)), (np.int8(2), (2, 2))]
    )
    def test_returns_the_numbers_of_queries_and_keys(self, given, pair):
        assert _checks.block_pair("block_size", given) == pair

    @pytest.mark.parametrize("given", [(), (1,), (1, 2, 3)])
    def test_refuses_what_is_no_pair(self, given):
        assert refusal(_checks.block_pair, "block_size", given) == (
            ValueError,
            f"block_size must be an integer or a pair (queries, keys), got {given}",
        )


class TestEvenNumber:
    @pytest.mark.parametrize("number", [0, 2, 64])
    def test_returns_an_even_number(self, number):
        assert _checks.even_number("d_model", number) == number

    @pytest.mark.parametrize("number", [1, 65])
    def test_refuses_an_odd_one(self, number):
        assert refusal(_checks.even_number, "d_model", number) == (
            ValueError,
            f"d_model must be even, got {number}",
        )


class TestLikeCached:
    @pytest.mark.parametrize("length", [0, 1, 9])
    def test_accepts_another_length(self, length):
        _checks.like_cached("key", np.ones((2, length, 3)), np.ones((2, 5, 3)))

    @pytest.mark.parametrize("shape", [(2, 5, 4), (3, 5, 3), (1, 5, 3), (5, 3), (1, 2, 5, 3)])
    def test_refuses_another_width_or_batch(self, shape):
        assert refusal(_checks.like_cached, "key", np.ones(shape), np.ones((2, 5, 3))) == (
            ValueError,
            f"key {shape} and cached key (2, 5, 3): only their lengths, the axis before the last, "
            f"may differ",
        )

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
    def test_refuses_another_dtype(self, dtype):
        array = np.ones((5, 3), dtype)
        assert refusal(_checks.like_cached, "value", array, np.ones((5, 3))) == (
            TypeError,
            f"value has dtype {array.dtype}, and the cached value float64: they must be the same",
        )


class TestSameShape:
    def test_accepts_equal_shapes(self):
        _checks.same_shape(a=(2, 3), b=(2, 3))

    @pytest.mark.parametrize("shape", [(3,), (1, 3), (3, 2), ()])
    def test_refuses_what_would_only_broadcast(self, shape):
        assert refusal(_checks.same_shape, d_output=shape, output=(2, 3)) == (
            ValueError,
            f"d_output {shape} and output (2, 3): they must have the same shape",
        )


def raises_in(module):
    """Return the functions of a module that contain a `raise`."""
    tree = ast.parse(inspect.getsource(module))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return {
        function.name
        for function in functions
        if any(isinstance(node, ast.Raise) for node in ast.walk(function))
    }


def test_every_check_that_can_refuse_has_a_class_here():
    classes = {name for name in globals() if name.startswith("Test")}
    for name in raises_in(_checks):
        assert "Test" + name.title().replace("_", "") in classes
