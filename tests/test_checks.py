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


class TestFitsScores:
    @pytest.mark.parametrize(
        "shape", [(), (1,), (7,), (5, 1), (3, 1, 7), (1, 1, 1, 1), (2, 3, 5, 7)]
    )
    def test_accepts_equal_one_or_absent(self, shape):
        _checks.fits_scores("mask", np.ones(shape), (2, 3, 5, 7))

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
        assert refusal(_checks.fits_scores, "bias", np.ones(shape), scores) == (
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
