"""The same bits whatever the memory layout of the inputs, in every function of arrays."""

import tracemalloc

import numpy as np
import pytest

import selfattn_ref
from selfattn_ref import AttentionState, KeyValueCache


def numbers(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape)


def cached(query, key, value, **options):
    cache = KeyValueCache()
    first = cache.attend(query, key, value, **options)
    return first, cache.attend(query, key, value), cache.keys, cache.values


def state_of(scores, value, mask):
    state = AttentionState.of(scores, value, mask=mask)
    return state.shift, state.total, state.output


def merged(scores, value):
    state = AttentionState(scores[..., :1], np.abs(scores[..., 1:2]), scores[..., :7])
    both = state.merge(AttentionState.of(scores, value))
    return both.shift, both.total, both.output, both.log_sum_exp


Q, K, V = numbers(2, 3, 65, 5), numbers(2, 3, 67, 5), numbers(2, 3, 67, 7)
X, W, U = numbers(2, 17, 12), numbers(12, 12), numbers(12, 12, seed=1)
MASK, BIAS = numbers(65, 67) > -1, numbers(2, 1, 65, 67)
SQUARE = {"mask": numbers(17, 17) > -1, "bias": numbers(17, 17)}
OPTIONS = {"mask": MASK, "bias": BIAS}
SCORES = numbers(3, 65, 67)
HEADS = {"num_heads": 4}
D_OUT = numbers(2, 3, 65, 7)

# name: the arrays and options of one call, of sizes at which blocked and plain loops differ.
CALLS = {
    "attention_state": ((Q, K, V), OPTIONS),
    "attention_weights": ((SCORES,), {"mask": MASK}),
    "bits_per_token": ((SCORES, np.arange(195).reshape(3, 65) % 67), {}),
    "cosine_similarity": ((Q, K), {}),
    "cross_entropy": ((SCORES, np.arange(195).reshape(3, 65) % 67), {}),
    "dot_similarity": ((Q, K), {}),
    "euclidean_distance": ((Q, K), {}),
    "log_softmax": ((SCORES, 1), {}),
    "log_sum_exp": ((SCORES,), {"mask": MASK}),
    "merge_heads": ((Q,), {}),
    "multi_head_attention": ((X, X, W, U, W, U), HEADS | SQUARE),
    "padding_mask": ((np.arange(65) % 7, 7), {}),
    "perplexity": ((SCORES, np.arange(195).reshape(3, 65) % 67), {}),
    "repeat_key_value_heads": ((Q, 6), {}),
    "rotate_pairs": ((X, np.arange(34.0).reshape(2, 17)), {}),
    "scaled_dot_product_attention": ((Q, K, V), OPTIONS),
    "scaled_dot_product_attention_vjp": ((Q, K, V, D_OUT), OPTIONS),
    "scaled_scores": ((Q, K), {}),
    "segment_mask": ((np.arange(65) // 9, np.arange(67) // 8), {}),
    "self_attention": ((X, W, U, W), SQUARE),
    "self_attention_vjp": ((X, W, U, W, X), SQUARE),
    "soft_cap": ((SCORES, 2.0), {}),
    "softmax": ((SCORES, 0), {}),
    "softmax_vjp": ((np.abs(SCORES), SCORES), {}),
    "split_heads": ((X, 4), {}),
    "streaming_attention": ((Q, K, V), {"block_size": 33, **OPTIONS}),
    "streaming_attention_vjp": ((Q, K, V, D_OUT), {"block_size": 33, **OPTIONS}),
}
OTHERS = {
    "KeyValueCache": (cached, (Q, K[..., :65, :], V[..., :65, :]), {"mask": MASK[:, :65]}),
    "AttentionState": (state_of, (SCORES, numbers(67, 7), MASK), {}),
    "AttentionState.merge": (merged, (SCORES, numbers(3, 67, 7)), {}),
}
WITHOUT_ARRAYS = {
    *("AttentionGradients", "SelfAttentionGradients"),
    *("causal_mask", "sinusoidal_encoding", "window_mask"),
}
LAYOUTS = {
    "Fortran": np.asfortranarray,
    "every second": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[..., ::-1].copy()[..., ::-1],
    "rows apart": lambda a: np.repeat(a, 3, axis=0)[::3],
    "axes of another order": lambda a: a.copy().T.copy().T if a.ndim < 3 else moved(a),
    "read-only": lambda a: frozen(a),
}


def moved(array):
    """Return the array as (B, T, H, d) in memory."""
    return np.ascontiguousarray(array.swapaxes(0, -2)).swapaxes(0, -2)


def frozen(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def parts(result):
    if isinstance(result, AttentionState):
        return [result.shift, result.total, result.output]
    found = list(result) if isinstance(result, tuple) else [result]
    bias = getattr(result, "d_bias", None)
    return found if bias is None else [*found, bias]


def laid_out(layout, value):
    return layout(value) if isinstance(value, np.ndarray) else value


def test_every_name_is_asked():
    others = {name.split(".")[0] for name in OTHERS}
    assert CALLS.keys() | others | WITHOUT_ARRAYS == set(selfattn_ref.__all__)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", [*CALLS, *OTHERS])
def test_the_layout_changes_no_bit(name, layout, dtype):
    function, arrays, options = OTHERS.get(name) or (getattr(selfattn_ref, name), *CALLS[name])

    def typed(value):
        real = isinstance(value, np.ndarray) and value.dtype == np.float64
        return value.astype(dtype) if real else value

    arrays, options = [typed(a) for a in arrays], {k: typed(v) for k, v in options.items()}
    expected = function(*arrays, **options)
    found = function(
        *(laid_out(layout, a) for a in arrays),
        **{name: laid_out(layout, value) for name, value in options.items()},
    )
    for one, other in zip(parts(found), parts(expected), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


def test_what_is_broadcast_along_leading_axes_is_not_copied():
    # The keys of one sequence, for a thousand: copied, they would take 400 MB.
    query, key = np.ones((1000, 1, 64)), np.broadcast_to(np.ones((800, 64)), (1000, 800, 64))
    tracemalloc.start()
    selfattn_ref.streaming_attention(query, key, key, block_size=(1, 800))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2e7
