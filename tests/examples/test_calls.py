"""The calls of the worked examples: what they name, how they are found, checked and reported."""

import inspect
import pickle
import re
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

import selfattn_ref
from derivations import documents
from selfattn_ref.worked_examples import Tolerance, WorkedExampleMismatch, _calls, cases, ids, load
from selfattn_ref.worked_examples._digest import digest
from tests.examples.each import CALLS, IN_USE, PLAIN, arrays, each
from tests.examples.test_data import DOCUMENTS
from tests.support import loops

NOBODY = load("SA022").calls[0]
CAUSAL = load("SA016").calls[1]


class TestTheData:
    @pytest.mark.parametrize("name", DOCUMENTS)
    def test_a_name_is_an_input_or_an_expected_value_and_every_convention_has_its_reason(
        self, name
    ):
        document = DOCUMENTS[name]
        assert not document["inputs"].keys() & document["expected"].keys()
        for call in document["calls"]:
            if call["kind"] == "convention":
                assert call["because"].keys() == call["conventions"].keys()
                assert call["result"] in call["conventions"].values()

    @each(PLAIN)
    def test_a_call_names_a_public_function_and_its_parameters(self, call):
        assert call.function in selfattn_ref.__all__
        inspect.signature(getattr(selfattn_ref, call.function)).bind(*call.args, **call.kwargs)

    @each(PLAIN)
    def test_the_library_does_what_the_example_knows(self, call):
        agreement = call.test(getattr(selfattn_ref, call.function))
        assert agreement.names == (repr(call).removeprefix(f"{call.example}: "),)
        if call.conventions and not call.raises:
            followed = call.conventions[agreement.convention]
            assert all(map(np.array_equal, arrays(followed), arrays(call.expected)))

    @each(CALLS)
    def test_nothing_in_it_can_be_changed_and_a_copy_is_the_call_itself(self, call):
        every = list(call.arguments.values())
        for answer in (*call.conventions.values(), call.expected):
            every += arrays(answer)
        assert not any(x.flags.writeable for x in every if isinstance(x, np.ndarray))
        with pytest.raises(TypeError):
            call.arguments["scale"] = 2
        assert pickle.loads(pickle.dumps(call)) is call

    @each(CALLS)
    def test_the_conventions_differ(self, call):
        shapes = [x.shape for x in call.known.values()]
        for name, answer in call.conventions.items():
            assert [x.shape for x in arrays(answer)] == shapes
            known = call.refused(lambda *_, **__: answer) if call.raises else call.check(answer)  # noqa: B023
            assert known.convention == name

    def test_the_digest_knows_numbers_and_calls_and_no_prose(self):
        text = (documents.DATA / "SA022.json").read_text("utf-8")
        assert digest(text.replace("Nobody to attend to", "None")) == load("SA022").digest
        assert digest(text.replace("1e-13", "0.10e-12")) == load("SA022").digest
        for before, after in (('"zeros"', '"zero"'), ('"mask": "mask"}', '"mask": "weights"}')):
            assert before in text
            assert digest(text.replace(before, after)) != load("SA022").digest


VALUES = {"a": np.arange(6.0).reshape(3, 2), "b": np.array([2, 0])}


