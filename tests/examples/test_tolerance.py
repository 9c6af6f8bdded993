"""How far a result may be off: never less than rounding takes, and not enough for a slip."""

import itertools
from collections.abc import Mapping

import ml_dtypes
import numpy as np
import pytest

import selfattn_ref
from selfattn_ref.worked_examples import Tolerance, WorkedExampleMismatch, load
from selfattn_ref.worked_examples._tolerance import by_call, exponent, rounded
from selfattn_ref.worked_examples.slips import SLIPS
from tests.examples.each import PLAIN, each
from tests.support import digits
from tests.support.kernels import ADDING, FOLDING, MERGING, Kernel, true_gradients, truth

EVERY_CALL = [call for call in PLAIN if call.expected is not None]
ATTENTION = [call for call in EVERY_CALL if call.function == "scaled_dot_product_attention"]
WIDE_AND_NARROW = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]
NAMES = "query", "key", "value", "d_output"
ZERO = Tolerance(0.0, 0.0)
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
    lead = call.expected.shape[:-2]
    arrays = [np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in arrays]
    shape = (*lead, *(x.shape[-2] for x in arrays[:2]))
    mask = np.broadcast_to(given.pop("mask"), shape)
    bias = np.broadcast_to(given.pop("bias", 0.0), shape)
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
        result = np.divide(mixed, total, out=np.zeros_like(mixed), where=total != 0)
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
        arguments |= {n: x for n, x in call.arguments.items() if n == "positions"}
        result = getattr(selfattn_ref, call.function)(**arguments)
        # A plain number of Python has no dtype that would say how it was computed.
        call.check(dtype(result) if isinstance(result, float) else result)


def problem(seed, dtype):
    """Return random arrays of at most 24 bits, some of them hard, and options."""
    rng = np.random.default_rng(seed)
    n, d = rng.choice([1, 2, 3, 5, 15, 16, 17, 33, 64, 65, 130]), rng.choice([1, 2, 4, 8, 16])
    query, key, value = (rng.normal(size=s) for s in ((2, d), (n, d), (n, 2)))
    query *= 10.0 ** rng.uniform(-2, 1.5)
    hard = rng.integers(5)
    key = (0 * key, key + 30, key * np.linspace(0, 3, n)[:, None], key, key)[hard]
    value = 0 * value + 0.1 if hard == 4 else value
    options = {"scale": float(np.float32(rng.choice([1.0, d**-0.5, 0.3])))}
    if rng.random() < 0.3:
        options["soft_cap"] = float(rng.choice([0.5, 5, 50]))
    if rng.random() < 0.3:
        options["bias"] = rounded(rng.normal(size=(2, n)) * 3, np.dtype(dtype).name)
    if rng.random() < 0.3:
        options["mask"] = (rng.random((2, n)) < 0.6) | (np.arange(n) == 0)
    return [x.astype(np.float32).astype(dtype) for x in (query, key, value)], options


def some_kernel(seed, dtype):
    """Return a right kernel, at random."""
    rng = np.random.default_rng(seed)
    narrow = np.dtype(dtype).itemsize == 2 and rng.random() < 0.7
    return Kernel(
        adding=rng.choice(list(ADDING)),
        folding=rng.choice(FOLDING),
        merging=rng.choice(MERGING),
        tile=rng.choice([1, 16, 64, 1000]),
        powers_of_two=rng.random() < 0.5,
        tree=rng.random() < 0.5,
        normalized=rng.random() < 0.5,
        stored=(lambda x: x.astype(dtype).astype(np.float32)) if narrow else None,
    )


def limits_for(function, arrays, options, parts):
    """Return what is allowed for each array of a result, with no tolerance of an example."""
    given = {n: x.astype(float) for n, x in zip(NAMES, arrays, strict=False)} | options
    name = np.dtype(arrays[0].dtype).name
    return [by_call(function, given, ZERO, part)(name) for part in parts]


