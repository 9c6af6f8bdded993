"""The checker: its data is the library's, and its script judges as the library does."""

import io
import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import quickjs
import safetensors.numpy
from numpy.typing import NDArray

from press.example import checker
from selfattn_ref import worked_examples
from selfattn_ref.worked_examples import Call, WorkedExampleMismatch, ids, load, slips
from selfattn_ref.worked_examples._slip import raw_scores, softmax

ROOT = Path(__file__).parents[2]

DTYPES: dict[str, Any] = {
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
}
EVERY_EXAMPLE = pytest.mark.parametrize("name", ids())


class Engine:
    """The script of the page in an engine of its own, with the data of all examples."""

    def __init__(self, folder: Path) -> None:
        self.context = quickjs.Context()
        for script in ("reading.js", "judging.js"):  # the third needs a page
            self.context.eval((ROOT / "book/theme" / script).read_text("utf-8"))
        self.context.eval("var data = {}, bookChecker = { take(one) { data[one.id] = one; } };")
        for path in folder.glob("*.js"):
            self.context.eval(path.read_text("utf-8"))
        self.context.eval(
            """
            // NaN and infinities are no JSON.
            function plain(key, x) { return typeof x === "number" && !isFinite(x) ? String(x) : x; }
            function answer(id, key) { return data[id].answers.find((one) => one.key === key); }
            function judge(id, key, array, dtype) {
                return bookJudging.judge(data[id], answer(id, key), array, dtype);
            }
            function limits(id, key, dtype) {
                return bookJudging.limitsOf(data[id], answer(id, key), dtype);
            }
            function pasted(id, key, text, dtype) {
                var array = bookJudging.choose(bookReading.read(text), answer(id, key));
                return judge(id, key, array, dtype || array.dtype || "float64");
            }
            """
        )

    def run(self, function: str, *arguments: Any) -> Any:
        """Call a function of the script."""
        given = ", ".join(json.dumps(one) for one in arguments)
        return json.loads(self.context.eval(f"JSON.stringify({function}({given}), plain)"))

    def judge(self, name: str, key: str, values: NDArray[Any], dtype: str = "float64") -> Any:
        """Return the verdict on an array with all its digits, as of a file."""
        array = {
            "shape": values.shape,
            "values": [one if isinstance(one, bool) else float(one) for one in values.ravel()],
            "texts": None,
            "boolean": values.dtype == np.bool_,
            "loose": False,
        }
        return self.run("judge", name, key, array, dtype)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    checker.write(SimpleNamespace(outdir=site))
    return site / "_static" / "checks"


@pytest.fixture(scope="module")
def engine(folder: Path) -> Engine:
    return Engine(folder)


def keys(call: Call) -> dict[str, str]:
    """Return the addresses of what a call gives, each with the name of its part."""
    if not isinstance(call.expected, Mapping):
        return {str(call.number): "result"}
    return {f"{call.number}_{part}": part for part in call.expected}


def with_part(check: Any, answer: Any, part: str) -> Any:
    """Return a check of one part of an answer, the others being right."""
    return (lambda x: check({**answer, part: x})) if isinstance(answer, Mapping) else check


class TestData:
    @EVERY_EXAMPLE
    def test_every_call_and_every_expected_value_is_there(self, engine: Engine, name: str) -> None:
        example = load(name)
        found = json.loads(engine.context.eval(f"JSON.stringify(data.{name}.answers, plain)"))
        calls = {key: call for call in example.calls for key in keys(call)}
        assert [one["key"] for one in found] == [*calls, *example.expected]
        for one in found:
            if call := calls.get(one["key"]):
                assert f"{name}: {one['written']}" == repr(call)
                assert ("raises" in one) == (call.raises is not None)
                named = [n for c in one.get("conventions", []) for n in c[0].split(" or ")]
                assert call.raises or named == list(call.conventions)

    def test_every_slip_is_there_with_what_it_does(self, engine: Engine) -> None:
        found: dict[str, str] = {}
        for name in ids():
            found |= json.loads(engine.context.eval(f"JSON.stringify(data.{name}.slips)"))
        assert found == {slip.id: slip.effect for slip in slips.SLIPS.values()}


