"""What every function does with arrays and numbers before it computes: asked through a few of them.

What a single function refuses stands with its tests; `tests/contracts` asks all of them.
"""

import math
from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import mpmath
import numpy as np
import pytest

from selfattn_ref import (
    KeyValueCache,
    attention_state,
    causal_mask,
    cosine_similarity,
    cross_entropy,
    dot_similarity,
    euclidean_distance,
    log_softmax,
    log_sum_exp,
    merge_heads,
    multi_head_attention,
    padding_mask,
    perplexity,
    rotate_pairs,
    scaled_dot_product_attention,
    scaled_dot_product_attention_vjp,
    scaled_scores,
    self_attention,
    self_attention_vjp,
    sinusoidal_encoding,
    soft_cap,
    softmax,
    softmax_vjp,
    split_heads,
    streaming_attention,
    streaming_attention_vjp,
    window_mask,
)

ONE = np.ones((1, 1))


def refusal(function, *arguments, **named):
    """Return the type and the text of what a function raises."""
    with pytest.raises((TypeError, ValueError)) as caught:
        function(*arguments, **named)
    return caught.type, str(caught.value)


class Awkward:
    """An object that refuses to become an array."""

    def __array__(self, dtype=None, copy=None):
        raise ValueError("on strike")


class TestArrays:
    @pytest.mark.parametrize("ragged", [[[1], [1, 2]], [[1, 2], 3], [np.ones(2), np.ones(3)]])
    def test_ragged_lists_are_refused_without_the_words_of_numpy(self, ragged):
        with pytest.raises(ValueError, match=r"^x is ragged: its rows must all have") as caught:
            softmax(ragged)
        assert caught.value.__suppress_context__

    @pytest.mark.parametrize("x", [Awkward(), [Awkward()]])
    def test_only_ragged_lists_are_called_ragged(self, x):
        message = "x does not become an array: on strike"
        assert refusal(softmax, x) == (ValueError, message)

    def test_masked_arrays_are_refused(self):
        message = "x is a masked array, whose mask would be lost: pass x.filled()"
        assert refusal(softmax, np.ma.ones(3)) == (TypeError, message)

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
    def test_all_kinds_but_real_numbers_are_refused(self, dtype, shown):
        message = f"x must hold real numbers, got dtype {shown}"
        assert refusal(softmax, np.zeros(3, dtype)) == (TypeError, message)

    def test_nothing_at_all_is_no_array(self):
        assert refusal(softmax, None) == (TypeError, "x must hold real numbers, got dtype object")

    def test_numbers_of_the_other_byte_order_come_back_in_the_native_one(self):
        swapped = np.arange(3.0).astype(np.dtype(np.float64).newbyteorder())
        result = softmax(swapped)
        assert result.dtype.isnative
        np.testing.assert_array_equal(result, softmax([0.0, 1.0, 2.0]))

    def test_heads_that_differ_by_a_factor_are_told_how_to_share(self):
        query, key = np.ones((2, 6, 5, 3)), np.ones((2, 3, 7, 3))
        assert refusal(scaled_dot_product_attention, query, key, key) == (
            ValueError,
            "query (2, 6, 5, 3) and key (2, 3, 7, 3): the axes before the last two must be equal, "
            "or 1, or absent; heads that share keys and values: repeat_key_value_heads",
        )
        _, message = refusal(scaled_dot_product_attention, query, np.ones((2, 4, 7, 3)), key)
        assert "repeat" not in message
        _, message = refusal(dot_similarity, np.ones((0, 2, 3)), np.ones((2, 2, 3)))
        assert "repeat" not in message

    @pytest.mark.parametrize(
        "shape, broadcasts",
        [
            *[((), True), ((1,), True), ((7,), True), ((5, 1), True), ((3, 1, 7), True)],
            *[((1, 1, 1, 1), True), ((2, 3, 5, 7), True), ((5,), False), ((7, 5), False)],
            *[((0,), False), ((1, 2, 3, 5, 7), False), ((4, 1, 1), False)],
        ],
    )
    def test_a_bias_broadcasts_to_the_scores_and_never_they_to_it(self, shape, broadcasts):
        query, key = np.ones((2, 3, 5, 1)), np.ones((2, 3, 7, 1))
        if broadcasts:
            output = scaled_dot_product_attention(query, key, key, bias=np.ones(shape))
            assert output.shape == query.shape
        else:
            assert refusal(scaled_dot_product_attention, query, key, key, bias=np.ones(shape)) == (
                ValueError,
                f"bias {shape} and scores (2, 3, 5, 7): each axis of bias, counted from the last, "
                f"must be equal to that of the scores, or 1",
            )