class TestWhatACallNames:
    @pytest.mark.parametrize(
        "reference, expected",
        [("a", [[0, 1], [2, 3], [4, 5]]), ("a[b]", [[4, 5], [0, 1]]), ("a[1]", [2, 3]),
         ("a[1:3]", [[2, 3], [4, 5]]), ("[b]", [[2, 0]])],
    )  # fmt: skip
    def test_all_of_it_some_rows_one_entry_or_it_as_a_row(self, reference, expected):
        assert _calls.find(reference, VALUES).tolist() == expected

    @pytest.mark.parametrize("reference", ["a[b", "[a", "a]", "a b", "a[-1]", "[a][b]", ""])
    def test_anything_else_is_refused(self, reference):
        with pytest.raises(ValueError, match="is not a reference"):
            _calls.find(reference, VALUES)

    @pytest.mark.parametrize("reference", ["a[1:4]", "a[2:2]", "a[2:1]"])
    def test_rows_that_are_not_there_are_refused(self, reference):
        with pytest.raises(ValueError, match="names rows that are not there"):
            _calls.find(reference, VALUES)

    def test_rows_are_shown(self):
        call = load("SA025").calls[2]
        assert repr(call) == (
            "SA025: scaled_dot_product_attention(query[4:6], key, value, causal=True, offset=4)"
        )
        assert np.array_equal(call.args[0], load("SA025").expected["query"][4:])

    def test_the_id_counts_from_1_and_a_generated_case_has_one_call(self):
        assert [str(call) for call in load("SA022").calls] == ["SA022-1", "SA022-2"]
        assert replace(CAUSAL, example="G1-tile", number=0).id == "G1-tile"

    def test_a_number_is_given_as_a_number(self):
        call = next(c for c in load("SA028").calls if c.function == "sinusoidal_encoding")
        assert dict(call.arguments) == {"base": 10000.0, "T": 3, "d_model": 4}
        assert type(call.arguments["base"]) is float

    def test_queries_keys_and_values_are_given_by_position_and_the_rest_by_keyword(self):
        call = load("SA016").calls[0]
        query, key, value = call.args
        assert query is call.arguments["query"]
        assert key is call.arguments["key"]
        assert value is call.arguments["value"]
        assert list(call.kwargs) == ["mask"]
        assert CAUSAL.kwargs == {"causal": True}

    def test_shared_heads_come_repeated(self):
        call, given = load("SA027").calls[0], load("SA027").expected
        _, key, value = call.args
        assert np.array_equal(key, np.repeat(given["key_heads"], 2, axis=0))
        assert np.array_equal(value, np.repeat(given["value_heads"], 2, axis=0))


class TestFinding:
    def test_cases_are_all_calls_of_a_function_in_order(self):
        found = [call for _, call in cases("softmax")]
        assert found == [call for call in CALLS if call.function == "softmax"]
        assert all(load(call.example) is example for example, call in cases("softmax"))
        assert cases() == cases("scaled_dot_product_attention")

    def test_ids_of_a_function_are_those_of_its_cases(self):
        expected = [i for i in IN_USE if any(c.function == "softmax" for c in load(i).calls)]
        assert list(ids("softmax")) == expected
        assert ids(function=None) == ids()

    @pytest.mark.parametrize("find", [cases, ids])
    @pytest.mark.parametrize(
        "unknown, hint", [("sofmax", "did you mean softmax? those"), ("attend", "those")]
    )
    def test_an_unknown_function_is_answered_with_those_that_are_known(self, find, unknown, hint):
        message = rf"no worked example calls '{unknown}'; .*{re.escape(hint)} that are called: "
        with pytest.raises(ValueError, match=message + r"attention_weights, .*, softmax"):
            find(unknown)


class Tensor:
    """What a tensor of PyTorch does: some dtypes and gradients NumPy cannot read."""

    def __init__(self, array, dtype, gradient=False):
        self.array, self.dtype, self.gradient = array, f"torch.{dtype}", gradient

    def detach(self):
        return Tensor(self.array, self.dtype.removeprefix("torch."))

    def cpu(self):
        return self

    def float(self):
        return Tensor(self.array, "float32")

    def __array__(self, dtype=None, copy=None):
        if self.gradient:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return np.asarray(self.array, dtype)