class TestRightKernels:
    """Other orders of summation, folded scales, powers of two, tiles, splits and merges."""

    @pytest.mark.parametrize("dtype", WIDE_AND_NARROW, ids=lambda dtype: np.dtype(dtype).name)
    def test_a_hundred_of_each_dtype_agree(self, dtype):
        for seed in range(100):
            arrays, options = problem(seed, dtype)
            expected = truth(*arrays, **options)
            found = some_kernel(seed, dtype)(*arrays, **options).astype(float)
            (limits,) = limits_for("scaled_dot_product_attention", arrays, options, [expected])
            assert (np.abs(found - expected) <= limits).all(), seed

    @pytest.mark.parametrize("n", [3, 40, 10**5])
    @pytest.mark.parametrize("dtype", WIDE_AND_NARROW, ids=lambda dtype: np.dtype(dtype).name)
    def test_both_backward_forms_agree(self, dtype, n):
        rng = np.random.default_rng(n)
        shapes = (2, 2), (n, 2), (n, 2), (2, 2)
        normal = [rng.normal(size=shape) for shape in shapes]
        equal = [normal[0], 0 * normal[1] + 1, 0 * normal[2] + 0.1, normal[3]]
        factors = 9, np.linspace(0, 1, n)[:, None], 1, 1
        growing = [x * f for x, f in zip(normal, factors, strict=True)]
        for case, cap in itertools.product((normal, equal, growing), (None, 2.0)):
            arrays = [x.astype(np.float32).astype(dtype) for x in case]
            options = {"scale": 1.0, "soft_cap": cap, "bias": rng.choice([0.5, 1.0], (2, n))}
            expected = true_gradients(*arrays, **options)
            limits = limits_for("streaming_attention_vjp", arrays, options, expected)
            options["bias"] = options["bias"].astype(dtype)
            for vjp in (
                selfattn_ref.scaled_dot_product_attention_vjp,
                selfattn_ref.streaming_attention_vjp,
            ):
                back = vjp(*arrays, **options)
                parts = [x.astype(float) for x in (*back, back.d_bias)]
                for part, true, limit in zip(parts, expected, limits, strict=True):
                    assert (np.abs(part - true) <= limit).all()
                    if n == 3 and case is normal and dtype is np.float32:
                        assert (limit <= 1e-3 * np.abs(true).max()).all()  # else it sees little

    def test_gradients_agree_if_every_weight_is_off_by_as_much_as_it_may(self):
        # Nearly all of the weight is on one key, so the slope of the other feels all of it.
        off = exponent(2.0**-23, keys=2, width=1, products=0.0, scores=0.0, biases=4.0)
        arrays = [np.array(x, np.float32) for x in ([[0]], [[0], [0]], [[1], [-1]], [[1]])]
        expected = true_gradients(*arrays, scale=1.0, soft_cap=None, bias=np.array([[4.0, 0.0]]))
        given = {"scale": 1.0, "bias": np.array([[4.0, 0.0]])}
        limits = limits_for("streaming_attention_vjp", arrays, given, expected)
        bias = np.array([[4.0 - off, off]])
        found = true_gradients(*arrays, scale=1.0, soft_cap=None, bias=bias)
        for part, true, limit in zip(found, expected, limits, strict=True):
            assert (np.abs(part - true) <= limit).all()


def as_tf32(x):
    """Round to ten bits after the point, as products in TF32 do."""
    bits = x.view(np.uint32)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) & 0xFFFFE000).astype(np.uint32).view(np.float32)


def in_16_bits(dtype):
    """Return a sum whose every step is rounded to a dtype."""

    def add(terms):
        total = np.zeros_like(terms[0])
        for term in terms:
            total = (total + term).astype(dtype).astype(total.dtype)
        return total

    return add


def stored(dtype):
    return {"stored": lambda x: x.astype(dtype).astype(x.dtype)}


FAULTS = {
    "sums in float16": {"adding": in_16_bits(np.float16)},
    "sums in bfloat16": {"adding": in_16_bits(ml_dtypes.bfloat16)},
    "weights in float16": stored(np.float16),
    "weights in bfloat16": stored(ml_dtypes.bfloat16),
    "a denominator with 1e-6": {"epsilon": 1e-6},
}
OF_FLOAT32 = {"products as in TF32": {"factors": as_tf32}}
OF_FLOAT64 = {
    "weights in float32": stored(np.float32),
    "an exponential within 1e-6": {"exp": lambda x: np.exp(x) * (1 + 1e-6 * np.cos(9 * x))},
}


class TestWhatIsHidden:
    def test_it_changes_nothing_whatever_it_is(self):
        (query, key, value), _ = problem(5, np.float64)
        mask = np.arange(len(key)) % 3 != 1
        given = {"mask": mask, "bias": np.where(np.arange(len(key)) == 2, -np.inf, 0.5)}
        expected = truth(query, key, value, **given)
        plain = (
            [x.copy() for x in (query, key, value)],
            {"scale": 1.0, "mask": mask & (given["bias"] > 0), "bias": 0.5},
        )
        for hidden in (np.nan, np.inf, 1000.0):
            key[~mask], value[~mask] = hidden, -hidden
            for dtype in ("float64", "float32", "float16", "bfloat16"):
                found, known = (
                    by_call(
                        "streaming_attention", dict(zip(NAMES, a, strict=False)) | o, ZERO, expected
                    )(dtype)
                    for a, o in (([query, key, value], given | {"scale": 1.0}), plain)
                )
                np.testing.assert_array_equal(found, known)
                assert np.isfinite(found).all()

    def test_a_result_that_is_no_number_leaves_a_limit_for_the_others(self):
        expected = np.array([[np.nan], [np.inf], [1.0]])
        query, key, value = np.ones((3, 1)), np.ones((2, 1)), np.ones((2, 1))
        given = {"query": query, "key": key, "value": value}
        limits = by_call("streaming_attention", given, Tolerance(1e-13, 1e-13), expected)("float32")
        assert np.isfinite(limits).all()


class TestPrecisionFaults:
    """Each is beyond what at least one published call allows."""

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_each_is_seen(self, dtype):
        plain = [call for call in ATTENTION if call.expected.ndim == 2 and not call.conventions]
        faults = FAULTS | (OF_FLOAT32 if dtype is np.float32 else OF_FLOAT64)
        for name, fault in faults.items():
            seen = [call for call in plain if self.differs(call, Kernel(**fault), dtype)]
            assert seen, name
        assert not any(self.differs(call, Kernel(), dtype) for call in plain)

    def differs(self, call, kernel, dtype):
        given = options(call)
        given.setdefault("scale", call.args[0].shape[-1] ** -0.5)
        with np.errstate(over="ignore", invalid="ignore"):  # some sums are beyond 16 bits
            result = kernel(*(x.astype(dtype) for x in call.args), **given)
        limits = call.allowed(np.dtype(dtype).name)["result"]
        return not (np.abs(result - call.expected) <= limits).all()


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
        most = (6 * len(call.args[1]) * reach * (1 + scores.max()) + 1.1) * value * unit
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