class TestNumbers:
    @pytest.mark.parametrize(
        "value", [0.5, np.float32(0.5), np.float16(0.5), Fraction(1, 2), np.array(0.5)]
    )
    def test_a_scale_may_be_any_real_number(self, value):
        scores = scaled_scores(ONE.astype(np.float32), 4 * ONE.astype(np.float32), scale=value)
        np.testing.assert_array_equal(scores, np.float32([[2]]), strict=True)

    @pytest.mark.parametrize("value", [2, np.int8(2), np.array(2), np.array(2, np.uint8)])
    def test_a_count_may_be_any_integer(self, value):
        assert causal_mask(value).shape == (2, 2)
        assert split_heads(np.ones((3, 4)), value).shape == (2, 3, 2)
        assert sinusoidal_encoding(3, value, base=np.array(100)).shape == (3, 2)
        assert padding_mask(value, 3).sum() == 2
        assert soft_cap([0.0], value) == 0
        np.testing.assert_array_equal(softmax([[1, 2]], axis=np.array(1)), softmax([[1, 2]]))
        x = np.ones((3, 4))
        w = np.eye(4)
        assert multi_head_attention(x, x, w, w, w, w, num_heads=value).shape == (3, 4)
        cut = streaming_attention(x, x, x, block_size=value, causal=np.array(True), offset=value)
        assert cut.shape == (3, 4)

    @pytest.mark.parametrize(
        "value, kind",
        [
            *[(True, "bool"), (np.False_, "bool"), ("1", "str"), (1j, "complex")],
            *[([1.0], "list"), (np.ones(1), "ndarray"), (np.array(True), "ndarray")],
            *[(np.array("1"), "ndarray"), (Decimal(1), "Decimal")],
        ],
    )
    def test_what_is_no_real_number_is_no_scale(self, value, kind):
        message = f"scale must be a real number, got {kind}"
        assert refusal(scaled_scores, ONE, ONE, scale=value) == (TypeError, message)

    @pytest.mark.parametrize("kind", [float, np.float64, np.longdouble, Fraction])
    @pytest.mark.parametrize("dtype", [np.float32, np.longdouble])
    def test_a_scale_is_finite(self, kind, dtype):
        x = np.ones((1, 1), dtype)
        if kind is Fraction:
            beyond = 10**5000 * Fraction(1)
            found = refusal(scaled_scores, x, x, scale=beyond)
            assert found[0] is ValueError
            assert found[1].startswith("scale must be finite, got ")
            return
        for value in (math.inf, -math.inf, math.nan):
            message = f"scale must be finite, got {value}"
            assert refusal(scaled_scores, x, x, scale=kind(value)) == (ValueError, message)

    @pytest.mark.parametrize(
        "value, kind",
        [
            *[(2.0, "float"), (True, "bool"), (np.True_, "bool"), ("2", "str"), (None, "NoneType")],
            *[(np.array(2.0), "ndarray"), (np.array([2]), "ndarray"), (np.array(True), "ndarray")],
        ],
    )
    def test_what_is_no_integer_is_no_count(self, value, kind):
        message = f"Tq must be an integer, got {kind}"
        assert refusal(causal_mask, value) == (TypeError, message)

    @pytest.mark.parametrize("value", [0, 1, "no", None, np.array([True]), np.array(1)])
    def test_what_only_counts_as_true_is_no_flag(self, value):
        message = f"interleaved must be True or False, got {type(value).__name__}"
        assert refusal(rotate_pairs, np.ones((1, 2)), [0], interleaved=value) == (
            TypeError,
            message,
        )

    def test_axes_are_those_that_there_are(self):
        for axis in (-2, -1, 0, 1):
            assert softmax(np.ones((3, 5)), axis=axis).shape == (3, 5)
        for axis in (-3, 2):
            message = f"axis {axis}: x (3, 5) has no such axis"
            assert refusal(softmax, np.ones((3, 5)), axis) == (ValueError, message)
        assert refusal(softmax, 1.0) == (ValueError, "axis -1: x () has no such axis")

    @pytest.mark.parametrize(
        "arguments, message",
        [
            ({"causal": True, "offset": None}, "offset must be an integer, got NoneType"),
            ({"offset": 1}, "offset 1: it has no meaning without causal=True"),
            ({"offset": -1}, "offset -1: it has no meaning without causal=True"),
            ({"soft_cap": 0}, "soft_cap must be positive, got 0.0"),
            ({"soft_cap": math.inf}, "soft_cap must be finite, got inf"),
            ({"soft_cap": "1"}, "soft_cap must be a real number, got str"),
            ({"causal": 1}, "causal must be True or False, got int"),
        ],
    )
    @pytest.mark.parametrize(
        "function",
        [
            lambda **o: scaled_dot_product_attention(ONE, ONE, ONE, **o),
            lambda **o: streaming_attention(ONE, ONE, ONE, **o),
            lambda **o: attention_state(ONE, ONE, ONE, **o),
            lambda **o: self_attention(ONE, ONE, ONE, ONE, **o),
            lambda **o: multi_head_attention(ONE, ONE, ONE, ONE, ONE, ONE, num_heads=1, **o),
            lambda **o: scaled_dot_product_attention_vjp(ONE, ONE, ONE, ONE, **o),
            lambda **o: self_attention_vjp(ONE, ONE, ONE, ONE, ONE, **o),
            lambda **o: streaming_attention_vjp(ONE, ONE, ONE, ONE, **o),
        ],
    )
    def test_the_options_of_attention_are_checked_wherever_it_happens(
        self, function, arguments, message
    ):
        assert refusal(function, **arguments)[1] == message