class TestChecking:
    def test_lists_and_tensors_are_read_within_what_their_dtype_allows(self):
        expected = CAUSAL.expected
        CAUSAL.check(expected.tolist())
        for dtype, off, too_far in (("float32", 1e-6, 1e-4), ("bfloat16", 0.02, 1.0)):
            tensor = Tensor((expected + off).astype(np.float32), dtype, gradient=True)
            assert CAUSAL.check(tensor).largest_difference > off / 2
            with pytest.raises(WorkedExampleMismatch):
                CAUSAL.check(Tensor((expected + too_far).astype(np.float32), dtype))

    def test_a_tolerance_may_be_given(self):
        CAUSAL.check(CAUSAL.expected + 1e-3, within=Tolerance(2e-3, 0))
        with pytest.raises(WorkedExampleMismatch, match=r"allowed 0.0005\n"):
            CAUSAL.check(CAUSAL.expected.astype(np.float32) + 1e-3, within=Tolerance(5e-4, 0))
        CAUSAL.check(CAUSAL.expected + 1e-3, within=2e-3)
        CAUSAL.test(lambda *args, **keywords: loops_with_causal(*args, **keywords) + 1e-3,
                    within=2e-3)  # fmt: skip

    @pytest.mark.parametrize(
        "within, error, message",
        [
            ("1e-3", TypeError, "within is how far each entry may be off, a number or Tolerance"),
            ((1e-3, 0), TypeError, "or Tolerance(absolute, relative); got tuple"),
            (True, TypeError, "got bool"),
            (-1e-3, ValueError, "within must not be negative or NaN, got -0.001"),
            (Tolerance(0, np.nan), ValueError, "must not be negative or NaN"),
        ],
    )
    def test_what_is_no_tolerance_is_said(self, within, error, message):
        for check in (CAUSAL.check, lambda x, within: load("SA016").check(output=x, within=within)):
            with pytest.raises(error, match=re.escape(message)):
                check(CAUSAL.expected, within=within)

    def test_the_report_names_the_call_and_the_entries(self):
        result = CAUSAL.expected.copy()
        result[2, 1] += 1
        with pytest.raises(WorkedExampleMismatch) as caught:
            CAUSAL.check(result)
        assert caught.value.slips == ()
        first, second, third = str(caught.value).splitlines()
        assert first == "SA016: scaled_dot_product_attention(query, key, value, causal=True)"
        assert second == "  result: 1 of 32 entries differ"
        assert third.startswith("    result[2, 1]: got 1.022")

    @pytest.mark.parametrize(
        "result, message",
        [
            (np.zeros((4, 4)), "result: got shape (4, 4), expected shape (4, 8)"),
            ([[1, 2], [3]], "result: the values do not form an array"),
            (None, "result: got None: does the function return what it computes?"),
            (
                (np.zeros((4, 8)), np.zeros((4, 4))),
                "result: got a tuple of 2, (an array of shape "
                "(4, 8), an array of shape (4, 4)), in place of an array",
            ),
            (
                (np.zeros((4, 8)),),
                "result: got shape (1, 4, 8), expected shape (4, 8); got a tuple of 1",
            ),
        ],
    )
    def test_what_is_no_array_of_the_shape_is_said(self, result, message):
        with pytest.raises(WorkedExampleMismatch, match=re.escape(message)):
            CAUSAL.check(result)

    def test_float32_in_the_clothes_of_float64_is_recognized(self):
        rounded = CAUSAL.expected.astype(np.float32).astype(float)
        with pytest.raises(WorkedExampleMismatch, match=r"what float32 allows, but its dtype is"):
            CAUSAL.check(rounded)
        CAUSAL.check(rounded.astype(np.float32))

    def test_a_result_follows_one_of_the_conventions_or_none(self):
        for name, rows in (("zeros", 0.0), ("uniform", 10 / 3), ("nan", np.nan)):
            result = np.array(NOBODY.expected)
            result[0] = rows
            agreement = NOBODY.check(result)
            assert agreement.convention == name
            assert f"follows the convention {name} (6 numbers" in repr(agreement)
        result[0] = 7.0
        message = "follows none of zeros, uniform, unmasked, nan; beside zeros:"
        with pytest.raises(WorkedExampleMismatch, match=message):
            NOBODY.check(result)


