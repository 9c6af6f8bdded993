"""What is said of a function when all calls are put together, and the adapters that need NumPy."""

import json
import unittest
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from selfattn_ref import repeat_key_value_heads
from selfattn_ref import scaled_dot_product_attention as attend
from selfattn_ref.worked_examples import adapters, calls, load, report
from selfattn_ref.worked_examples._conventions import question

CALLS = calls()
NOBODY, CORNER = load("SA022").calls[0], load("SA043").calls[0]


def lower_right(query, key, value, *, causal=False, offset=None, **keywords):
    """Return attention whose causal mask ends at the last key."""
    if causal and offset is None:
        offset = key.shape[-2] - query.shape[-2]
    return attend(query, key, value, causal=causal, offset=offset or 0, **keywords)


def verdicts(found):
    return {o.id: o.verdict for o in found.outcomes}


class TestCodes:
    def test_it_is_0_if_what_is_claimed_was_asked_and_agrees(self):
        found = report(attend, CALLS)
        assert found.code == 0
        assert {*verdicts(found).values()} == {"right"}

    def test_an_option_that_no_call_asks_is_not_proved(self):
        few = [call for call in CALLS if "bias" not in call.kwargs]
        found = report(attend, few, whole=True)
        assert found.unproved == ["bias"]
        assert found.code == 2
        assert "attention takes bias, but no call has asked for it" in repr(found)
        assert report(attend, few).code == 0

    def test_an_option_whose_calls_are_all_left_out_is_not_proved(self):
        capped = [call.id for call in CALLS if "soft_cap" in call.kwargs]
        found = report(attend, CALLS, skip=capped, whole=True)
        assert (found.unproved, found.code) == (["soft_cap"], 2)

    def test_a_capability_that_no_call_asks_is_not_proved(self):
        def padded(query, key, value, *, mask=None, key_lengths=None):  # needs query_lengths, too
            return attend(query, key, value, mask=mask)

        found = report(padded, CALLS, whole=True)
        assert (found.unproved, found.code) == (["key_lengths"], 2)

    def test_an_error_counts_less_than_a_difference(self):
        def fails(query, key, value, *, scale=None, mask=None):
            return {}["no"] if mask is not None else attend(query, key, value, scale=scale)

        assert report(fails, CALLS).code == 2
        worse = [replace(CALLS[0], expected=CALLS[0].expected + 1), *CALLS[1:]]
        assert report(fails, worse).code == 1

    @pytest.mark.parametrize("given", [3, None, "attend"])
    def test_a_function_is_needed(self, given):
        with pytest.raises(TypeError, match="report needs a function, got "):
            report(given)

    def test_what_a_dtype_cannot_hold_is_not_asked(self):
        call = replace(CALLS[0], arguments={**CALLS[0].arguments, "value": np.full((5, 3), 1e5)})
        found = report(attend, [call], dtype="float16")
        assert found.outcomes[0].detail == "float16 cannot hold value"
        assert (found.outcomes[0].verdict, found.code) == ("not asked", 2)


class TestConventions:
    def test_one_has_to_be_followed_everywhere(self):
        def either(query, key, value, *, mask=None, causal=False):
            both = attend, lower_right
            return both[query.shape[-1] == 1](query, key, value, mask=mask, causal=causal)

        arguments = {
            **CORNER.arguments,
            "query": CORNER.args[0][:, :1],
            "key": CORNER.args[1][:, :1],
        }
        followed = {
            "upper-left": attend(**arguments), "lower-right": lower_right(**arguments)}  # fmt: skip
        again = replace(
            CORNER,
            number=7,
            arguments=arguments,
            expected=followed["upper-left"],
            conventions=followed,
        )
        found = report(either, [CORNER, again])
        assert {*verdicts(found).values()} == {"right"}
        text = "causal where Tq ≠ Tk"
        assert found.conventions == {
            text: {"upper-left": (CORNER.id,), "lower-right": (again.id,)}}  # fmt: skip
        assert found.inconsistent == [text]
        assert found.code == 1
        said = f"conventions differ: {text}: upper-left in {CORNER.id}, but lower-right in "
        assert said + again.id in repr(found)
        assert report(lower_right, [CORNER, again], require=["causal"]).code == 0

    def test_a_bias_may_hide_otherwise_than_a_mask(self):
        assert question(NOBODY) == "a query without keys, by a mask"
        hidden = np.where(NOBODY.arguments["mask"], 0.0, -np.inf)
        said = {n: x for n, x in NOBODY.arguments.items() if n != "mask"} | {"bias": hidden}
        assert question(replace(NOBODY, arguments=said)) == "a query without keys, by a bias"

    def test_an_unknown_question_is_told_by_its_answers(self):
        call = replace(CORNER, conventions={"base-2": CORNER.expected, "base-e": CORNER.expected})
        assert question(call) == "base-2 or base-e"

    def test_the_layouts_follow_one_convention(self):
        def fickle(query, key, value, *, mask):
            output = attend(query, key, value, mask=mask)
            if not query.flags.c_contiguous:
                output[~mask.any(axis=-1)] = np.nan
            return output

        found = report(fickle, [NOBODY])
        assert "differs for transposed inputs:" in found.outcomes[0].detail