def agrees(check: Any, result: NDArray[Any]) -> tuple[bool, str | None, tuple[str, ...]]:
    """Return what the library says: whether it agrees, the convention, the slips."""
    try:
        return True, check(result).convention, ()
    except WorkedExampleMismatch as mismatch:
        return False, None, mismatch.slips


def verdict(found: Any) -> tuple[bool, str | None, tuple[str, ...]]:
    """Return the same of the script."""
    right = found["state"] == "agrees"
    convention = found["found"]["convention"] or None if right else None
    return right, convention, tuple(found.get("slips", []))


class TestVerdicts:
    @EVERY_EXAMPLE
    def test_near_the_limit_it_says_what_the_library_says(self, engine: Engine, name: str) -> None:
        random, both = np.random.default_rng(int(name[2:])), set()
        example = load(name)
        checks = [
            (key, with_part(call.check, answer, part), value)
            for call in example.calls
            if call.expected is not None
            for answer in (call.conventions or {"": call.expected}).values()
            for key, part in keys(call).items()
            if (value := checker.arrays_of(answer)[part]).dtype != np.bool_
        ]
        checks += [
            (key, lambda x, key=key: example.check(**{key: x}), value)
            for key, value in example.expected.items()
            if value.dtype != np.bool_
        ]
        for key, check, answer in checks:
            for dtype, kind in DTYPES.items():
                told = np.array(engine.run("limits", name, key, dtype), dtype=float)
                limits = np.where(np.isinf(told), 1.0, told).reshape(answer.shape)
                for factor in (0.999, 1.001):
                    sign = random.choice([-1, 1], answer.shape)
                    share = random.choice([0, 0.5, factor], answer.shape)
                    share.flat[random.integers(share.size)] = factor
                    off = share * limits * sign
                    with np.errstate(over="ignore"):
                        result = np.asarray(answer + off).astype(kind)
                    said = agrees(check, result)[:2]
                    own = verdict(engine.judge(name, key, result, dtype))[:2]
                    assert own[0] == said[0], (key, dtype)
                    # One part may be the same under several conventions; the library sees them all.
                    assert str(said[1]) in str(own[1]), (key, dtype)
                    both.add(said[0])
        assert both == {True, False} or not checks

    def test_the_slips_are_those_that_the_library_names(self, engine: Engine) -> None:
        named: set[str] = set()
        # SA022 has nobody to attend to, SA027 heads, SA043 another number of keys than queries.
        for name in ("SA022", "SA027", "SA039", "SA043"):
            call, seen = load(name).calls[0], set()
            twins = [one for one in load(name).calls if np.array_equal(one.expected, call.expected)]
            for slip in slips.SLIPS.values():
                try:
                    output = slip(*call.args, **call.kwargs)
                except ValueError:  # its shapes do not fit
                    continue
                if output.tobytes() in seen:
                    continue
                seen.add(output.tobytes())
                said = agrees(call.check, output)
                # The page cannot know which of two calls that expect the same was made.
                meant = {slip for twin in twins for slip in agrees(twin.check, output)[2]}
                found = verdict(engine.judge(name, "0", output))
                assert (*found[:2], {*found[2]}) == (*said[:2], meant), (name, slip)
                named.update(said[2])
        assert len(named) > len(slips.SLIPS) / 2

    def test_a_variant_of_a_slip_is_named_as_the_library_names_it(self, engine: Engine) -> None:
        call = load("SA016").calls[0]
        scores = raw_scores(*call.args[:2])
        result = softmax(np.where(call.arguments["mask"], scores, 1e-9)) @ call.args[2]
        named = agrees(call.check, result)[2]
        assert named == ("hidden-scores-are-zero",)
        assert verdict(engine.judge("SA016", "0", result))[2] == named
        wide = np.asarray(call.expected) + 0.5 * call.allowed("float32")["result"]
        assert agrees(call.check, wide)[2] == verdict(engine.judge("SA016", "0", wide))[2] == ()

    def test_where_a_slip_gives_nan_a_function_may_do_otherwise(self, engine: Engine) -> None:
        call = load("SA016").calls[1]
        output = np.nan_to_num(slips.SLIPS["causal-strict"](*call.args, **call.kwargs))
        assert "causal-strict" in verdict(engine.judge("SA016", "1", output))[2]

    def test_a_mask_has_to_be_boolean(self, engine: Engine) -> None:
        mask = np.asarray(load("SA016").expected["mask"])
        assert engine.judge("SA016", "mask", mask)["state"] == "agrees"
        assert engine.judge("SA016", "mask", ~mask)["state"] == "differs"
        assert engine.judge("SA016", "mask", mask.astype(float))["state"] == "kind"
        assert engine.judge("SA016", "weights", mask)["state"] == "kind"

    def test_it_says_what_was_computed_in_float32(self, engine: Engine) -> None:
        weights = np.asarray(load("SA009").expected["weights"])
        found = engine.judge("SA009", "weights", weights.astype(np.float32))
        assert found["state"] == "differs"
        assert found["single"] is True
        assert engine.judge("SA009", "weights", weights + 1e-3)["single"] is False
        call = load("SA009").calls[0]
        output = slips.SLIPS["not-scaled"](*call.args).astype(np.float32)
        assert engine.judge("SA009", "0", output)["slips"] == ["not-scaled"]
        assert engine.judge("SA009", "0", output, "float32")["slips"] == ["not-scaled"]

    def test_another_value_of_the_example_is_recognized(self, engine: Engine) -> None:
        weights = np.asarray(load("SA009").expected["weights"])
        assert engine.judge("SA009", "0", weights)["other"]["name"] == "weights"


