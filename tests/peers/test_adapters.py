"""The adapters of the worked examples, with the libraries that they are for."""

import importlib
import subprocess
import sys

import numpy as np
import pytest

from derivations.documents import ROOT
from selfattn_ref.worked_examples import adapters, calls, report
from tests.peers import peer
from tests.peers.calls import onnx_run

CALLS = calls()
# Only PyTorch takes more than four axes.
FIVE = {call.id for call in CALLS if max(x.ndim for x in call.args) > 4}
# JAX compiles each call for each shape, which takes longer than all else: some have to do.
FEW = {"SA016", "SA022", "SA027", "SA038", "SA043", "SA049"}
SOME = [call for call in CALLS if call.example in FEW]


def onnx_attention(Q, K, V, attn_mask=None, *, is_causal=0, scale=None, softcap=0.0):
    """Attention by ONNX's reference implementation, with its own names."""
    given = {} if scale is None else {"scale": scale}
    arrays = [Q, K, V, attn_mask]
    return onnx_run("Attention", arrays, is_causal=is_causal, softcap=softcap, **given)


def followed(found):
    """Return the conventions that were followed, each by its question."""
    return {text: [*follows] for text, follows in found.conventions.items()}


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_pytorch_agrees_and_is_asked_everything_but_the_cap(dtype):
    attend = peer("torch").nn.functional.scaled_dot_product_attention
    narrow = "float32" if dtype == "bfloat16" else dtype
    found = report(adapters.torch(attend, dtype), CALLS, dtype=narrow)
    assert found.code == 0, repr(found)
    capped = {call.id for call in CALLS if "soft_cap" in call.kwargs}
    # Of float16, the largest number is 65504.
    large = {call.id for call in CALLS if np.abs(call.args[2]).max() > 65504}
    assert large
    assert len(found.asked) == len(CALLS) - len(capped | (large if dtype == "float16" else set()))
    assert followed(found)["causal where Tq ≠ Tk"] == ["upper-left"]


@pytest.mark.parametrize(
    "library, name, some",
    [("jax", "jax.nn", SOME), ("keras", "keras.ops", CALLS)],
    ids=["jax", "keras"],
)
def test_jax_and_keras_agree(library, name, some):
    peer(library)
    attend = importlib.import_module(name).dot_product_attention
    found = report(adapters.LIKE[library](attend), some, dtype="float32")
    assert found.code == 0, repr(found)
    unasked = FIVE | {call.id for call in some if "soft_cap" in call.kwargs}
    assert len(found.asked) == len([call for call in some if call.id not in unasked])
    assert followed(found)["a query without keys, by a mask"] == ["uniform"]


def test_mlx_agrees_but_keeps_scores_in_sixteen_bits():
    attend = peer("mlx.core").fast.scaled_dot_product_attention
    found = report(adapters.mlx(attend), CALLS, dtype="float32")
    assert found.code == 0, repr(found)
    capped = {call.id for call in CALLS if "soft_cap" in call.kwargs}
    assert len(found.asked) == len([call for call in CALLS if call.id not in FIVE | capped])
    narrow = report(adapters.mlx(attend, "bfloat16"), CALLS, dtype="float32")
    assert {o.example for o in narrow.outcomes if o.verdict == "different"} == {"SA047", "SA084"}
    assert "scores-in-bfloat16" in repr(narrow)


def test_onnx_agrees():
    peer("onnx")
    with np.errstate(invalid="ignore"):  # where padding is NaN
        found = report(adapters.onnx(onnx_attention), CALLS, dtype="float32")
    # It takes the root of the scale, which a negative one has not.
    negative = {call.id for call in CALLS if call.kwargs.get("scale", 1) < 0}
    assert {o.id for o in found.outcomes if o.verdict in ("different", "failed")} == negative
    assert len(found.asked) == len(CALLS) - len(FIVE)


LINES = """
import pytest, torch
from selfattn_ref.worked_examples import adapters, calls

my_attention = adapters.torch(torch.nn.functional.scaled_dot_product_attention)

@pytest.mark.parametrize("call", calls(), ids=str)
def test_attention(call):
    call.test(my_attention)
"""


def test_the_lines_for_pytorch_run(tmp_path):
    peer("torch")
    (tmp_path / "test_mine.py").write_text(LINES, "utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "--tb=short"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert "PASSED test_mine.py::test_attention[SA016-1]" in done.stdout


def test_from_the_shell(tmp_path):
    peer("torch")
    command = [sys.executable, "-m", "selfattn_ref.worked_examples", "check", "examples",
               "torch.nn.functional:scaled_dot_product_attention"]  # fmt: skip

    def run(*options):
        environment = {"PYTHONPATH": str(ROOT)}
        return subprocess.run(
            [*command, *options], cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    alone = run()
    assert alone.returncode == 2
    assert "does not say what it takes" in alone.stdout
    assert run("--like", "torch", "--dtype", "bfloat16").returncode == 0