class TestDtypes:
    def test_types_without_a_common_one_are_named(self):
        x, y = np.ones((1, 1), np.float16), np.ones((1, 1), ml_dtypes.bfloat16)
        assert refusal(scaled_dot_product_attention, x, x, y) == (
            TypeError,
            "query float16, key float16, value bfloat16: these dtypes have no common one; cast "
            "them to one",
        )
        assert refusal(dot_similarity, x, y)[1].startswith("x float16, y bfloat16: ")
        assert refusal(scaled_dot_product_attention, x, x, x, bias=y)[1].startswith(
            "query float16, key float16, value float16, bias bfloat16: "
        )
        assert refusal(self_attention, x, x, y, x)[1].startswith(
            "x float16, w_query float16, w_key bfloat16, w_value float16: "
        )

    @pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
    def test_a_bias_that_is_a_number_of_python_changes_no_dtype(self, dtype):
        x = np.ones((2, 1), dtype)
        weak = {"bias": 0.5}
        cache = KeyValueCache()
        results = [
            scaled_dot_product_attention(x, x, x, **weak),
            streaming_attention(x, x, x, **weak),
            cache.attend(x, x, x, **weak),
            self_attention(x, x[:1], x[:1], x[:1], **weak),
            multi_head_attention(x, x, x[:1], x[:1], x[:1], x[:1], num_heads=1, **weak),
            *scaled_dot_product_attention_vjp(x, x, x, x, **weak),
            scaled_dot_product_attention_vjp(x, x, x, x, **weak).d_bias,
            *streaming_attention_vjp(x, x, x, x, **weak),
            *self_attention_vjp(x, x[:1], x[:1], x[:1], x, **weak),
        ]
        assert {result.dtype for result in results} == {np.dtype(dtype)}
        wide = scaled_dot_product_attention(x, x, x, bias=np.float64(0.5))
        assert wide.dtype == np.float64


LONG = np.longdouble
DIGITS = mpmath.mp.clone()
DIGITS.dps = 50