OUTPUT = np.asarray(load("SA016").expected["output"])  # 4 × 8


class TestShapes:
    def test_the_transpose_is_recognized(self, engine: Engine) -> None:
        found = engine.judge("SA016", "1", OUTPUT.T)
        assert (found["state"], found["exchanged"]) == ("shape", [0, 1])
        square = np.asarray(load("SA009").expected["weights"])
        found = engine.judge("SA009", "weights", square.T)
        assert (found["state"], found["exchanged"]) == ("differs", [0, 1])
        heads = np.asarray(load("SA026").expected["weights"])  # 2 × 3 × 3
        assert engine.judge("SA026", "weights", heads.swapaxes(0, 1))["exchanged"] == [0, 1]
        assert "exchanged" not in engine.judge("SA016", "1", OUTPUT.T + 1e-6)

    def test_numbers_in_order_are_recognized(self, engine: Engine) -> None:
        assert engine.judge("SA016", "1", OUTPUT.reshape(8, 4))["inOrder"]
        assert not engine.judge("SA016", "1", OUTPUT[:3])["right"]

    def test_an_axis_of_length_one_too_many_is_another_shape_of_the_right_numbers(
        self, engine: Engine
    ) -> None:
        found = engine.judge("SA016", "1", OUTPUT[None])
        assert (found["state"], found["right"]) == ("shape", True)
        found = engine.judge("SA016", "1", OUTPUT[None] + 1.0)
        assert (found["state"], found["right"]) == ("shape", False)


