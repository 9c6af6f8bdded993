"""Attention: from queries, keys and values, and among the positions of one sequence."""

import math

import numpy as np
import pytest
from hypothesis import given

from selfattn_ref import (
    KeyValueCache,
    attention_weights,
    causal_mask,
    multi_head_attention,
    scaled_dot_product_attention,
    scaled_scores,
    self_attention,
    soft_cap,
    streaming_attention,
)
from tests.support import digits, loops
from tests.support.arrays import close, normal, normals, same_bits, some
from tests.support.strategies import problems

INF, NAN = math.inf, math.nan

# Every size another prime, so that no two axes can be swapped unnoticed.
B, H, TQ, TK, D_K, D_V = 2, 3, 5, 7, 11, 13

# A mask and a bias of every shape that broadcasts to the scores (B, H, TQ, TK).
SHAPES = [
    *[(), (1,), (TK,), (TQ, 1), (1, TK), (TQ, TK), (1, TQ, TK), (H, 1, 1), (H, TQ, 1)],
    *[(H, TQ, TK), (B, H, TQ, TK), (B, 1, 1, TK), (1, H, 1, TK), (B, 1, TQ, TK)],
]


def inputs(dtype=np.float64, *, seed=0, lead=()):
    """Return queries, keys and values."""
    return normals((*lead, TQ, D_K), (*lead, TK, D_K), (*lead, TK, D_V), seed=seed, dtype=dtype)


class TestScaledDotProductAttention:
    def test_mixes_the_values_by_the_weights(self):
        # d_k = 4: the scores are 2 ln 2 / 2, 2 ln 3 / 2, 0, so the weights are 2, 3, 1 of 6:
        # (2·6 + 3·12 + 1·30) / 6 = 13 and (2·60 + 3·0 + 1·6) / 6 = 21.
        query = [[1.0, 1.0, 1.0, 1.0]]
        key = [[2 * math.log(2), 0, 0, 0], [0, 0, 2 * math.log(3), 0], [0, 0, 0, 0]]
        output = scaled_dot_product_attention(query, key, [[6, 60], [12, 0], [30, 6]])
        np.testing.assert_allclose(output, [[13.0, 21.0]], rtol=1e-15)

    def test_values_with_leading_axes_of_their_own_share_a_mask(self):
        query, key, _ = inputs()
        value = normal(B, TK, D_V, seed=5)
        value[1, 2] = NAN
        mask = some(TQ, TK)
        output = scaled_dot_product_attention(query, key, value, mask=mask)
        close(output, loops.attention(query, key, value, mask))
        assert np.isnan(output[1, mask[:, 2]]).all()

    def test_masks_and_biases_of_every_broadcastable_shape_mean_their_elements(self):
        arrays = normals((B, H, TQ, 1), (B, H, TK, 1), (B, H, TK, 1))
        for shape in SHAPES:
            mask, bias = some(*shape, seed=3), np.asarray(normal(*shape, seed=9) * 3)
            masked = scaled_dot_product_attention(*arrays, mask=mask)
            close(masked, loops.attention(*arrays, mask), case=shape)
            biased = scaled_dot_product_attention(*arrays, bias=bias)
            close(biased, loops.attention(*arrays, bias=bias), case=shape)

    def test_a_score_beyond_the_range_counts_as_an_infinity(self):
        single = np.float32
        for sign, expected in ((-1, 0), (1, NAN)):
            query, key, value = single([[1e30]]), single([[sign * 1e30]]), single([[7]])
            for function in (scaled_dot_product_attention, streaming_attention):
                np.testing.assert_array_equal(function(query, key, value), [[expected]])
                # The score is ±1, but scale · query is beyond the range.
                steps = single([[1e30]]), single([[sign * 1e-40]]), value
                np.testing.assert_array_equal(function(*steps, scale=1e10), [[expected]])

    @pytest.mark.parametrize("bad, expected", [(INF, [7.0, NAN]), (-INF, [NAN, 7.0])])
    def test_an_infinite_key_counts_as_hidden_where_its_score_is_minus_infinity(
        self, bad, expected
    ):
        output = scaled_dot_product_attention([[-1.0], [1.0]], [[bad], [1.0]], [[5.0], [7.0]])
        np.testing.assert_array_equal(output[:, 0], expected)