class TestRefusals:
    def test_they_are_a_verdict_of_their_own(self):
        found = report(attend, calls(refusals=True))
        assert {o.verdict for o in found.outcomes if o.refusal} == {"right"}
        assert all(o.detail.startswith("refuses (") for o in found.outcomes if o.refusal)

    def test_who_does_not_well_otherwise_has_not_refused(self):
        def refuses_all(query, key, value, *, mask=None, bias=None, soft_cap=None):
            raise ValueError("no")

        found = report(refuses_all, load("SA052").calls)
        assert {o.verdict for o in found.outcomes if o.refusal} == {"not asked"}


class TestWritten:
    def found(self):
        def attention(query, key, value, *, mask=None):
            if mask is not None and mask.ndim > 2:
                raise ValueError("\x1b[31mno\x1b[0m <>")
            return attend(query, key, key if mask is None else value, mask=mask)

        return report(attention, calls(), require=["mask", "bias"], skip=["SA009"])

    def test_as_json(self):
        found = self.found()
        document = json.loads(found.to_json())
        assert document["exit_code"] == found.code == 1
        assert document["claims"] == ["key", "mask", "query", "value"]
        assert document["required_but_not_asked"] == ["bias"]
        assert sum(document["verdicts"].values()) == len(document["calls"]) == len(CALLS)
        assert [(c["id"], c["verdict"]) for c in document["calls"]] == [*verdicts(found).items()]
        assert document["smallest_that_differs"] == found.smallest.id

    def test_as_junit(self):
        found = self.found()
        suite = ElementTree.fromstring(found.to_junit())
        kinds = {"different": "failure", "failed": "error", "not asked": "skipped",
                 "skipped": "skipped"}  # fmt: skip
        outcomes = verdicts(found)
        for case in suite:
            name = case.get("name")
            expected = kinds.get(outcomes[name]) if name in outcomes else "error"
            assert [child.tag for child in case] == [expected] * (expected is not None)
        assert [case.get("name") for case in suite][-1] == "keyword: bias"
        for kind, count in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert suite.get(kind) == str(len(suite.findall(f"*/{count}")))
        assert "[31mno[0m <>" in ElementTree.tostring(suite, encoding="unicode").replace(
            "&lt;", "<").replace("&gt;", ">")  # fmt: skip


def onnx(Q, K, V, attn_mask=None, *, is_causal=0, scale=None, softcap=0.0):
    """Return what ONNX's Attention says, in its own words."""
    assert Q.ndim == K.ndim == V.ndim == 4
    assert is_causal in (0, 1)
    K, V = (repeat_key_value_heads(x, Q.shape[1]) for x in (K, V))
    kind = {} if attn_mask is None else {"mask" if attn_mask.dtype == bool else "bias": attn_mask}
    cap = {"soft_cap": softcap} if softcap else {}
    return [attend(Q, K, V, causal=bool(is_causal), scale=scale, **kind, **cap)]


class TestAdapters:
    def test_onnx_is_asked_everything(self):
        found = report(adapters.onnx(onnx), CALLS)
        assert found.code == 0
        many = [o.id for o in found.outcomes if "more axes than it takes" in o.detail]
        assert many == [c.id for c in CALLS if c.args[0].ndim > 4]
        assert len(found.asked) == len(CALLS) - len(many)

    def test_what_the_function_lacks_is_not_claimed(self):
        bare = adapters.torch(lambda query, key, value, attn_mask=None: None)
        assert NOBODY.taken_by(bare)
        assert not CORNER.taken_by(bare)
        assert not load("SA039").calls[0].taken_by(bare)
        assert CORNER.taken_by(adapters.torch(max))  # it has no signature

    def test_a_mask_and_a_bias_are_one(self):
        call = next(c for c in CALLS if {"bias"} == {*c.kwargs})
        mask = np.ones(call.arguments["bias"].shape, bool)
        mask[..., 0] = False
        seen = []
        mine = adapters.onnx(lambda *arrays, attn_mask: seen.append(attn_mask) or arrays[2])
        mine(*call.args, mask=mask, bias=call.arguments["bias"])
        assert np.isneginf(seen[0][..., 0]).all()
        assert np.array_equal(seen[0][..., 1:], call.arguments["bias"][..., 1:])

    def test_a_capability_is_not_told_to_who_needs_no_word(self):
        mine = adapters.having(lambda query, key, value: key, "grouped_heads", "window")
        assert np.array_equal(mine(1, 2, 3, grouped_heads=True), 2)
        with pytest.raises(unittest.SkipTest, match="window has a value, and needs a keyword"):
            mine(1, 2, 3, window=(1, 2))