# What libraries print of the weights of SA022 without its first row, in the way of each.
PRINTED = {
    "tensor([[0.0000, 1.0000, 0.0000],\n        [0.0000, 0.1070, 0.8930]], device='cuda:0', "
    "dtype=torch.float16,\n       grad_fn=<SoftmaxBackward0>)": "float16",
    "tensor([[0.0000e+00, 1.0000e+00, 0.0000e+00],\n        [0.0000e+00, 1.0704e-01, 8.9296e-01]],"
    "\n       requires_grad=True)": "float32",
    "Array([[0.       , 1.       , 0.       ],\n       [0.       , 0.1070418, 0.8929582]], "
    "dtype=float32)": "float32",
    "Array([[0, 1, 0],\n       [0, 0.106934, 0.890625]], dtype=bfloat16)": "bfloat16",
    "<tf.Tensor: shape=(2, 3), dtype=float32, numpy=\narray([[0.       , 1.       , 0.       ],\n"
    "       [0.       , 0.1070418, 0.8929582]], dtype=float32)>": "float32",
    ">>> attention_weights(scores)[1:]\narray([[0.        , 1.        , 0.        ],\n"
    "       [0.        , 0.1070418 , 0.8929582 ]])": "float64",
    "0,1,0\n0,0.1070418,0.8929582\n": "",
    "a;b;c\n0;1;0\n0;.1070418;8.929582e-1\n": "",
    "0 1 0\n0 0.1070418\t0.8929582": "",
    "[0.0 1.0 0.0; 0.0 0.1070418 0.8929582]": "",
    "weights = [np.float64(0.0), np.float64(1.0), np.float64(0.0)]": "float64",
    "[[0, 1, 0], [0, 0.1070418, 0.8929582]]": "",
    # C, C++, Rust, Go
    "float w[2][3] = {{0.f, 1.0f, 0.0F},\n  {0.0f, 0.1070418f, 8.929582e-1f}};": "float32",
    "{{0, 1, 0}, {0, 0.1070418, 0.8929582}}": "",
    "std::vector<double> w{0.0, 1.0, 0.0};": "",
    " 0.0000  1.0000  0.0000\n 0.0000  0.1070  0.8930\n[ CPUFloatType{2,3} ]": "",
    "vec![vec![0.0_f32, 1.0, 0.0], vec![0.0, 0.1070418, 0.8929582]]": "float32",
    "[][]float32{{0, 1, 0}, {0, 0.1070418, 0.8929582}}": "float32",
    "[[0x0p+0, 0x1p+0, 0x0p+0], [0x0p+0, 0x1.b67163bf66478p-4, 0x1.c931d3881336ep-1]]": "",
    "['0x0.0p+0', '0x1.0000000000000p+0', '0x0.0p+0']": "",
    # Fortran, CSV with quotes
    "  0.0000000D+00  1.0000000D+00  0.0000000d+00\n  .0D0  1.070418D-01  8.929582D-01": "",
    '"a","b","c"\n"0","1","0"\n"0","0.1070418","0.8929582"': "",
    # Julia
    "2×3 Matrix{Float64}:\n 0.0  1.0       0.0\n 0.0  0.107042  0.892958": "float64",
    "julia> w\n2×3 Matrix{Float32}:\n 0.0  1.0  0.0\n 0.0  0.107042  8.92958f-1": "float32",
    "Float32[0.0 1.0 0.0; 0.0 0.107042 0.892958]": "float32",
    # R
    "     [,1]      [,2]      [,3]\n[1,]    0 1.0000000 0.0000000\n"
    "[2,]    0 0.1070418 0.8929582": "",
    "[1] 0 1 0": "",
    # integers
    "array([[0, 1, 0]], dtype=uint8)": "float64",
}  # fmt: skip
SECOND = [[0.0, 1.0, 0.0], [0.0, 0.1070418, 0.8929582]]