def long_numbers(seed, *shape):
    """Return numbers that float64 cannot hold."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape).astype(LONG) + LONG(2) ** -60 * rng.integers(1, 9, shape)


def exact(array):
    """Return the numbers of an array as they are: the sum of a double and of what it leaves."""
    head = array.astype(np.float64)
    tail = (array - head).astype(np.float64)
    return [
        [DIGITS.mpf(float(a)) + DIGITS.mpf(float(b)) for a, b in zip(row, rest, strict=True)]
        for row, rest in zip(head, tail, strict=True)
    ]


def error(got, expected):
    found = exact(np.atleast_2d(got))
    return max(
        abs(a - b) for r, e in zip(found, expected, strict=True) for a, b in zip(r, e, strict=True)
    )


@pytest.mark.skipif(np.finfo(LONG).eps > 2**-60, reason="longdouble is float64 here")
class TestLongdouble:
    """Computed in its own precision from end to end, against 50 digits."""

    TINY = 2.0**-58  # float64 would be off by 2⁻⁵³

    @pytest.mark.parametrize("scale", [None, 1 / LONG(3), Fraction(1, 3), 2])
    def test_scores_and_their_scale(self, scale):
        query, key = long_numbers(0, 2, 3), long_numbers(1, 4, 3)
        factor = {None: 1 / DIGITS.sqrt(3), 2: 2}.get(scale, DIGITS.mpf(1) / 3)
        q, k = exact(query), exact(key)
        expected = [[factor * DIGITS.fdot(a, b) for b in k] for a in q]
        assert error(scaled_scores(query, key, scale=scale), expected) < self.TINY

    def test_attention_dense_streamed_and_cached(self):
        query, key, value = (long_numbers(i, 3, 3) for i in range(3))
        q, k, v = exact(query), exact(key), exact(value)
        expected = []
        for row in q:
            cap = DIGITS.mpf(1) / 3
            scores = [cap * DIGITS.tanh(DIGITS.fdot(row, b) / DIGITS.sqrt(3) / cap) for b in k]
            powers = [DIGITS.exp(score) for score in scores]
            expected.append(
                [
                    DIGITS.fdot(powers, column) / DIGITS.fsum(powers)
                    for column in zip(*v, strict=True)
                ]
            )
        options = {"soft_cap": Fraction(1, 3)}
        for output in (
            scaled_dot_product_attention(query, key, value, **options),
            streaming_attention(query, key, value, block_size=2, **options),
            KeyValueCache().attend(query, key, value, causal=False, **options),
        ):
            assert output.dtype == LONG
            assert error(output, expected) < self.TINY

    def test_rotation(self):
        x = long_numbers(0, 2, 4)
        rows = exact(x)
        turned = rotate_pairs(x, [1, 7], base=LONG(10))
        expected = []
        for (a, b, c, d), t in zip(rows, (1, 7), strict=True):
            slow = t / DIGITS.sqrt(10)
            expected.append(
                [
                    a * DIGITS.cos(t) - c * DIGITS.sin(t),
                    b * DIGITS.cos(slow) - d * DIGITS.sin(slow),
                    a * DIGITS.sin(t) + c * DIGITS.cos(t),
                    b * DIGITS.sin(slow) + d * DIGITS.cos(slow),
                ]
            )
        assert error(turned, expected) < self.TINY

    def test_softmax_and_its_logarithm(self):
        x = long_numbers(0, 1, 5)
        (row,) = exact(x)
        powers = [DIGITS.exp(a) for a in row]
        whole = DIGITS.fsum(powers)
        assert error(softmax(x), [[p / whole for p in powers]]) < self.TINY
        assert error(log_softmax(x), [[DIGITS.log(p / whole) for p in powers]]) < self.TINY
        assert error(log_sum_exp(x), [[DIGITS.log(whole)]]) < self.TINY

    def test_similarity(self):
        x = long_numbers(0, 3, 4)
        rows = exact(x)
        dots = [[DIGITS.fdot(a, b) for b in rows] for a in rows]
        assert error(dot_similarity(x), dots) < self.TINY
        lengths = [DIGITS.sqrt(dots[i][i]) for i in range(3)]
        cosines = [[dots[i][j] / lengths[i] / lengths[j] for j in range(3)] for i in range(3)]
        assert error(cosine_similarity(x), cosines) < self.TINY
        distances = [
            [
                DIGITS.sqrt(DIGITS.fsum((a - b) ** 2 for a, b in zip(r, s, strict=True)))
                for s in rows
            ]
            for r in rows
        ]
        assert error(euclidean_distance(x), distances) < self.TINY

    def test_gradients(self):
        # Equal scores: the weights are ⅓, dS = ⅓ (dA − mean), the scale 1/√2 of width 2.
        query, key = np.zeros((1, 2), LONG), np.eye(3, 2, dtype=LONG)
        value = np.arange(3, dtype=LONG)[:, np.newaxis]
        third, scale = DIGITS.mpf(1) / 3, 1 / DIGITS.sqrt(2)
        d_scores = [third * (a - 1) for a in (0, 1, 2)]
        for function in (scaled_dot_product_attention_vjp, streaming_attention_vjp):
            d_query, _, d_value = function(query, key, value, np.ones((1, 1), LONG))
            assert error(d_value, [[third]] * 3) < self.TINY
            assert error(d_query, [[scale * d_scores[0], scale * d_scores[1]]]) < self.TINY
        assert error(softmax_vjp([[LONG(1) / 3] * 3], [[0, 1, 2]]), [d_scores]) < self.TINY


class TestForeignWords:
    @pytest.mark.parametrize(
        "word, ours",
        [
            ("attn_mask", "mask= (boolean, True = may attend); numbers to add to the scores are"),
            ("attention_mask", "mask= (boolean, True = may attend)"),
            ("key_padding_mask", "mask=padding_mask(lengths, Tk)"),
            ("is_causal", "causal="),
            ("use_causal_mask", "causal="),
            ("softmax_scale", "scale="),
            ("softcap", "soft_cap="),
            ("window_size", "mask=window_mask(...), or window= in the streaming form"),
            ("enable_gqa", "repeat_key_value_heads, or num_key_value_heads="),
            ("dropout_p", "nothing: no weight is ever dropped"),
        ],
    )
    @pytest.mark.parametrize(
        "function",
        [scaled_dot_product_attention, streaming_attention, KeyValueCache().attend],
    )
    def test_get_the_word_for_it_here(self, function, word, ours):
        kind, message = refusal(function, ONE, ONE, ONE, **{word: None})
        assert kind is TypeError
        assert message.startswith(f"{function.__name__} has no {word}=: here that is {ours}")

    def test_other_words_get_the_message_of_python(self):
        with pytest.raises(TypeError, match="unexpected keyword argument 'masc'"):
            scaled_dot_product_attention(ONE, ONE, ONE, masc=None)


class TestTargets:
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
            ([0.0, 1.0], None, TypeError, "targets must hold integers, got dtype float64"),
        ],
    )
    def test_what_is_wrong_is_said(self, targets, mask, kind, message):
        assert refusal(cross_entropy, np.ones((2, 5)), targets, mask=mask) == (kind, message)

    def test_a_single_target_that_is_out_of_range_is_refused(self):
        assert refusal(perplexity, np.ones(5), 7) == (
            ValueError,
            "targets (): each must lie between 0 and V − 1 = 4, got 7 at ()",
        )

    def test_a_target_that_is_not_kept_may_be_anything(self):
        kept = cross_entropy(np.zeros((2, 4)), [3, -100], mask=[True, False])
        assert kept == pytest.approx(math.log(4))


class TestHeads:
    @pytest.mark.parametrize(
        "change, options, message",
        [
            ({}, {"num_heads": 0}, "num_heads must be at least 1, got 0"),
            ({}, {"num_key_value_heads": 0}, "num_key_value_heads must be at least 1, got 0"),
            (
                {},
                {"num_key_value_heads": 3},
                "num_heads must be a multiple of num_key_value_heads, got 4 and 3",
            ),
            (
                {"w_query": (11, 13)},
                {},
                "w_query (11, 13): its width must be a multiple of num_heads, got 13 and 4",
            ),
            (
                {"w_key": (13, 7)},
                {},
                "w_key (13, 7): its width must be a multiple of num_key_value_heads, got 7 and 2",
            ),
            (
                {"w_key": (13, 8)},
                {},
                "w_query (11, 12) and w_key (13, 8): they must have the same width d_k of a head, "
                "got 3 and 4",
            ),
            (
                {"w_key": (13, 4)},
                {},
                "w_query (11, 12) and w_key (13, 4): they must have the same width d_k of a head, "
                "got 3 and 2",
            ),
            (
                {"w_output": (4, 17)},
                {},
                "w_value (13, 4) and w_output (4, 17): w_output must have num_heads · d_v = "
                "4 · 2 = 8 rows, got 4",
            ),
        ],
    )
    def test_whole_heads_of_one_width(self, change, options, message):
        shapes = {
            "x_query": (5, 11),
            "x_key_value": (7, 13),
            "w_query": (11, 12),
            "w_key": (13, 6),
            "w_value": (13, 4),
            "w_output": (8, 17),
        } | change
        arrays = {name: np.ones(shape) for name, shape in shapes.items()}
        options = {"num_heads": 4, "num_key_value_heads": 2} | options
        assert refusal(multi_head_attention, **arrays, **options) == (ValueError, message)

    def test_a_width_of_odd_size_has_no_pairs(self):
        assert refusal(sinusoidal_encoding, 2, 3) == (ValueError, "d_model must be even, got 3")
        message = "x (1, 3): its width must be even, got 3"
        assert refusal(rotate_pairs, np.ones((1, 3)), [0]) == (ValueError, message)

    def test_an_array_without_heads_is_not_merged(self):
        message = "x (2, 3): it must have the axes (..., h, T, d)"
        assert refusal(merge_heads, np.ones((2, 3))) == (ValueError, message)


class TestWindows:
    def test_far_offsets_do_not_wrap_around(self):
        for offset, expected in ((2**70, True), (-(2**70), False)):
            np.testing.assert_array_equal(
                causal_mask(3, 4, offset=offset), np.full((3, 4), expected)
            )
            near = window_mask(3, 4, 2, 2, offset=offset)
            np.testing.assert_array_equal(near, np.zeros((3, 4), bool))