class TestSeveralResults:
    """A function that returns several is compared with each by its name."""

    CALL = load("SA031").calls[0]

    @pytest.mark.parametrize(
        "given",
        [tuple, list, lambda x: x, dict, lambda x: SimpleNamespace(d_bias=None, **x)],
        ids=["tuple", "list", "mapping", "dict", "attributes"],
    )
    def test_they_come_in_order_or_by_name(self, given):
        expected = self.CALL.expected
        result = given(expected.values() if given in (tuple, list) else expected)
        assert repr(self.CALL.check(result)).startswith(
            "SA031 checked: scaled_dot_product_attention_vjp(query, key, value, d_output) agrees "
            "(27 numbers, "
        )

    def test_the_message_names_the_one_that_differs(self):
        result = {name: np.array(x) for name, x in self.CALL.expected.items()}
        result["d_key"][2, 1] += 1
        with pytest.raises(WorkedExampleMismatch) as caught:
            self.CALL.check(result)
        _, second, third = str(caught.value).splitlines()
        assert second == "  d_key: 1 of 9 entries differ"
        assert third.startswith("    d_key[2, 1]: got ")

    def test_those_of_float32_are_compared_as_such(self):
        result = [x.astype(np.float32) for x in self.CALL.expected.values()]
        assert self.CALL.check(result).largest_difference > 0
        with pytest.raises(WorkedExampleMismatch, match=r"float32 allows, but its dtype is wider"):
            self.CALL.check([x.astype(float) for x in result])

    @pytest.mark.parametrize(
        "result, got",
        [
            (np.zeros((3, 3, 3)), "an array of shape (3, 3, 3)"),
            ((1, 2), "a tuple of 2"),
            ({"d_query": 1}, "a dict of 1"),
            (None, "NoneType"),
        ],
    )
    def test_what_is_not_as_many_is_said(self, result, got):
        message = f"must be d_query, d_key, d_value, in this order or by these names; got {got}"
        with pytest.raises(WorkedExampleMismatch, match=re.escape(message)):
            self.CALL.check(result)

    def test_a_gradient_that_is_missing_is_said(self):
        result = [*self.CALL.expected.values()][:2]
        with pytest.raises(WorkedExampleMismatch, match="d_value: got None"):
            self.CALL.check([*result, None])

    def test_each_convention_says_what_differs_and_the_rest_is_the_result(self):
        call = load("SA022").calls[1]
        zeros, uniform, nan = call.conventions.values()
        assert all(uniform[name] is zeros[name] for name in ("d_query", "d_key"))
        assert np.array_equal(uniform["d_value"], load("SA022").expected["d_value_uniform"])
        assert np.array_equal(np.isnan(nan["d_value"]), load("SA022").expected["nan_in_d_value"])

    @each(call for call in PLAIN if isinstance(call.expected, dict | MappingProxyType))
    def test_they_stand_in_the_order_of_the_library(self, call):
        result = getattr(selfattn_ref, call.function)(*call.args, **call.kwargs)
        names = [name for name in call.expected if name != "d_bias"]
        assert names == list(result._fields)


class TestCallsOfWhichSomeEntriesAreKnown:
    ENTRIES = np.array([[0, 7], [3, 0], [2, 5]])
    CALL = replace(
        CAUSAL, expected=CAUSAL.expected[[0, 3, 2], [7, 0, 5]], entries=ENTRIES, shape=(4, 8)
    )

    def test_only_these_are_compared(self):
        result = np.full((4, 8), 7.0)
        result[tuple(self.ENTRIES.T)] = self.CALL.expected
        assert repr(self.CALL.check(result)).endswith(
            "causal=True) agrees (3 numbers, within 1e-12)"
        )
        assert self.CALL.test(loops_with_causal).largest_difference < 1e-14

    def test_they_have_the_indices_and_the_allowance_that_they_have_in_the_whole(self):
        result = CAUSAL.expected.copy()
        result[3, 0] += 1
        limit = np.broadcast_to(CAUSAL.allowed("float32")["result"], (4, 8))[3, 0]
        with pytest.raises(WorkedExampleMismatch) as caught:
            self.CALL.check(result.astype(np.float32))
        _, second, third = str(caught.value).splitlines()
        assert second == "  result: 1 of 3 known entries differ"
        assert third.startswith("    result[3, 0]: got ")
        assert third.endswith(f"off by 1, allowed {limit:.3g}")

    def test_the_whole_has_a_shape(self):
        with pytest.raises(WorkedExampleMismatch, match=r"shape \(4, 7\), expected shape \(4, 8\)"):
            self.CALL.check(np.zeros((4, 7)))

    def test_the_sum_of_the_exponentials_has_no_axis_of_widths(self):
        sums = np.array([-np.inf, 3.0])
        arguments = {name: CAUSAL.arguments[name] for name in ("query", "key", "value")}
        expected = {"output": CAUSAL.expected.reshape(-1)[:2], "log_sum_exp": sums}
        entries = {"output": np.array([[0, 0], [0, 1]]), "log_sum_exp": np.array([[0], [2]])}
        call = replace(
            CAUSAL,
            arguments=arguments,
            expected=expected,
            entries=entries,
            shape={"output": (4, 8), "log_sum_exp": (4,)},
        )
        whole = np.array([-np.inf, 0.0, 3.0, 0.0])
        call.check((CAUSAL.expected, whole))
        call.check((CAUSAL.expected, whole + np.float64(1e-13)))
        for wrong in (whole + 1e-9, np.array([-1e300, 0.0, 3.0, 0.0])):
            with pytest.raises(WorkedExampleMismatch, match="log_sum_exp: 1 of 2 known entries"):
                call.check((CAUSAL.expected, wrong))