class TestMasking:
    """A mask selects: what is not allowed is as if it were not there."""

    @pytest.mark.parametrize("queries", [1, 2, 65])
    def test_what_is_hidden_changes_no_bit_in_any_layout_of_the_values(self, queries):
        # NumPy multiplies by another loop where an array is strided, with other last bits.
        query, key, value = normals((queries, 3), (53, 3), (53, D_V))
        mask = some(queries, 53)
        mask[:, 3] = False
        spoiled = value.copy()
        spoiled[3] = NAN
        clean = scaled_dot_product_attention(query, key, value, mask=mask)
        for layout in (
            np.ascontiguousarray,
            np.asfortranarray,
            lambda a: np.repeat(a, 2, axis=1)[:, ::2],
            lambda a: np.stack([a, a, a], axis=1)[:, 1],
            lambda a: a[::-1].copy()[::-1],
        ):
            dirty = scaled_dot_product_attention(query, key, layout(spoiled), mask=mask)
            assert same_bits(dirty, clean)

    @pytest.mark.parametrize("bad", [NAN, INF, -INF])
    def test_a_value_shows_in_the_rows_that_may_attend_to_it_and_in_no_other(self, bad):
        query, key, value = inputs()
        mask = np.ones((TQ, TK), bool)
        mask[:, 2] = [True, False, False, True, False]
        mask[1] = False
        clean = scaled_dot_product_attention(query, key, value, mask=mask)
        value[2, 4] = bad
        output = scaled_dot_product_attention(query, key, value, mask=mask)
        assert same_bits(output[[1, 2, 4]], clean[[1, 2, 4]])
        np.testing.assert_array_equal(output[[0, 3], 4], [bad, bad])
        others = np.arange(D_V) != 4
        close(output[:, others], clean[:, others], 1e-13)

    def test_infinite_values_add_up_as_infinities_do(self):
        value = [[INF, INF, -INF], [INF, -INF, 5.0], [1.0, 2.0, 3.0]]
        zeros = np.zeros((3, 1))
        mask = [[True, True, True], [True, False, True], [False, False, True]]
        output = scaled_dot_product_attention(zeros, zeros, value, mask=mask)
        np.testing.assert_array_equal(output, [[INF, NAN, -INF], [INF, INF, -INF], [1.0, 2.0, 3.0]])

    @pytest.mark.parametrize("bad", [NAN, INF])
    def test_a_bad_key_spoils_the_rows_that_may_attend_to_it_and_no_other(self, bad):
        query, key, value = np.abs(inputs()[0]), *inputs()[1:]
        mask = np.ones((TQ, TK), bool)
        mask[:, 2] = [True, False, False, True, False]
        clean = scaled_dot_product_attention(query, key, value, mask=mask)
        key[2] = bad
        output = scaled_dot_product_attention(query, key, value, mask=mask)
        assert np.isnan(output[[0, 3]]).all()
        assert same_bits(output[[1, 2, 4]], clean[[1, 2, 4]])

    def test_a_bias_is_added_before_the_mask(self):
        # Added afterwards, +∞ would turn the masked weight, or its score of −∞, into NaN.
        query, key, value = inputs()
        mask = np.ones((TQ, TK), bool)
        mask[:, 2] = False
        bias = np.where(mask, 0, INF)
        output = scaled_dot_product_attention(query, key, value, mask=mask, bias=bias)
        close(output, loops.attention(query, key, value, mask))

    def test_a_bias_of_minus_infinity_hides_a_key_as_a_mask_does(self):
        query, key, value = inputs()
        mask = some(TQ, TK)
        mask[1] = False
        assert same_bits(
            scaled_dot_product_attention(query, key, value, bias=np.where(mask, 0.0, -INF)),
            scaled_dot_product_attention(query, key, value, mask=mask),
        )


