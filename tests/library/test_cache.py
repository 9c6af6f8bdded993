"""The cache: against the causal pass over the whole sequence."""

import copy
import itertools
import re
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import KeyValueCache, rotate_pairs, scaled_dot_product_attention
from tests.support import digits
from tests.support.arrays import close, normals


def sequence(length, *leading, seed=0, d_k=3, d_v=5, dtype=np.float64):
    """Return queries, keys and values of a sequence."""
    shapes = ((*leading, length, width) for width in (d_k, d_k, d_v))
    return normals(*shapes, seed=seed, dtype=dtype)


def in_chunks(cache, arrays, sizes):
    """Return the outputs of all chunks, one after the other."""
    outputs, start = [], 0
    for size in sizes:
        outputs.append(cache.attend(*(array[..., start : start + size, :] for array in arrays)))
        start += size
    return np.concatenate(outputs, axis=-2)


def compositions(n):
    """Yield every way to cut n positions into chunks, in order."""
    for cuts in itertools.product([False, True], repeat=n - 1):
        ends = [*(i + 1 for i, cut in enumerate(cuts) if cut), n]
        yield [end - start for start, end in zip([0, *ends], ends, strict=False)]


class TestKeyValueCache:
    @pytest.mark.parametrize("length, size", [(1, 1), (2, 1), (6, 1), (5, 300)])
    def test_every_chunking_gives_the_causal_pass_of_50_digits(self, length, size):
        arrays = sequence(length)
        arrays[0] *= size
        causal = np.tri(length, dtype=bool)
        for sizes in compositions(length):
            cache = KeyValueCache()
            output = in_chunks(cache, arrays, sizes)
            assert len(cache) == length
            assert digits.attention_error(output, *arrays, mask=causal) <= 4, sizes

    @given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(0, 10**6))
    def test_chunks_may_be_empty_and_of_any_size(self, sizes, seed):
        arrays = sequence(sum(sizes), 2, seed=seed)
        cache = KeyValueCache()
        output = in_chunks(cache, arrays, sizes)
        close(output, scaled_dot_product_attention(*arrays, causal=True))
        assert len(cache) == sum(sizes)

    def test_an_empty_chunk_gives_an_empty_output_and_settles_the_shapes(self):
        cache = KeyValueCache()
        assert len(cache) == 0
        assert cache.attend(*sequence(0, 2)).shape == (2, 0, 5)
        with pytest.raises(ValueError, match="only their lengths"):
            cache.attend(*sequence(1, 2, d_k=4))
        cache.attend(*sequence(1, 2))
        cache.attend(*sequence(0, 2))
        assert len(cache) == 1

    def test_the_storage_doubles_so_that_few_rows_are_copied(self):
        arrays = sequence(100)
        cache = KeyValueCache()
        capacities, start = [], 0
        for size in [1] * 5 + [20, 1, 60]:
            cache.attend(*(array[start : start + size] for array in arrays))
            start += size
            storage = cache.keys.base
            assert storage.shape[-2] == cache.values.base.shape[-2]
            capacities.append(storage.shape[-2])
        assert capacities == [1, 2, 4, 4, 8, 25, 50, 100]

    def test_the_cache_keeps_copies(self):
        arrays = sequence(6)
        expected = in_chunks(KeyValueCache(), arrays, [3, 3])
        chunk = [array[:3].copy() for array in arrays]
        cache = KeyValueCache()
        first = cache.attend(*chunk)
        for array in (*chunk, first):
            array[...] = np.nan
        np.testing.assert_array_equal(cache.attend(*(a[3:] for a in arrays)), expected[3:])

    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
    def test_a_copy_goes_on_by_itself(self, copied):
        arrays, others = sequence(7), sequence(7, seed=1)
        cache = KeyValueCache()
        in_chunks(cache, [a[:3] for a in arrays], [1, 1, 1])  # room for one more
        branch = copied(cache)
        for mine, its in zip(arrays, others, strict=True):
            its[:3] = mine[:3]
        a = in_chunks(cache, [x[3:4] for x in arrays], [1])
        b = in_chunks(branch, [x[3:] for x in others], [1, 3])
        c = in_chunks(cache, [x[4:] for x in arrays], [1, 2])
        assert (len(cache), len(branch)) == (7, 7)
        close(np.concatenate([a, c]), in_chunks(KeyValueCache(), arrays, [7])[3:])
        close(b, in_chunks(KeyValueCache(), others, [7])[3:])

    def test_a_nan_shows_from_its_position_on(self):
        arrays = sequence(6)
        arrays[1][3, 1] = arrays[2][3, 4] = np.nan
        output = in_chunks(KeyValueCache(), arrays, [2, 2, 2])
        np.testing.assert_array_equal(np.isnan(output).all(axis=-1), np.arange(6) >= 3)
        assert np.isfinite(output[:3]).all()

    def test_rotating_from_the_length_of_the_cache_on_is_rotating_the_whole(self):
        query, key, value = sequence(6, d_k=4)
        cache, outputs = KeyValueCache(), []
        for part in (slice(0, 1), slice(1, 4), slice(4, 6)):
            at = len(cache) + np.arange(part.stop - part.start)
            turned = rotate_pairs(query[part], at), rotate_pairs(key[part], at)
            outputs.append(cache.attend(*turned, value[part]))
        turned = (rotate_pairs(array, np.arange(6)) for array in (query, key))
        full = scaled_dot_product_attention(*turned, value, causal=True)
        close(np.concatenate(outputs), full)


