"""The catalog of wrong attentions: each is caught, named, and wrong in one step."""

import ast
import inspect
import itertools
import re
from dataclasses import replace

import numpy as np
import pytest

import selfattn_ref
from selfattn_ref.worked_examples import WorkedExampleMismatch, cases, load, report, slips
from selfattn_ref.worked_examples._capabilities import CAPABILITIES
from selfattn_ref.worked_examples._claims import OPTIONS
from selfattn_ref.worked_examples._slip import attention, masked_scores, raw_scores, softmax
from selfattn_ref.worked_examples._slips_weights import in_blocks
from selfattn_ref.worked_examples._tolerance import visible
from tests.examples.each import each
from tests.support import loops

CALLS = [
    call
    for _, call in cases()
    if call.expected is not None and not {*call.kwargs} & {*CAPABILITIES}
]
EVERY_SLIP = pytest.mark.parametrize("slip", slips.SLIPS.values(), ids=slips.SLIPS)
MATRIX = slips.matrix()

# What needs more than attention with a mask shows in the example that was made for it.
MADE_FOR = {
    "bias-ignored": "SA038",
    "bias-subtracted": "SA038",
    "bias-before-scale": "SA038",
    "cap-ignored": "SA039",
    "cap-before-scale": "SA039",
    "cap-clipped": "SA039",
    "cap-not-multiplied-back": "SA039",
    "cap-multiplies-the-score": "SA039",
    "mask-of-the-first-sequence": "SA041",
    "offset-ignored": "SA043",
    "cache-off-by-one": "SA043",
    "sentinel-too-small": "SA047",
    "maximum-not-subtracted": "SA047",
    "tile-for-repeat": "SA027",
    "mask-dropped-under-causal": "SA044",
    "causal-dropped-under-mask": "SA044",
    "maximum-starts-at-zero": "SA047",
    "cap-after-mask": "SA080",
    "scale-ignored-under-cap": "SA080",
    "bias-dropped-under-causal": "SA080",
    "bias-dropped-under-mask": "SA080",
    "mask-dropped-under-bias": "SA080",
    "aligned-with-the-last-key": "SA080",
    "bias-of-the-first-head": "SA081",
    "mask-of-another-sequence": "SA081",
    "hidden-keys-in-the-maximum": "SA083",
    "maximum-clamped": "SA084",
    "causal-strict": "SA016",
    "mask-inverted": "SA016",
}


def accused(check, result):
    """Return the slips that a check names, which has to find the result wrong."""
    with pytest.raises(WorkedExampleMismatch) as caught:
        check(result)
    return caught.value.slips


def loop(query, key, value, *, causal=False, offset=0, mask=True, **keywords):
    """Return attention by the loops over plain numbers."""
    shape = (query.shape[-2], key.shape[-2])
    leading = np.broadcast_shapes(query.shape[:-2], np.shape(mask)[:-2])
    seen = np.broadcast_to(mask, (*leading, *shape))
    if causal:
        seen = seen & np.tri(*shape, offset, dtype=bool)
    return loops.attention(query, key, value, mask=seen, **keywords)


def by_scores(weigh):
    """Return attention with something else in place of the softmax."""

    def attention(query, key, value, **keywords):
        with np.errstate(all="ignore"):
            return weigh(masked_scores(query, key, **keywords)) @ value

    return attention


def with_changed(**changed):
    """Return attention in which arguments are changed before they are used."""

    def attention(query, key, value, **keywords):
        given = {"query": query, "key": key, "value": value, **keywords}
        given |= {name: change(given[name]) for name, change in changed.items() if name in given}
        return right(**given)

    return attention


def with_one_more(scores):
    exponentials = np.exp(scores)
    return exponentials / (1 + exponentials.sum(axis=-1, keepdims=True))


def right_if_not(condition, otherwise):
    """Return what is right, unless a condition on the keywords holds."""
    return lambda *args, **keywords: (otherwise if condition(keywords) else right)(
        *args, **keywords
    )


