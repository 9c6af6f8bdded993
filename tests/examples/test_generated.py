"""The generated cases: one rule in several languages, proved values, and faults that they catch."""

import json
import pickle
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import quickjs

from derivations import generated as derived
from derivations.documents import forgotten
from press.example.generated_catalog import coverage
from selfattn_ref import scaled_dot_product_attention, scaled_dot_product_attention_vjp
from selfattn_ref.worked_examples import WorkedExampleMismatch, generated
from selfattn_ref.worked_examples._capabilities import CAPABILITIES, plain
from selfattn_ref.worked_examples._comparison import off_by
from selfattn_ref.worked_examples._tolerance import rounded
from tests.examples import wrong_kernels
from tests.pages.sources import BOOK
from tests.support.earlier import at_tags

CASES = {case["name"]: case for case in derived.read()}
EVERY_CASE = pytest.mark.parametrize("name", CASES)
BACK = "scaled_dot_product_attention_vjp"
WITH_GRADIENTS = pytest.mark.parametrize("name", generated.names(BACK))
JAVASCRIPT = Path(__file__).with_name("generate.js").read_text("utf-8")
SMALL = 60_000  # entries that a slow language may make in a test


@cache
def case(name):
    return generated.load(name)


def size(name):
    return sum(x.size for x in case(name).call.arguments.values() if isinstance(x, np.ndarray))


def few_or_small(names):
    return [name for name in names if size(name) <= SMALL]


def in_javascript(document):
    engine = quickjs.Context()
    engine.eval(JAVASCRIPT)
    return json.loads(engine.get("checksums")(json.dumps(document)))


def parts(answer):
    return {"output": answer} if isinstance(answer, np.ndarray) else dict(answer)


def of(call, what, part):
    known = getattr(call, what)
    return known[part] if isinstance(known, dict) else known


def excess(call, result, dtype):
    """Return by how many times an answer exceeds what a dtype allows, at the nearest convention."""
    allowed, got, found = call.allowed(dtype), parts(result), []
    for answer in call.conventions.values() or [call.expected]:
        worst = 0.0
        for (part, expected), limits in zip(parts(answer).items(), allowed.values(), strict=True):
            if got[part].shape != of(call, "shape", part):
                return np.inf
            off = off_by(got[part][tuple(of(call, "entries", part).T)], expected)
            times = np.where(off == 0, 0, off / np.where(off == 0, 1, limits))
            worst = max(worst, np.nan_to_num(times, nan=np.inf).max())
        found.append(worst)
    return min(found)


class TestRule:
    @EVERY_CASE
    def test_numpy_makes_the_arrays_of_the_rule(self, name):
        arrays = generated.arrays(CASES[name])
        assert {n: generated.checksum(x) for n, x in arrays.items()} == CASES[name]["checksums"]

    @pytest.mark.parametrize("name", few_or_small(CASES))
    def test_so_do_plain_integers_and_javascript(self, name):
        document = CASES[name]
        assert derived.checksums(document) == document["checksums"] == in_javascript(document)

    def test_a_checksum_sees_an_exchange(self):
        one = np.array([1.0, 2.0])
        assert generated.checksum(one) == 1 * 64 + 3 * 128 != generated.checksum(one[::-1])

    @EVERY_CASE
    def test_every_dtype_holds_the_inputs(self, name):
        for array in generated.arrays(CASES[name]).values():
            if array.dtype != np.bool_:
                for dtype in ("float16", "bfloat16", "float32"):
                    assert np.array_equal(rounded(array, dtype), array)

    @pytest.mark.parametrize("name", few_or_small(CASES))
    def test_sums_of_products_are_exact(self, name):
        assert derived.exact_sums(CASES[name])

    @pytest.mark.parametrize("name", few_or_small(CASES))
    def test_every_key_at_a_border_weighs_a_quarter_in_a_known_row(self, name):
        assert min(derived.border_weights(CASES[name]).values()) >= 0.25