class TestReading:
    @pytest.mark.parametrize("text", PRINTED)
    def test_what_libraries_print_is_read(self, engine: Engine, text: str) -> None:
        (array,) = engine.run("bookReading.read", text)
        rows = len(array["values"]) // 3
        assert array["shape"] == ([rows, 3] if rows > 1 or "[[" in text else [3])
        assert np.allclose(np.reshape(array["values"], (rows, 3)), SECOND[:rows], atol=3e-3)
        assert array["dtype"] == PRINTED[text]

    @pytest.mark.parametrize(
        "text, asked",
        [
            ("0,1070 0,8930\n0,5 0,25", "0,1070"),
            ("0,1070;0,8930\n0,5;0,25", "0,1070"),
            ("0,1070,0,8930\n0,5,0,25", "0,1070,0,8930"),
            ("[[0,1070, 0,8930], [0,5, 0,25]]", "0,1070"),
            ("[0,1070 0,8930; 0,5 0,25]", "0,1070"),
            ('"0,1070","0,8930"\n"0,5","0,25"', "0,1070"),
        ],
    )
    def test_decimal_commas_are_asked_about(self, engine: Engine, text: str, asked: str) -> None:
        with pytest.raises(quickjs.JSException, match=f"Is {asked} one number or more"):
            engine.run("bookReading.read", text)
        (array,) = engine.run("bookReading.read", text, "decimal")
        assert (array["shape"], array["values"]) == ([2, 2], [0.107, 0.893, 0.5, 0.25])
        (array,) = engine.run("bookReading.read", text, "between")
        assert array["values"] == [0, 1070, 0, 8930, 0, 5, 0, 25]

    @pytest.mark.parametrize(
        "text", ["0,1,0\n1,0,0", "[[0,1,2],[3,4,5]]", "0, 1\n1, 0", "0.5,1,2,3"]
    )
    def test_commas_between_whole_numbers_are_not(self, engine: Engine, text: str) -> None:
        engine.run("bookReading.read", text)

    @pytest.mark.parametrize(
        "number", [0.1, -1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 2.5e-310]
    )
    def test_hexadecimal_is_exact(self, engine: Engine, number: float) -> None:
        (array,) = engine.run("bookReading.read", f"[{number.hex()}]")
        assert array["values"] == [number]

    @EVERY_EXAMPLE
    def test_the_file_of_an_example_agrees_with_what_it_expects(
        self, engine: Engine, name: str
    ) -> None:
        text = (Path(worked_examples.__file__).parent / "data" / f"{name}.json").read_text("utf-8")
        for key in load(name).expected:
            assert engine.run("pasted", name, key, text)["state"] == "agrees", key

    @EVERY_EXAMPLE
    def test_what_numpy_prints_of_the_right_answer_agrees(self, engine: Engine, name: str) -> None:
        example = load(name)
        answers = {key: [value] for key, value in example.expected.items()}
        for call in example.calls:
            if call.expected is not None:
                each = [*call.conventions.values()] or [call.expected]
                for key, part in keys(call).items():
                    answers[key] = [checker.arrays_of(one)[part] for one in each]
        for key, values in answers.items():
            for value in values:
                for text in (repr(value), str(value), repr(value.tolist())):
                    found = engine.run("pasted", name, key, text)
                    assert found["state"] == "agrees", (key, text)

    @pytest.mark.parametrize("digits", [4, 6])
    def test_few_digits_agree_in_those_that_there_are(self, engine: Engine, digits: int) -> None:
        with np.printoptions(precision=digits):
            right, wrong = repr(OUTPUT), repr(OUTPUT + 10.0**-digits)
        found = engine.run("pasted", "SA016", "1", right)
        assert (found["state"], found["rounded"]) == ("agrees", True)
        assert found["printed"]["digits"] == digits
        assert found["digits"]["all"]
        assert engine.run("pasted", "SA016", "1", wrong)["state"] == "differs"

    def test_two_digits_are_too_few_and_whole_numbers_are_exact(self, engine: Engine) -> None:
        few = json.dumps(np.round(OUTPUT, 2).tolist())
        assert engine.run("pasted", "SA016", "1", few)["state"] == "few"
        whole = json.dumps(np.round(OUTPUT).tolist())
        assert engine.run("pasted", "SA016", "1", whole)["state"] != "agrees"
        call = load("SA022").calls[0]
        best = repr(slips.SLIPS["argmax-for-softmax"](*call.args, **call.kwargs))
        found = engine.run("pasted", "SA022", "0", best)
        assert found["state"] == "differs"
        assert "argmax-for-softmax" in found["slips"]

    def test_the_digits_that_agree_are_counted(self, engine: Engine) -> None:
        output = OUTPUT * (1 + 2e-6)
        output[0, 0] *= 1.003
        found = engine.judge("SA016", "1", output)
        assert (found["digits"]["worst"], found["digits"]["median"]) == (2, 5)

    @pytest.mark.parametrize(
        "text, said",
        [
            ("array([[0.1, 0.2, ..., 0.3]])", "abbreviated"),
            ("tensor([[0.1070, …, 1.0]])", "abbreviated"),
            ("[[0.1, 0.2], [0.3]]", "not equally long: one has 2 numbers, another 1 number"),
            ("[[0.1, 0.2], 0.3]", "beside a row"),
            ("[[0.1, 0.2], [0.3", "not closed"),
            ("0.1, 0.2], [0.3]", "was not opened"),
            ("[[0.1, 0.2j]]", "“0.2j” is not a number"),
            ("[[True, 0.5]]", "among numbers"),
            ("Traceback (most recent call last):", "no number"),
            ('{"output": 1,', "begins as JSON"),
        ],
    )
    def test_what_cannot_be_read_is_said(self, engine: Engine, text: str, said: str) -> None:
        with pytest.raises(quickjs.JSException, match=said.replace("(", r"\(")):
            engine.run("bookReading.read", text)

    def test_of_several_arrays_the_one_that_is_meant_is_taken(self, engine: Engine) -> None:
        weights = np.asarray(load("SA016").expected["weights"])
        both = repr((weights, OUTPUT))
        assert engine.run("pasted", "SA016", "1", both)["state"] == "agrees"
        assert engine.run("pasted", "SA016", "weights", both)["state"] == "agrees"
        named = json.dumps({"a": 1, "output": OUTPUT.tolist(), "note": "x"})
        assert engine.run("pasted", "SA016", "1", named)["state"] == "agrees"
        not_finite = {
            "x": {"value": ["NaN", "-Infinity", 1, "Infinity"]},
            "words": {"value": ["a"]},
        }
        text = json.dumps({"inputs": not_finite, "expected": {}})
        (array,) = engine.run("bookReading.read", text)
        assert (array["name"], array["values"]) == ("x", ["NaN", "-Infinity", 1, "Infinity"])
        no_name = repr([*map(np.ndarray.tolist, (OUTPUT[:2], OUTPUT[:3]))])[1:-1]
        array = engine.run(
            "((text, key) => bookJudging.choose(bookReading.read(text), key))",
            no_name,
            {"name": "output", "shape": [4, 8], "boolean": False},
        )
        assert array is None
        one_by_one = "\n".join(str(row) for row in OUTPUT)
        assert engine.run("pasted", "SA016", "1", one_by_one)["state"] == "agrees"