class TestCallsThatHaveToFail:
    CALL = next(call for call in load("SA052").calls if call.raises)

    @staticmethod
    def raising(error):
        def refuse(query, key, value, **keywords):
            if key.shape[-2] == value.shape[-2]:
                return selfattn_ref.scaled_dot_product_attention(query, key, value, **keywords)
            if error is None:
                return query
            raise error

        return refuse

    @pytest.mark.parametrize("error", [ValueError("no"), RuntimeError("as PyTorch says it"),
        TypeError("no"), type("Own", (Exception,), {})()])  # fmt: skip
    def test_a_refusal_agrees(self, error):
        agreement = self.CALL.test(self.raising(error))
        assert repr(agreement).endswith(f"value) agrees ({type(error).__name__})")

    @pytest.mark.parametrize("error", [ZeroDivisionError("no"), IndexError("no"), KeyError("no"),
        NameError("no"), AttributeError("no"), RecursionError("no"), NotImplementedError("no"),
        AssertionError("no"), np.exceptions.AxisError("no"),
        TypeError("f() got an unexpected keyword argument 'mask'"),
        TypeError("f() missing 1 required positional argument: 'mask'"),
        TypeError("unsupported operand type(s) for +: 'int' and 'NoneType'")])  # fmt: skip
    def test_a_crash_is_no_refusal(self, error):
        message = re.escape(f"it raised {type(error).__name__}: {error}, which is no refusal")
        with pytest.raises(WorkedExampleMismatch, match=message):
            self.CALL.test(self.raising(error))

    def test_who_does_not_well_in_good_calls_has_not_refused(self):
        def refuse_all(query, key, value, **keywords):
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            self.CALL.test(refuse_all)
        with pytest.raises(WorkedExampleMismatch, match="entries differ"):
            self.CALL.test(lambda q, k, v, **keywords: self.raising(ValueError())(q, k, v) + 1)

    def test_a_result_differs(self):
        message = (
            r"SA052: .*\n  must raise an error, such as ValueError: .*\n"
            r"  it returned an array of shape \("
        )
        with pytest.raises(WorkedExampleMismatch, match=message):
            self.CALL.test(self.raising(None))

    def test_the_library_raises_the_error_that_is_named(self):
        failing = [call for call in CALLS if call.raises]
        assert failing
        for call in failing:
            with pytest.raises(call.raises):
                getattr(selfattn_ref, call.function)(*call.args, **call.kwargs)

    def test_a_result_cannot_be_checked(self):
        with pytest.raises(TypeError, match=r"has to fail and has no result: use .* test"):
            self.CALL.check(CAUSAL.expected)

    def test_other_errors_pass_through_where_a_result_is_expected(self):
        with pytest.raises(TypeError, match="causal"):
            CAUSAL.test(lambda *args, **keywords: loops.attention(*args, **keywords))


def loops_with_causal(query, key, value, causal):
    mask = np.tri(len(query), len(key), dtype=bool) if causal else None
    return loops.attention(query, key, value, mask=mask)