class TestExpected:
    @pytest.mark.parametrize("name", few_or_small(CASES))
    def test_each_is_the_nearest_double(self, name):
        assert derived.filled(CASES[name]) == CASES[name]

    def test_a_wide_interval_proves_nothing(self):
        with pytest.raises(ArithmeticError, match="do not tell"):
            derived.nearest_double(derived.iv.mpf([1, 2]))

    @EVERY_CASE
    def test_the_library_agrees_in_every_dtype_of_numpy(self, name):
        call = case(name).call
        asked = plain(call.arguments)
        for dtype in (np.float64, np.float32, np.float16):
            given = {
                n: x.astype(dtype) if n in ("query", "key", "value") else x
                for n, x in asked.items()
            }
            given |= {"bias": asked["bias"].astype(dtype)} if "bias" in asked else {}
            output = scaled_dot_product_attention(**given)
            total = wrong_kernels.attend(call.arguments)[1]
            several = "return_log_sum_exp" in call.arguments
            agreement = call.check((output, total) if several else output)
            assert agreement.convention in (None, "cap-before-bias", "minus-infinity")

    @WITH_GRADIENTS
    def test_the_library_returns_the_gradients(self, name):
        call = generated.load(name, BACK).call
        agreement = call.check(scaled_dot_product_attention_vjp(**call.arguments))
        assert agreement.convention in (None, "cap-before-bias")

    def test_at_most_64_entries_are_known_of_at_most_60_cases(self):
        assert len(CASES) <= 60
        results = [c.get(part, c)["entries"] for c in CASES.values() for part in derived.PARTS]
        assert max(len(known) for entries in results for known in entries.values()) <= 64

    def test_an_entry_of_each_head_is_known(self):
        for name, case_ in CASES.items():
            heads = case_["lead"][-1] if case_["lead"] else 1
            known = {entry[-3] for entry in case_["entries"]["output"] if case_["lead"]}
            assert len(known or {0}) == heads or heads > 64, name

    def test_the_file_is_small(self):
        assert derived.GENERATED.stat().st_size < 250_000

    def test_the_ledger_knows_each_case(self):
        ledger = json.loads(derived.LEDGER.read_text("utf-8"))
        assert ledger == {name: derived.fingerprint(document) for name, document in CASES.items()}

    def test_the_cases_of_the_draft_stay_as_they_are(self):
        assert derived.digest(list(CASES.values()))[:16] == "ae302749a4c5d467"

    def test_no_case_of_an_earlier_version_is_lost_or_changed(self):
        now = json.loads(derived.LEDGER.read_text("utf-8"))
        for tag, ledger in at_tags(derived.LEDGER).items():
            assert forgotten(json.loads(ledger), now) == [], tag


class TestUse:
    def test_calls_come_one_at_a_time(self):
        first = next(iter(generated.calls("streaming_attention")))
        assert (first.function, first.example) == ("streaming_attention", generated.names()[0])

    def test_a_copy_is_the_call(self):
        call = case("G1-17x17").call
        assert np.array_equal(pickle.loads(pickle.dumps(call)).expected, call.expected)

    def test_what_is_not_a_case_is_refused(self):
        with pytest.raises(ValueError, match="no generated case has the name 'G1-x'"):
            generated.load("G1-x")
        with pytest.raises(ValueError, match="G1-17x17 is not for scaled_dot"):
            generated.load("G1-17x17", BACK)

    def test_the_gradient_of_a_bias_may_be_left_out(self):
        call = generated.load("G1-40x31-mask-bias-loud", BACK).call
        back = scaled_dot_product_attention_vjp(**call.arguments)
        assert len(call.known) == 4
        counts = [int(re.search(r"(\d+) numbers", repr(call.check(x)))[1]) for x in (back, [*back])]
        assert counts[0] - counts[1] == call.known["d_bias"].size

    def test_a_result_of_another_shape_differs(self):
        call = case("G1-17x17").call
        with pytest.raises(WorkedExampleMismatch, match="got shape"):
            call.check(np.zeros((17, 64)))

    def test_packed_sequences_have_two_of_the_keywords(self):
        assert len({*CAPABILITIES} - {"key_lengths"}) == 4
        page = (BOOK / "examples" / "generated.md").read_text("utf-8")
        assert "\nFour kinds of keyword are *capabilities*." in page

    def test_capabilities_leave_nothing_behind(self):
        for name in CASES:
            assert not plain(case(name).call.arguments).keys() & CAPABILITIES.keys()

    def test_every_pair_of_levels_that_can_meet_does(self):
        assert [pairs for _, _, pairs in coverage().values() if pairs] == []


class TestFaults:
    @pytest.mark.parametrize("name", wrong_kernels.FAULTS)
    def test_some_case_exceeds_every_tolerance_ten_times(self, name):
        assert any(
            caught(name, other) for other in sorted(CASES, key=size, reverse=" bits " in name)
        )

    @pytest.mark.parametrize("name", few_or_small(CASES))
    def test_tiles_that_are_merged_rightly_agree(self, name):
        call = case(name).call
        output, total = wrong_kernels.attend(call.arguments)
        result = {"output": output, "log_sum_exp": total}
        alone = "return_log_sum_exp" not in call.arguments
        assert excess(call, output if alone else result, "float64") <= 1

    @pytest.mark.parametrize("fault", wrong_kernels.BACKWARD)
    def test_some_gradient_sees_a_fault_of_the_backward_pass(self, fault):
        calls = [*generated.calls(BACK)]
        back = [wrong_kernels.BACKWARD[fault](call.arguments) for call in calls]
        excesses = [excess(call, x, "float32") for call, x in zip(calls, back, strict=True)]
        assert max(excesses) >= 10


def caught(fault, name):
    call = case(name).call
    result = wrong_kernels.run(fault, call.arguments)
    if result is None:
        return False
    return all(excess(call, result, dtype) >= 10 for dtype in ("float32", "float16", "bfloat16"))