# What makes each case hard; queries and values in units of the smallest normal number.
ACCURACY_CASES = {
    "plain": {},
    "wide keys": {"width": 257},
    "many keys": {"keys": 1009},
    "scores to 1e4": {"stretch": 4e3},
    "keys offset by 1e3": {"offset": 1e3},
    "denormal queries": {"query": 2.0**-4},
    "denormal values": {"value": 2.0**-4},
}


@pytest.mark.parametrize("infinite", [INF, -INF])
@pytest.mark.parametrize("attend", [scaled_dot_product_attention, streaming_attention])
def test_a_cap_bounds_an_infinite_score(attend, infinite):
    arrays = [[1.0, 1.0]], [[infinite, 1.0], [0.0, 0.0]], [[1.0], [2.0]]
    share = 1 / (1 + math.exp(-math.copysign(5, infinite)))  # of the first, whose score is ±5
    assert attend(*arrays, soft_cap=5.0) == pytest.approx(2 - share, rel=1e-14, abs=0)


class TestAccuracy:
    """Here at most 4 ε (1 + max |score|) of max |value|, against 50 digits: less than promised."""

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
    @pytest.mark.parametrize("name", ACCURACY_CASES)
    def test_stays_within_the_bound(self, dtype, name):
        case = ACCURACY_CASES[name]
        keys, width = case.get("keys", 13), case.get("width", 7)
        query, key, value = normals((5, width), (keys, width), (keys, 3), dtype=dtype)
        query *= dtype(case.get("stretch", 1)) / 3
        key += dtype(case.get("offset", 0))
        if "query" in case:
            query *= dtype(case["query"]) * np.finfo(dtype).tiny
        if "value" in case:
            value *= dtype(case["value"]) * np.finfo(dtype).tiny
        output = scaled_dot_product_attention(query, key, value)
        assert digits.attention_error(output, query, key, value) <= 4

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("size", [1.0, 1e2, 1e4])
    def test_stays_within_the_bound_where_large_scores_nearly_tie(self, dtype, size):
        # The hard case: scores of size `size` that differ by about 1, so that their rounding
        # errors, of size · ε, reach the weights.
        for seed in range(5):
            query, noise, signs = normals((1, 64), (5, 64), (5, 2), seed=seed)
            length = np.linalg.norm(query)
            key = 8 * (size * query / length**2 + noise / length)
            arrays = [array.astype(dtype) for array in (query, key, np.sign(signs))]
            assert digits.attention_error(scaled_dot_product_attention(*arrays), *arrays) <= 4

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_counts_the_products_where_they_cancel(self, dtype):
        # The query is orthogonal to the offset of the keys: products of 1e3 add up to about 1.
        for seed in range(5):
            query, key, value = normals((1, 64), (5, 64), (5, 2), seed=seed)
            arrays = [array.astype(dtype) for array in (query - query.mean(), key + 1e3, value)]
            output = scaled_dot_product_attention(*arrays)
            assert digits.attention_error(output, *arrays, products_cancel=True) <= 4


class TestTheorems:
    @given(problems())
    def test_the_definition_holds_for_every_problem(self, problem):
        arrays, mask = problem
        output = scaled_dot_product_attention(*arrays, mask=mask)
        np.testing.assert_allclose(output, loops.attention(*arrays, mask), rtol=0, atol=1e-9)