class TestFiles:
    @pytest.mark.parametrize(
        "kind",
        ["<f8", ">f8", "<f4", "<f2", ml_dtypes.bfloat16, "<i8", "|b1", "<u8", "<u4", "<u2", "|u1"],
    )
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_an_array_of_numpy_is_read(self, engine: Engine, kind: Any, order: Any) -> None:
        array = np.asarray([[0.0, 1.5, 3e-5], [7.0, 200.0, 2.25]]).astype(kind)
        file = io.BytesIO()
        np.save(file, np.asarray(array, order=order))
        found = engine.run("(b => bookReading.npy(new Uint8Array(b).buffer))", [*file.getvalue()])
        assert np.array_equal(np.reshape(found["values"], found["shape"]), array.astype(float))
        assert found["boolean"] == (kind == "|b1")
        narrow = {"<f4": "float32", "<f2": "float16", ml_dtypes.bfloat16: "bfloat16"}
        assert found["dtype"] == narrow.get(kind, "float64")

    def test_safetensors_are_read(self, engine: Engine) -> None:
        arrays: dict[str, Any] = {
            "single": OUTPUT.astype(np.float32), "half": OUTPUT.astype(np.float16),
            "mask": OUTPUT > 0, "count": np.arange(3), "output": OUTPUT, "one": np.asarray(0.5),
        }  # fmt: skip
        content = safetensors.numpy.save(arrays, {"example": "SA016"})
        read = "(b => bookReading.safetensors(new Uint8Array(b).buffer))"
        found = {array["name"]: array for array in engine.run(read, [*content])}
        assert found.keys() == arrays.keys()
        for name, array in arrays.items():
            assert np.array_equal(np.reshape(found[name]["values"], found[name]["shape"]), array)
        dtypes = [found[name]["dtype"] for name in ("single", "half", "output")]
        assert dtypes == ["float32", "float16", "float64"]
        assert found["mask"]["boolean"]

    def test_another_file_is_refused(self, engine: Engine) -> None:
        with pytest.raises(quickjs.JSException, match="not a file of NumPy"):
            engine.run("(b => bookReading.npy(new Uint8Array(b).buffer))", [80, 75] * 20)
        file = io.BytesIO()
        np.save(file, np.asarray(["a"]))
        with pytest.raises(quickjs.JSException, match="no real numbers"):
            engine.run("(b => bookReading.npy(new Uint8Array(b).buffer))", [*file.getvalue()])


def test_half_precision_is_read_to_the_last_bit(engine: Engine) -> None:
    bits = np.arange(0, 2**16, 7, dtype=np.uint16)
    file = io.BytesIO()
    np.save(file, bits.view(np.float16))
    found = engine.run("(b => bookReading.npy(new Uint8Array(b).buffer))", [*file.getvalue()])
    values = [float(one) for one in found["values"]]
    expected = bits.view(np.float16).astype(float)
    assert all(
        a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(values, expected, strict=True)
    )