right = selfattn_ref.scaled_dot_product_attention
INVENTED = {
    "one more in the denominator": by_scores(with_one_more),
    "NaN for an offset of 2": right_if_not(
        lambda given: given.get("offset", 0) == 2,
        lambda query, key, value, **keywords: np.full((*query.shape[:-1], value.shape[-1]), np.nan),
    ),
    "a tenth of the softmax's temperature": by_scores(lambda s: softmax(s * 1.1)),
    "the second power": by_scores(lambda s: softmax(s) ** 2),
    "the first key twice": with_changed(
        key=lambda x: np.concatenate([x[..., :1, :], x[..., 1:, :][..., ::-1, :]], axis=-2)
    ),
    "noise of 1e-6": lambda *args, **keywords: right(*args, **keywords) + 1e-6,
    "the last column forgotten": lambda *args, **keywords: (
        right(*args, **keywords) * np.r_[np.ones(args[2].shape[-1] - 1), 0]
    ),
    "the bias doubled": with_changed(bias=lambda x: 2 * x),
    "the cap divided by 3": with_changed(soft_cap=lambda x: x / 3),
    "a mask that also hides the first key": with_changed(
        mask=lambda x: x & (np.arange(x.shape[-1]) > 0)
    ),
    "causal without a mask only": right_if_not(
        lambda given: "mask" in given,
        lambda q, k, v, **keywords: right(q, k, v, **keywords) + v.mean(),
    ),
    "sigmoid": by_scores(lambda s: 1 / (1 + np.exp(-s))),
}


class TestTheCatalog:
    @EVERY_SLIP
    def test_a_slip_has_a_name_an_effect_a_note_and_perhaps_a_place_where_it_was_seen(self, slip):
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", slip.id)
        assert slips.SLIPS[slip.id] is slip
        assert re.fullmatch(r"([a-z]|NaN).*[^.]", slip.effect)
        assert re.fullmatch(r"[A-Z].*\.", slip.note)
        place = r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+"
        assert slip.seen is None or re.fullmatch(place, slip.seen)
        assert repr(slip) == f"{slip.id}: {slip.effect}"

    def test_no_two_say_the_same(self):
        assert len({slip.effect for slip in slips.SLIPS.values()}) == len(slips.SLIPS)

    def test_no_two_do_the_same(self):
        for one, other in itertools.combinations(slips.SLIPS.values(), 2):
            calls = MATRIX[one.id]
            assert calls != MATRIX[other.id] or any(
                not np.array_equal(slips.wrong(call)[one], slips.wrong(call)[other], equal_nan=True)
                for call in calls
            )

    @each(CALLS)
    def test_what_they_are_made_from_is_right(self, call):
        # Otherwise every slip would be caught, whatever it does.
        with np.errstate(invalid="ignore"):
            call.test(attention)
            scores = masked_scores(*call.args[:2], **call.kwargs)
            call.check(in_blocks(scores, call.args[2], rescale_sum=True, rescale_mix=True))

    def test_what_they_are_made_from_ignores_what_is_hidden(self):
        query, key, value = np.random.default_rng(0).normal(size=(3, 2, 4, 3))
        key[:, 1], value[:, 3, 0] = np.nan, np.inf
        mask = np.array([[1, 0, 1, 1], [1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 0]], bool)
        given = {"mask": mask, "scale": 0.7}
        right = selfattn_ref.scaled_dot_product_attention(query, key, value, **given)
        finite = np.isfinite(right)
        assert 0 < finite.sum() < finite.size
        for got in (
            attention(query, key, value, **given),
            in_blocks(
                masked_scores(query, key, **given), value, rescale_sum=True, rescale_mix=True
            ),
        ):
            assert np.array_equal(np.isfinite(got), finite)
            assert np.allclose(got[finite], right[finite])

    def test_none_is_asked_what_needs_a_capability(self):
        call = load("SA016").calls[0]
        assert slips.wrong(call)
        assert not slips.wrong(replace(call, arguments={**call.arguments, "window": (1, 1)}))

    @EVERY_SLIP
    def test_it_is_caught_by_the_example_that_was_made_for_it_or_by_some(self, slip):
        caught_by = {call.example for call in MATRIX[slip.id]}
        example = MADE_FOR.get(slip.id)
        assert example in caught_by if example else caught_by

    @each(CALLS)
    def test_every_call_of_attention_catches_some(self, call):
        assert any(call in caught for caught in MATRIX.values())

    def test_the_matrix_says_what_happens(self):
        for name, caught in MATRIX.items():
            for call in CALLS:
                try:
                    output = slips.SLIPS[name](*call.args, **call.kwargs)
                except ValueError:  # shapes that do not fit: everybody notices
                    assert call not in caught
                    continue
                answers = call.conventions.values() or [call.expected]
                right = any(
                    output.shape == answer.shape
                    and np.allclose(output, answer, rtol=1e-12, atol=1e-12, equal_nan=True)
                    for answer in answers
                )
                assert right != (call in caught)


