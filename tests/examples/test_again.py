"""Each call is made several times, in other memory: a function that is right but once is wrong."""

import unittest
from dataclasses import replace

import numpy as np
import pytest

import selfattn_ref
from selfattn_ref.worked_examples import WorkedExampleMismatch, generated, load
from selfattn_ref.worked_examples._layouts import contiguous
from tests.support import loops

CAUSAL = load("SA016").calls[1]
attend = selfattn_ref.scaled_dot_product_attention
BUFFER = np.zeros((4, 8))
KEPT: dict[int, np.ndarray] = {}
FIRST: dict[tuple[int, ...], np.dtype] = {}
CALLS_MADE: list[int] = []


def flat(x):
    """Return the numbers as they lie in memory, which are others if there are gaps."""
    return np.lib.stride_tricks.as_strided(x, x.shape, (x.shape[1] * x.itemsize, x.itemsize))


def in_place(x):
    x *= 1.0
    return True


def add_one(x):
    if x.flags.writeable:
        x += 1.0


def into(memory, output):
    if memory.flags.writeable:
        memory[...] = output
        return memory
    return output


def staged(name, x):
    """Return an array, and behind it what a longer one has left in a buffer."""
    kept = KEPT.get(name)
    if kept is None or kept.shape[-2] < x.shape[-2]:
        KEPT[name] = x.copy()
        return x
    return np.concatenate([x, kept[..., x.shape[-2] :, :]], axis=-2)


def count():
    CALLS_MADE.append(1)
    # The first two have other numbers, in float32 and in float64, and the third is compared.
    return 1.0 if len(CALLS_MADE) <= 3 else 2.0


def as_first(x):
    """Return an array in the dtype in which one of its shape came first."""
    return x.astype(FIRST.setdefault(x.shape, x.dtype))


class TestAgainAndInOtherMemory:
    """Each call is made several times; a function that is right but once is wrong."""

    HEADS = load("SA027").calls[0]
    MASK = load("SA016").calls[0]
    SELF = load("SA097").calls[1]
    SHARED = load("SA093").calls[0]

    @pytest.mark.parametrize(
        "call, wrong, message",
        [
            (MASK, lambda q, k, v, mask: attend(q, flat(k), v, mask=mask), "differs for strided "
             "inputs:\n    result: 24 of 32 entries differ"),
            (MASK, lambda q, k, v, mask: attend(q, k if k.flags.c_contiguous else k[::-1], v,
             mask=mask), "differs for transposed inputs:\n"),
            (MASK, lambda q, k, v, mask: attend(q, np.abs(k.strides[0]) * k / k.strides[0], v,
             mask=mask), "differs for reversed inputs:\n"),
            (HEADS, lambda q, k, v: attend(q, k, v if k.strides[0] else np.abs(v)),
             "differs for broadcast inputs:\n"),
            (MASK, lambda q, k, v, mask: in_place(q) and attend(q, k, v, mask=mask),
             "differs for read-only inputs: it raises ValueError: "),
            (MASK, lambda q, k, v, mask: (attend(q, k, v, mask=mask), add_one(k))[0],
             "\n  changed its input key\n"),
            (MASK, lambda q, k, v, mask: into(v, attend(q, k, v, mask=mask)),
             "its output is its input's memory: value"),
            (MASK, lambda q, k, v, mask: into(v if not v.flags.c_contiguous else BUFFER.copy(),
             attend(q, k, v, mask=mask)), "inputs: its output is its input's memory: value"),
            (MASK, lambda q, k, v, mask: into(BUFFER, attend(q, k, v, mask=mask)),
             "differs when called again: a later call writes to the memory of its output"),
            (MASK, lambda q, k, v, mask: attend(q, KEPT.setdefault(id(k), k.copy()), v, mask=mask),
             "differs when called again, with other numbers in the same arrays:\n"),
            (SELF, lambda q, k, v, causal: attend(q, k, v, causal=causal) * (1 + (q is k)),
             "differs for identical inputs"),
            (SHARED, lambda q, k, v: attend(q, k, v) * (1 + (k.ndim == q.ndim)),
             "differs for broadcast inputs"),
            (SHARED, lambda q, k, v: attend(q, staged("key", k), staged("value", v)),
             "differs when called again"),
            (MASK, lambda q, k, v, mask: attend(q, k, v, mask=mask) * count(), "differs when "
             "called again"),
        ],
    )  # fmt: skip
    def test_what_differs_is_said(self, call, wrong, message):
        CALLS_MADE.clear()
        KEPT.clear()
        with pytest.raises(WorkedExampleMismatch) as caught:
            call.test(wrong)
        assert message in str(caught.value)
        assert caught.value.slips == ()
        assert "entries differ" not in str(caught.value).splitlines()[1]

    def test_what_was_made_for_float32_is_not_used_again(self):
        FIRST.clear()
        message = "it is within what float32 allows, but its dtype is wider"
        with pytest.raises(WorkedExampleMismatch, match=message):
            self.SHARED.test(lambda q, k, v: attend(*map(as_first, (q, k, v))).astype(q.dtype))

    def test_an_option_that_is_kept_for_a_shape_and_a_dtype_is_noticed(self):
        kept = {}

        def compiled(query, key, value, *, soft_cap):
            cap = kept.setdefault((query.shape, query.dtype), soft_cap)
            return attend(query, key, value, soft_cap=cap)

        with pytest.raises(WorkedExampleMismatch):
            load("SA039").calls[1].test(compiled)

    def test_positions_are_no_numbers_to_compute_with(self):
        call = load("SA096").calls[0]
        dtypes = {name: x.dtype.name for name, x in contiguous(call, "float16").items()}
        assert dtypes == {"x": "float16", "positions": "float64"}

    def test_what_a_function_does_not_take_is_skipped(self):
        with pytest.raises(unittest.SkipTest, match=r"^attention takes no causal$"):
            CAUSAL.test(loops.attention)
        assert not CAUSAL.taken_by(loops.attention)
        assert CAUSAL.taken_by(lambda query, key, value, causal: None)
        assert CAUSAL.taken_by(lambda *args, **keywords: None)

    def test_a_capability_that_is_not_in_the_signature_is_asked_for_in_other_words(self):
        call = replace(CAUSAL, arguments={**CAUSAL.arguments, "window": (1, None)})
        assert call.taken_by(lambda query, key, value, *, window, causal: None)
        assert call.taken_by(lambda *args, **keywords: None)  # which takes a mask
        assert not call.taken_by(lambda query, key, value, *, causal: None)
        window = generated.load("G1-63x63-packed-window-sums").call
        assert window.test(attend).entries == f"{len(window.entries['output'])} numbers"
        with pytest.raises(WorkedExampleMismatch):
            window.test(lambda query, key, value, *, mask: attend(query, key, value))
