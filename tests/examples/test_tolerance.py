"""How far a result may be off: never less than rounding takes, and not enough for a slip."""

from collections.abc import Mapping

import ml_dtypes
import numpy as np
import pytest

import selfattn_ref
from selfattn_ref.worked_examples import WorkedExampleMismatch, cases, load
from selfattn_ref.worked_examples._tolerance import rounded
from selfattn_ref.worked_examples.slips import SLIPS
from tests.examples.each import IN_USE, each
from tests.support import digits

ATTENTION = [call for _, call in cases() if call.expected is not None]
EVERY_CALL = [call for i in IN_USE for call in load(i).calls if call.expected is not None]
NARROW = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


narrow_types = pytest.mark.parametrize("dtype", NARROW.values(), ids=NARROW)


def options(call):
    """Return mask, bias and numbers for an oracle that knows no causal mask."""
    keywords = call.kwargs
    shape = (call.args[0].shape[-2], call.args[1].shape[-2])
    mask = np.broadcast_to(keywords.pop("mask", np.True_), (*call.expected.shape[:-2], *shape))
    offset = keywords.pop("offset", 0)
    if keywords.pop("causal", False):
        mask = mask & np.tri(*shape, offset, dtype=bool)
    return {"mask": mask, **keywords}


def with_50_digits(call, arrays):
    """Return the attention of a call for other arrays, each entry rounded to float64 once."""
    given = options(call)
    mask = given.pop("mask")
    bias = np.broadcast_to(given.pop("bias", 0.0), mask.shape)
    result = np.empty(call.expected.shape)
    for index in np.ndindex(call.expected.shape[:-2]):
        query, key, value = (x[index] for x in arrays)
        table = digits.attention(query, key, value, mask=mask[index], bias=bias[index], **given)
        result[index] = np.array([[float(x) for x in row] for row in table])
    return result


def holds(dtype, *arrays):
    with np.errstate(over="ignore"):
        return all(np.isfinite(x.astype(dtype)).all() for x in arrays)


class TestNeverTooLittle:
    @each(ATTENTION, dtype=NARROW.values())
    def test_what_rounded_inputs_give_agrees(self, call, dtype):
        if not holds(dtype, *call.args):
            return
        arrays = [x.astype(dtype).astype(float) for x in call.args]
        agreement = call.check(with_50_digits(call, arrays).astype(dtype))
        assert not call.conventions or call.conventions[agreement.convention] is call.expected

    @each(ATTENTION, dtype=NARROW.values(), seed=range(3))
    def test_so_does_what_inputs_give_that_are_off_by_as_much(self, call, dtype, seed):
        if not holds(dtype, *call.args):
            return
        rng = np.random.default_rng(seed)
        arrays = [
            x + rng.choice([-1, 1], x.shape) * np.abs(x.astype(dtype).astype(float) - x)
            for x in call.args
        ]
        call.check(with_50_digits(call, arrays).astype(dtype))

    @each(ATTENTION)
    def test_textbook_attention_in_float32_agrees(self, call):
        """One rounding after the other, in an order of its own."""
        query, key, value = (x.astype(np.float32) for x in call.args)
        given = options(call)
        scale = given.get("scale")
        scale = np.float32(query.shape[-1] ** -0.5 if scale is None else scale)
        scores = np.einsum("...id,...jd->...ij", query * scale, key)
        if "soft_cap" in given:
            cap = np.float32(given["soft_cap"])
            scores = cap * np.tanh(scores / cap)
        scores = scores + np.float32(given.get("bias", 0.0))
        scores = np.where(given["mask"], scores, np.float32(-np.inf))
        shift = np.maximum(scores.max(axis=-1, keepdims=True), np.finfo(np.float32).min)
        weights = np.exp(scores - shift)
        total = weights.sum(axis=-1, keepdims=True)
        mixed = np.einsum("...ij,...jd->...id", weights, value)
        result = np.divide(mixed, total, out=np.zeros_like(mixed), where=total > 0)
        assert result.dtype == np.float32
        call.check(result)

    @each(EVERY_CALL, dtype=NARROW.values())
    def test_every_function_of_the_library_agrees_in_every_type(self, call, dtype):
        def given(value):
            floating = isinstance(value, np.ndarray) and value.dtype == np.float64
            return value.astype(dtype) if floating else value

        if not holds(dtype, *(x for x in call.arguments.values() if isinstance(x, np.ndarray))):
            return
        arguments = {name: given(value) for name, value in call.arguments.items()}
        result = getattr(selfattn_ref, call.function)(**arguments)
        # A plain number of Python has no dtype that would say how it was computed.
        call.check(dtype(result) if isinstance(result, float) else result)


class TestNotTooMuch:
    @each(EVERY_CALL, dtype=NARROW.values())
    def test_twice_what_is_allowed_does_not_agree(self, call, dtype):
        name = np.dtype(dtype).name
        parts = call.expected if isinstance(call.expected, Mapping) else {"result": call.expected}
        if parts.get("result", np.zeros(0)).dtype == np.bool_ or call.conventions:
            return
        for part, limits in call.allowed(name).items():
            off = {n: np.array(x, dtype) for n, x in parts.items()}
            off[part] = rounded(parts[part] + 2 * limits, name).astype(dtype)
            if np.isfinite(off[part].astype(float)).all():
                with pytest.raises(WorkedExampleMismatch, match=f"  {part}: "):
                    call.check(off.get("result", off))

    @narrow_types
    @pytest.mark.parametrize("example_id", ["SA023", "SA036", "SA037"])
    def test_where_nothing_is_rounded_before_little_more_than_the_last_bits_may_differ(
        self, example_id, dtype
    ):
        call = next(c for c in load(example_id).calls if c.function.startswith("scaled_dot"))
        unit = float(ml_dtypes.finfo(dtype).eps)
        reach = 1 if dtype is np.float32 else 2.0**-23 / unit
        scores = np.abs(call.args[0]) @ np.abs(call.args[1]).T
        value = np.abs(call.args[2]).max()
        most = (4 * reach * (1 + scores.max()) + 1.1) * value * unit
        assert (call.allowed(np.dtype(dtype).name)["result"] <= most).all()

    @pytest.mark.parametrize("slip", SLIPS.values(), ids=SLIPS)
    def test_a_slip_is_caught_in_float32_too(self, slip):
        def single(*args, **kwargs):
            return slip(*args, **kwargs).astype(np.float32)

        if any(call.differs_from(slip) for call in ATTENTION):
            assert any(call.differs_from(single) for call in ATTENTION)

    def test_bfloat16_is_rounded_to_even_as_everywhere(self):
        rng = np.random.default_rng(0)
        x = (rng.normal(size=5000) * 10.0 ** rng.integers(-30, 30, 5000)).astype(np.float32)
        x = np.append(x, np.float32([1 + 2**-8, 1 + 3 * 2**-8, -0.0]))  # two ties
        expected = x.astype(ml_dtypes.bfloat16).astype(float)
        assert np.array_equal(rounded(x.astype(float), "bfloat16"), expected)