# Numbers of a description that are no literals of the code, and why.
NOT_LITERAL = {
    "bias-dropped-under-mask": {2},  # counts the bias and the mask
    "block-not-masked": {0},  # the zeros
    "cap-not-multiplied-back": {-1, 1},  # the bounds of the hyperbolic tangent
    "default-scale-is-zero": {1},  # what the default means
    "every-head-reads-the-first": {0},  # where the first starts
    "hidden-scores-are-zero": {1e-9, -1e9},  # the variant that is tested below, and what was meant
    "keys-as-values": {2},  # counts the products
    "mask-added": {0, 1},  # what True and False are when they are added
    "mask-dropped-under-bias": {2},  # counts the bias and the mask
    "mask-or-causal": {2},  # counts the masks
    "one-more-in-the-sum": {0},  # a score less itself
    "powers-of-two": {"exp2"},  # here it is exp, with the factor log 2
    "scale-ignored": {1},  # what None stands for
    "scale-ignored-under-cap": {1},  # what None stands for
    "sentinel-too-small": {-10000},  # the number of the report
    "sum-left-out": {2},  # the two halves: exponentials, and their sum
    "weights-in-bfloat16": {8},  # the bits of bfloat16
}
NUMBER_WORDS = {"second": 2, "third": 3, "half": 2, "two": 2, "three": 3, "four": 4, "eight": 8}


def numbers(description):
    """Return the numbers that a text names, and the words that contain one, such as float16."""
    text = re.sub(r"\b(adds? up to .*?)\b1\b", r"\1one", description)  # what a share is
    text = text.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-")).replace(",", "")
    text = re.sub(r"\b10-(\d+)", r"1e-\1", text)
    words = re.findall(r"[a-z]+", text.lower())
    return (
        {float(one) for one in re.findall(r"(?<!\w)-?\d+(?:\.\d+)?(?:e-?\d+)?\b", text)}
        | {NUMBER_WORDS[word] for word in words if word in NUMBER_WORDS}
        | {*re.findall(r"\b[a-z]+\d+\b", text)}
    )


def literals(function):
    """Return the numbers in the code of a function and its helpers, and the words in it."""
    (code,) = ast.parse(inspect.getsource(function)).body
    nodes = [node for line in code.body for node in ast.walk(line)]
    minus = [one for one in nodes if isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.USub)]
    negative = [one.operand for one in minus if isinstance(one.operand, ast.Constant)]
    found = {-one.value for one in negative}
    for node in nodes:
        match node:
            case ast.Constant(value=value) if node not in negative:
                found.add(value)
            case ast.Attribute(attr=name):
                found.add(name)
            case ast.Name(id=name):
                helper = vars(inspect.getmodule(function)).get(name)
                if inspect.isfunction(helper) and helper.__module__ == function.__module__:
                    found |= literals(helper)
    return found


def no_literals(slip):
    return numbers(f"{slip.effect}. {slip.note}") - literals(slip.function)


class TestDescriptions:
    def test_each_number_is_in_the_code(self):
        found = {name: no_literals(slip) for name, slip in slips.SLIPS.items()}
        assert {name: one for name, one in found.items() if one} == NOT_LITERAL