# Shapes and dtypes of query, key and value that a cache of (2, 3, 3) and (2, 3, 5) refuses.
MISUSE = """
(2, 1, 3) (2, 1, 3) (2, 1, 4) ddd
    value (2, 1, 4) and cached value (2, 3, 5): only their lengths, the axis before the last, may
    differ
(2, 1, 4) (2, 1, 4) (2, 1, 5) ddd
    key (2, 1, 4) and cached key (2, 3, 3): only their lengths, the axis before the last, may differ
(4, 1, 3) (4, 1, 3) (4, 1, 5) ddd
    key (4, 1, 3) and cached key (2, 3, 3): only their lengths, the axis before the last, may differ
(1, 1, 3) (1, 1, 3) (1, 1, 5) ddd
    key (1, 1, 3) and cached key (2, 3, 3): only their lengths, the axis before the last, may differ
(2, 1, 3) (2, 1, 3) (1, 5) ddd
    value (1, 5) and cached value (2, 3, 5): only their lengths, the axis before the last, may
    differ
(4, 1, 3) (2, 1, 3) (2, 1, 5) ddd
    query (4, 1, 3) and key (2, 1, 3) and value (2, 1, 5): the axes before the last two must be
    equal, or 1, or absent; heads that share keys and values: repeat_key_value_heads
(2, 1, 4) (2, 1, 3) (2, 1, 5) ddd
    query (2, 1, 4) and key (2, 1, 3): they must have the same width d_k, got 4 and 3
(2, 2, 3) (2, 1, 3) (2, 1, 5) ddd
    query (2, 2, 3) and key (2, 1, 3): they must have the same length, got 2 and 1
(2, 1, 3) (2, 1, 3) (2, 2, 5) ddd
    key (2, 1, 3) and value (2, 2, 5): they must have the same length, got 1 and 2
(2, 1, 3) (2, 1, 3) (2, 1, 5) dfd
    key has dtype float32, and the cached key float64: they must be the same
(2, 1, 3) (2, 1, 3) (2, 1, 5) dde
    value has dtype float16, and the cached value float64: they must be the same
(2, 1, 3) (2, 1, 3) (2, 1, 5) ddD
    value must hold real numbers, got dtype complex128
"""
REFUSED = [case.split("\n", 1) for case in re.split(r"\n(?=\()", MISUSE.strip())]


class TestWhatIsRemembered:
    def test_keys_and_values_can_be_read_and_not_written(self):
        arrays = sequence(5, 2)
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
        in_chunks(cache, sequence(3, dtype=np.float32), [3])
        assert repr(cache) == "KeyValueCache(3 positions, d_k = 3, d_v = 5, float32)"
        batched = KeyValueCache()
        in_chunks(batched, sequence(3, 2, 7), [3])
        expected = "KeyValueCache(3 positions, d_k = 3, d_v = 5, leading axes (2, 7), float64)"
        assert repr(batched) == expected

    @pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
    def test_a_step_copies_and_casts_no_cache(self, dtype):
        keys = np.ones((8, 2000, 64), dtype)  # 2 or 4 MB, and twice that with the values
        cache = KeyValueCache()
        cache.attend(*[keys] * 3, mask=False)  # filled without computing
        cache.attend(*[keys[:, :1]] * 3)  # the storage grows here
        tracemalloc.start()
        cache.attend(*[keys[:, :1]] * 3)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1.2e6  # the blocks of one step

    @pytest.mark.parametrize("given, message", REFUSED)
    def test_misuse_is_named_and_leaves_the_cache_as_it_was(self, given, message):
        shapes = re.findall(r"\((.*?)\)", given)
        wrong = [
            np.ones([int(size) for size in shape.split(",")], dtype)
            for shape, dtype in zip(shapes, given.split()[-1], strict=True)
        ]
        arrays = sequence(6, 2)
        expected = in_chunks(KeyValueCache(), arrays, [3, 3])
        cache = KeyValueCache()
        in_chunks(cache, arrays, [3])
        for _ in range(2):
            with pytest.raises((TypeError, ValueError)) as caught:
                cache.attend(*wrong)
            assert str(caught.value) == " ".join(message.split())
            assert caught.type is (TypeError if "dtype" in message else ValueError)
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
        assert cache.attend(*sequence(1, 2, d_k=5, d_v=7)).shape == (2, 1, 7)
