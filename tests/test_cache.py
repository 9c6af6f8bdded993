"""The cache against the causal pass over the whole sequence, in loops with 50 digits."""

import copy
import re
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import selfattn_ref
from selfattn_ref import (
    KeyValueCache,
    causal_mask,
    rotate_pairs,
    scaled_dot_product_attention,
)
from tests import oracles_more as oracle

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def says(message):
    return "^" + re.escape(message) + "$"


def sequence(seed, length, *leading, d_k=3, d_v=5, dtype=np.float64):
    """Queries, keys and values of a sequence."""
    return [
        oracle.numbers(seed * 10 + i, *leading, length, width, dtype=dtype)
        for i, width in enumerate((d_k, d_k, d_v))
    ]


def in_chunks(cache, arrays, sizes):
    """The outputs of all chunks, one after the other."""
    outputs, start = [], 0
    for size in sizes:
        chunk = [array[..., start : start + size, :] for array in arrays]
        outputs.append(cache.attend(*chunk))
        start += size
    return np.concatenate(outputs, axis=-2)


class TestKeyValueCache:
    """Within 4 ε (1 + max|score|) of 50 digits, relative to the largest value."""

    @pytest.mark.parametrize("length", [1, 2, 5, 6])
    def test_every_chunking_gives_the_causal_pass(self, length):
        arrays = sequence(length, length)
        query, key, value = (oracle.exact(array) for array in arrays)
        expected = oracle.attention(query, key, value, allowed=oracle.causal)
        score, scale = oracle.largest_score(query, key), oracle.largest(value)
        for sizes in oracle.compositions(length):
            cache = KeyValueCache()
            output = in_chunks(cache, arrays, sizes)
            assert len(cache) == length
            assert oracle.in_units(output, expected, score=score, scale=scale) <= 4

    @oracle.modest
    @given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(0, 10**6))
    def test_chunks_may_be_empty_and_of_any_size(self, sizes, seed):
        arrays = sequence(seed, sum(sizes), 2)
        cache = KeyValueCache()
        output = in_chunks(cache, arrays, sizes)
        full = scaled_dot_product_attention(*arrays, mask=causal_mask(sum(sizes)))
        np.testing.assert_allclose(output, full, rtol=1e-12, atol=1e-13)
        assert len(cache) == sum(sizes)

    def test_one_at_a_time_over_many_doublings(self):
        arrays = sequence(1, 131, 2)
        output = in_chunks(KeyValueCache(), arrays, [1] * 131)
        full = scaled_dot_product_attention(*arrays, mask=causal_mask(131))
        np.testing.assert_allclose(output, full, rtol=1e-12, atol=1e-13)

    def test_large_scores_stay_accurate(self):
        arrays = sequence(2, 5)
        arrays[0] *= 300
        query, key, value = (oracle.exact(array) for array in arrays)
        expected = oracle.attention(query, key, value, allowed=oracle.causal)
        score, scale = oracle.largest_score(query, key), oracle.largest(value)
        output = in_chunks(KeyValueCache(), arrays, [2, 1, 2])
        assert oracle.in_units(output, expected, score=score, scale=scale) <= 4

    def test_a_new_cache_is_empty(self):
        assert len(KeyValueCache()) == 0

    def test_an_empty_chunk_gives_an_empty_output_and_settles_the_shapes(self):
        cache = KeyValueCache()
        output = cache.attend(np.ones((2, 0, 3)), np.ones((2, 0, 3)), np.ones((2, 0, 5)))
        assert output.shape == (2, 0, 5)
        assert len(cache) == 0
        with pytest.raises(ValueError, match="only their lengths"):
            cache.attend(np.ones((2, 1, 4)), np.ones((2, 1, 4)), np.ones((2, 1, 5)))
        cache.attend(np.ones((2, 1, 3)), np.ones((2, 1, 3)), np.ones((2, 1, 5)))
        cache.attend(np.ones((2, 0, 3)), np.ones((2, 0, 3)), np.ones((2, 0, 5)))
        assert len(cache) == 1

    def test_the_storage_doubles_so_that_few_rows_are_copied(self):
        arrays = sequence(3, 100)
        cache = KeyValueCache()
        capacities = []
        start = 0
        for size in [1] * 5 + [20, 1, 60]:
            cache.attend(*(array[start : start + size] for array in arrays))
            start += size
            storage = cache.keys.base
            assert storage.shape[-2] == cache.values.base.shape[-2]
            capacities.append(storage.shape[-2])
        assert capacities == [1, 2, 4, 4, 8, 25, 50, 100]

    def test_the_cache_keeps_copies(self):
        arrays = sequence(4, 6)
        expected = in_chunks(KeyValueCache(), arrays, [3, 3])
        chunk = [array[:3].copy() for array in arrays]
        cache = KeyValueCache()
        first = cache.attend(*chunk)
        for array in (*chunk, first):
            array[...] = np.nan
        second = cache.attend(*(array[3:] for array in arrays))
        np.testing.assert_array_equal(second, expected[3:])

    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
    def test_a_copy_goes_on_by_itself(self, copied):
        arrays, others = sequence(5, 7), sequence(6, 7)
        cache = KeyValueCache()
        in_chunks(cache, [a[:3] for a in arrays], [1, 1, 1])  # room for one more
        branch = copied(cache)
        for mine, its in zip(arrays, others, strict=True):
            its[:3] = mine[:3]
        a = in_chunks(cache, [x[3:4] for x in arrays], [1])
        b = in_chunks(branch, [x[3:7] for x in others], [1, 3])
        c = in_chunks(cache, [x[4:7] for x in arrays], [1, 2])
        assert (len(cache), len(branch)) == (7, 7)
        whole = in_chunks(KeyValueCache(), arrays, [7])
        np.testing.assert_allclose(np.concatenate([a, c]), whole[3:], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(
            b, in_chunks(KeyValueCache(), others, [7])[3:], rtol=1e-12, atol=1e-13
        )

    def test_inputs_are_left_alone_and_warnings_are_not_raised(self):
        arrays = sequence(7, 4, 2)

        def attend(*chunk):
            cache = KeyValueCache()
            return cache.attend(*chunk), cache.attend(*chunk)

        first, second = oracle.politely(attend, *arrays)
        assert first.shape == second.shape == (2, 4, 5)

    def test_leading_axes_of_the_query_broadcast(self):
        query = oracle.numbers(80, 3, 2, 5, 7)
        key, value = oracle.numbers(81, 2, 5, 7), oracle.numbers(82, 1, 5, 11)
        output = in_chunks(KeyValueCache(), [query, key, value], [2, 3])
        full = scaled_dot_product_attention(query, key, value, mask=causal_mask(5))
        np.testing.assert_allclose(output, full, rtol=1e-12, atol=1e-13)

    def test_a_nan_shows_from_its_position_on(self):
        arrays = sequence(9, 6)
        for array, column in zip(arrays[1:], (1, 4), strict=True):
            array[3, column] = np.nan
        with np.errstate(all="raise"):
            output = in_chunks(KeyValueCache(), arrays, [2, 2, 2])
        assert np.isfinite(output[:3]).all()
        assert np.isnan(output[3:]).all()

    def test_rotating_from_the_length_of_the_cache_on_is_rotating_the_whole(self):
        query, key, value = sequence(11, 6, d_k=4)
        cache = KeyValueCache()
        outputs = []
        for start in (0, 1, 4):
            stop = {0: 1, 1: 4, 4: 6}[start]
            positions = np.arange(len(cache), len(cache) + stop - start)
            outputs.append(
                cache.attend(
                    rotate_pairs(query[start:stop], positions),
                    rotate_pairs(key[start:stop], positions),
                    value[start:stop],
                )
            )
        everywhere = np.arange(6)
        full = scaled_dot_product_attention(
            rotate_pairs(query, everywhere),
            rotate_pairs(key, everywhere),
            value,
            mask=causal_mask(6),
        )
        np.testing.assert_allclose(np.concatenate(outputs), full, rtol=1e-12, atol=1e-13)

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_the_dtype_stays(self, dtype):
        arrays = sequence(12, 4, dtype=dtype)
        output = in_chunks(KeyValueCache(), arrays, [2, 2])
        assert output.dtype == dtype
        exact = in_chunks(KeyValueCache(), [a.astype(np.float64) for a in arrays], [4])
        eps = float(ml_dtypes.finfo(dtype).eps)
        np.testing.assert_allclose(
            output.astype(np.float64), exact, rtol=eps, atol=20 * min(eps, 1e-7)
        )

    def test_lists_of_integers_become_float64(self):
        cache = KeyValueCache()
        output = cache.attend([[1]], [[0]], [[4]])
        np.testing.assert_array_equal(output, np.array([[4.0]]), strict=True)
        np.testing.assert_array_equal(cache.attend([[1]], [[0]], [[2.0]]), [[3.0]])

    def test_the_dtype_of_the_query_is_free(self):
        cache = KeyValueCache()
        key, value = np.ones((1, 2), np.float32), np.ones((1, 3), np.float32)
        assert cache.attend(np.ones((1, 2), np.float32), key, value).dtype == np.float32
        assert cache.attend(np.ones((1, 2)), key, value).dtype == np.float64

    @pytest.mark.parametrize(
        "shapes, dtypes, kind, message",
        [
            (
                [(2, 1, 3), (2, 1, 3), (2, 1, 4)],
                "ddd",
                ValueError,
                "value (2, 1, 4) and cached value (2, 3, 5): only their lengths, the axis before "
                "the last, may differ",
            ),
            (
                [(2, 1, 4), (2, 1, 4), (2, 1, 5)],
                "ddd",
                ValueError,
                "key (2, 1, 4) and cached key (2, 3, 3): only their lengths, the axis before the "
                "last, may differ",
            ),
            (
                [(4, 1, 3), (4, 1, 3), (4, 1, 5)],
                "ddd",
                ValueError,
                "key (4, 1, 3) and cached key (2, 3, 3): only their lengths, the axis before the "
                "last, may differ",
            ),
            (
                [(1, 1, 3), (1, 1, 3), (1, 1, 5)],
                "ddd",
                ValueError,
                "key (1, 1, 3) and cached key (2, 3, 3): only their lengths, the axis before the "
                "last, may differ",
            ),
            (
                [(2, 1, 3), (2, 1, 3), (1, 5)],
                "ddd",
                ValueError,
                "value (1, 5) and cached value (2, 3, 5): only their lengths, the axis before the "
                "last, may differ",
            ),
            (
                [(4, 1, 3), (2, 1, 3), (2, 1, 5)],
                "ddd",
                ValueError,
                "query (4, 1, 3) and key (2, 1, 3) and value (2, 1, 5): the axes before the last "
                "two must be equal, or 1, or absent; heads that share keys and values: "
                "repeat_key_value_heads",
            ),
            (
                [(2, 1, 4), (2, 1, 3), (2, 1, 5)],
                "ddd",
                ValueError,
                "query (2, 1, 4) and key (2, 1, 3): they must have the same width d_k, got 4 and 3",
            ),
            (
                [(2, 2, 3), (2, 1, 3), (2, 1, 5)],
                "ddd",
                ValueError,
                "query (2, 2, 3) and key (2, 1, 3): they must have the same length, got 2 and 1",
            ),
            (
                [(2, 1, 3), (2, 1, 3), (2, 2, 5)],
                "ddd",
                ValueError,
                "key (2, 1, 3) and value (2, 2, 5): they must have the same length, got 1 and 2",
            ),
            (
                [(2, 1, 3), (2, 1, 3), (2, 1, 5)],
                "dfd",
                TypeError,
                "key has dtype float32, and the cached key float64: they must be the same",
            ),
            (
                [(2, 1, 3), (2, 1, 3), (2, 1, 5)],
                "dde",
                TypeError,
                "value has dtype float16, and the cached value float64: they must be the same",
            ),
            (
                [(2, 1, 3), (2, 1, 3), (2, 1, 5)],
                "ddD",
                TypeError,
                "value must hold real numbers, got dtype complex128",
            ),
            (
                [(3,), (2, 1, 3), (2, 1, 5)],
                "ddd",
                ValueError,
                "query (3,): it must have the axes (..., T, d_k)",
            ),
        ],
    )
    def test_misuse_is_named_and_leaves_the_cache_as_it_was(self, shapes, dtypes, kind, message):
        arrays = sequence(13, 6, 2)
        expected = in_chunks(KeyValueCache(), arrays, [3, 3])
        cache = KeyValueCache()
        in_chunks(cache, arrays, [3])
        wrong = [np.ones(s, t) for s, t in zip(shapes, dtypes, strict=True)]
        for _ in range(2):
            with pytest.raises(kind, match=says(message)) as caught:
                cache.attend(*wrong)
            assert caught.type is kind
            assert len(cache) == 3
        rest = cache.attend(*(array[:, 3:] for array in arrays))
        np.testing.assert_array_equal(rest, expected[:, 3:])

    def test_a_first_call_that_fails_settles_nothing(self):
        cache = KeyValueCache()
        with pytest.raises(ValueError, match="they must have the same width d_k"):
            cache.attend(np.ones((1, 2)), np.ones((1, 3)), np.ones((1, 3)))
        with pytest.raises(ValueError, match="undefined for d_k = 0"):
            cache.attend(np.ones((1, 0)), np.ones((1, 0)), np.ones((1, 3)))
        assert len(cache) == 0
        output = cache.attend(np.ones((2, 1, 5)), np.ones((2, 1, 5)), np.ones((2, 1, 7)))
        assert output.shape == (2, 1, 7)

    def test_it_is_exported(self):
        assert "KeyValueCache" in selfattn_ref.__all__


class TestWhatIsRemembered:
    def test_keys_and_values_can_be_read_and_not_written(self):
        arrays = sequence(1, 5, 2)
        cache = KeyValueCache()
        assert cache.keys is None
        assert cache.values is None
        in_chunks(cache, arrays, [2, 1, 2])
        np.testing.assert_array_equal(cache.keys, arrays[1])
        np.testing.assert_array_equal(cache.values, arrays[2])
        with pytest.raises(ValueError, match="read-only"):
            cache.keys[...] = 0

    def test_the_repr_says_how_many_and_of_what(self):
        cache = KeyValueCache()
        assert repr(cache) == "KeyValueCache(empty)"
        in_chunks(cache, sequence(1, 3, dtype=np.float32), [3])
        assert repr(cache) == "KeyValueCache(3 positions, d_k = 3, d_v = 5, float32)"
        batched = KeyValueCache()
        in_chunks(batched, sequence(1, 3, 2, 7), [3])
        expected = "KeyValueCache(3 positions, d_k = 3, d_v = 5, leading axes (2, 7), float64)"
        assert repr(batched) == expected

    @pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
    def test_a_step_copies_and_casts_no_cache(self, dtype):
        keys = np.ones((8, 6000, 64), dtype)  # 6 or 12 MB, and twice that with the values
        cache = KeyValueCache()
        cache.attend(keys[:, :1], keys[:, :1], keys[:, :1])
        cache.attend(keys, keys, keys)
        cache.attend(keys[:, :1], keys[:, :1], keys[:, :1])  # the storage grows here
        tracemalloc.start()
        cache.attend(keys[:, :1], keys[:, :1], keys[:, :1])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2e6