class TestAccusations:
    @EVERY_SLIP
    def test_a_function_that_makes_it_is_told_so(self, slip):
        for call in {*MATRIX[slip.id][:1], *MATRIX[slip.id][-1:]}:
            with pytest.raises(WorkedExampleMismatch) as caught:
                call.test(slip)
            assert slip.id in caught.value.slips
            assert f"  consistent with the slip {slip.id}: {slip.effect}" in str(caught.value)

    def test_what_it_does_where_nobody_is_left_does_not_matter_if_the_rest_is_the_same(self):
        call = load("SA016").calls[1]
        output = slips.SLIPS["causal-strict"](*call.args, **call.kwargs)
        assert np.isnan(output[0]).all()
        for first in (0.0, call.args[2].mean(axis=0)):
            output[0] = first
            assert accused(call.check, output) == ("causal-strict",)

    @each(CALLS)
    def test_a_right_function_is_never_accused(self, call):
        call.test(loop)
        assert not call.differs_from(loop)

    def test_a_variant_is_named_in_every_dtype(self):
        # torch.masked_fill(scores, ~mask, 1e-9), in place of −1e9
        for call in MATRIX["hidden-scores-are-zero"]:
            query, key, value = call.args
            with np.errstate(invalid="ignore"):
                scores = raw_scores(query, key, **call.kwargs)
            if np.isinf(scores).any():  # of which 0 times a bias of −∞ makes NaN
                continue
            seen = visible(scores.shape, call.kwargs)
            result = softmax(np.where(seen, scores, 1e-9)) @ value
            for dtype in (np.float64, np.float32):
                assert "hidden-scores-are-zero" in accused(call.check, result.astype(dtype))

    @each(CALLS)
    def test_what_is_right_in_float32_is_no_slip(self, call):
        signs = np.random.default_rng(0).choice([-1.0, 1.0], call.expected.shape)
        answers = (call.conventions or {"": call.expected}).values()
        for answer in filter(lambda one: np.isfinite(one).any(), answers):
            for part in (0.01, 0.999):
                off = part * signs * call.allowed("float32")["result"]
                assert accused(call.check, answer + off) == ()

    def test_no_slip_is_named_for_the_output_of_another_however_near(self):
        def near(a, b, limits):
            same = a.shape == b.shape and np.isclose(a, b, rtol=0.0, atol=limits.max())
            return np.all(same)

        found = set()
        for call in {call.example: call for call in CALLS}.values():
            wrong = [slip for slip in slips.SLIPS.values() if call in MATRIX[slip.id]]
            outputs = {slip.id: slip(*call.args, **call.kwargs) for slip in wrong}
            narrow, wide = (call.allowed(dtype)["result"] for dtype in ("float64", "float32"))
            for (name, output), (other, its) in itertools.permutations(outputs.items(), 2):
                if near(output, its, wide) and not near(output, its, narrow):
                    named = accused(call.check, output)
                    assert name in named
                    assert other not in named
                    found.add(frozenset([name, other]))
        assert found

    @each(CALLS)
    def test_a_wrong_number_alone_is_no_slip(self, call):
        result = np.array(call.expected)
        result.flat[-1] += 3.0
        assert accused(call.check, result) == ()

    def test_only_attention_is_accused(self):
        (call,) = load("SA005").calls
        assert accused(call.check, call.arguments["x"]) == ()


def asked(function):
    """Return a report of all calls; the function says that it takes every option."""
    return report(function, CALLS, require=OPTIONS, whole=True)


class TestNamesFromAllCalls:
    @EVERY_SLIP
    def test_each_is_named_and_no_other(self, slip):
        found = asked(lambda *args, **keywords: slip(*args, **keywords))
        assert found.code == 1
        assert found.slips == (slip.id,)
        several = sum(call.example != "SA052" for call in MATRIX[slip.id]) > 2
        assert found.certain == several
        said = f"it is what the slip {slip.id} gives" if several else "consistent with the slip "
        assert said in repr(found)

    @pytest.mark.parametrize("slip", ["not-scaled", "causal-strict", "hidden-scores-are-zero"])
    def test_in_float32_too(self, slip):
        def single(*args, **keywords):
            return slips.SLIPS[slip](*args, **keywords).astype(np.float32)

        assert slip in asked(single).slips

    def test_one_call_is_not_enough_to_be_certain(self):
        slip = slips.SLIPS["keys-as-values"]
        found = report(lambda *args: slip(*args), [load("SA026").calls[0]])
        assert slip.id in found.slips
        assert not found.certain
        assert f"consistent with the slip {slip.id}" in repr(found)

    @pytest.mark.parametrize("option", ["window", "mask"])
    def test_it_is_not_the_cause_if_other_calls_are_wrong(self, option):
        def unscaled(query, key, value, *, mask=None, scale=1.0, window=None):
            if option == "window" and window is not None:
                rows = np.broadcast_shapes(*(x.shape[:-2] for x in (query, key, value)))
                return np.zeros((*rows, query.shape[-2], value.shape[-1]))
            if option == "mask" and mask is not None:
                raise ValueError("no mask")
            ours = selfattn_ref.scaled_dot_product_attention
            return ours(query, key, value, mask=mask, scale=scale)

        found = report(unscaled)
        assert found.slips == ("not-scaled",)
        assert not found.certain
        others = [o for o in found.asked if o.verdict == "failed" or "window" in o.keywords]
        assert found.unexplained == len(others) > 2
        assert f"raised or are wrong otherwise: {found.unexplained}\n" in repr(found)

    @pytest.mark.parametrize("invented", INVENTED)
    def test_what_is_in_no_catalog_has_no_name(self, invented):
        found = asked(INVENTED[invented])
        assert found.code == 1
        assert found.slips == ()
        assert "no known slip does that" in repr(found)
        smallest = min(
            (o for o in found.outcomes if o.verdict == "different"), key=lambda o: o.size
        )
        assert f"the smallest that differs: {smallest.id}, {smallest.call}" in repr(found)