class TestSelfAttention:
    def test_queries_come_from_w_query_and_keys_from_w_key(self):
        # q = (0, 1), k = (ln 2, ln 4): row 1 weighs 2 : 4, row 0 alike.
        w_query, w_key = [[0.0], [1.0]], [[math.log(2)], [math.log(4)]]
        output = self_attention(np.eye(2), w_query, w_key, [[0.0], [3.0]])
        np.testing.assert_allclose(output, [[1.5], [2.0]], rtol=1e-15)

    def test_what_stands_in_a_hidden_position_changes_no_bit_of_the_others(self):
        x, *projections = normals((5, 7), (7, D_K), (7, D_K), (7, D_V))
        mask = np.ones((5, 5), bool)
        mask[:, 3] = False
        clean = self_attention(x, *projections, mask=mask)
        x[3] = NAN  # position 3 still asks: its own row is not a number, and no other
        output = self_attention(x, *projections, mask=mask)
        assert np.isnan(output[3]).all()
        assert same_bits(output[[0, 1, 2, 4]], clean[[0, 1, 2, 4]])


OPTIONS = [
    *[{}, {"scale": 0}, {"scale": -1.5}, {"mask": True, "bias": True, "scale": 0.25}],
    *[{"soft_cap": 0.8}, {"causal": True}, {"causal": True, "offset": 3}],
    {"causal": True, "offset": -2},
    {"soft_cap": 2.0, "bias": True, "causal": True, "offset": 1, "scale": -0.7, "mask": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
class TestTheSameWordsEverywhere:
    """mask, bias, scale, soft_cap, causal, offset: dense, streamed, in heads, in self-attention."""

    @staticmethod
    def filled(options, *shape):
        """Put a mask and a bias of this shape where the options want one."""
        mask = {"mask": some(*shape)} if "mask" in options else {}
        bias = {"bias": normal(*shape, seed=9)} if "bias" in options else {}
        return options | mask | bias

    def test_they_are_the_composition_of_the_parts(self, options):
        query, key, value = inputs(lead=(B,))
        options = self.filled(options, TQ, TK)
        scores = scaled_scores(query, key, scale=options.get("scale"))
        if "soft_cap" in options:
            scores = soft_cap(scores, options["soft_cap"])
        mask = np.asarray(options.get("mask", True))
        if options.get("causal"):
            mask = mask & causal_mask(TQ, TK, offset=options.get("offset", 0))
        weights = attention_weights(scores + options.get("bias", 0), mask=mask)
        output = scaled_dot_product_attention(query, key, value, **options)
        assert same_bits(output, weights @ value)
        close(streaming_attention(query, key, value, block_size=3, **options), output)

    @pytest.mark.parametrize("dtype", [np.float64, np.longdouble])
    def test_they_are_those_of_50_digits(self, options, dtype):
        arrays = [array / 3 for array in inputs(dtype)]
        options = self.filled(options, TQ, TK)
        offset = options.get("offset", 0) if "causal" in options else TK
        plain = {n: v for n, v in options.items() if n not in ("causal", "offset")}
        mask = np.asarray(options.get("mask", True)) & np.tri(TQ, TK, offset, bool)
        plain["mask"] = mask
        for function in (scaled_dot_product_attention, streaming_attention):
            output = function(*arrays, **options)
            assert digits.attention_error(output, *arrays, **plain) <= 4

    def test_one_sequence_and_one_head_take_them_along(self, options):
        x, *w = normals((TK, 6), *[(6, 6)] * 4)
        options = self.filled(options, TK, TK)
        expected = scaled_dot_product_attention(x @ w[0], x @ w[1], x @ w[2], **options)
        assert same_bits(self_attention(x, *w[:3], **options), expected)
        heads = multi_head_attention(x, x, *w, num_heads=1, **options)
        close(heads, expected @ w[3])

    def test_the_cache_takes_them_along(self, options):
        query, key, value = inputs()
        options = self.filled({n: v for n, v in options.items() if n != "offset"}, 4, TK)
        options |= {"causal": options.get("causal", False)}
        cache = KeyValueCache()
        cache.attend(np.zeros((3, D_K)), key[:3], value[:3])
        output = cache.attend(query[:4], key[3:], value[3:], **options)
        offset = {"offset": 3} if options["causal"] else {}
        close(output, scaled_dot_product_attention(query[:4], key, value, **offset, **options))
