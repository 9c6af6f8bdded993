"""The rule of the generated cases in C: every array of every case."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from selfattn_ref.worked_examples import generated

CASES = [generated.load(name).recipe for name in generated.names()]
NO_LIMIT = 1 << 30


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    compiler = shutil.which("cc")
    if compiler is None and os.environ.get("PEERS") != "required":
        pytest.skip("there is no C compiler here: `make test-peers` runs this test")
    path = tmp_path_factory.mktemp("c") / "generate"
    source = Path(__file__).with_name("generate.c")
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *flags, "-o", path, source], check=True)
    return path


def numbers(case):
    """Return a recipe as the whole numbers that the program reads."""
    options = case["options"]
    left, right = options.get("window") or (None, None)
    lengths = (
        options.get("query_lengths", [case["queries"]]),
        options.get("key_lengths", [case["keys"]]),
    )
    limited = options.keys() & {"causal", "window", "query_lengths"}
    axes = [
        sum(8 >> "bhqk".index(axis) for axis in case[name] if axis != "1")
        for name in ("mask", "bias")
    ]
    return [
        *(case["seed"], *([1, 1] + case["lead"])[-2:], case["key_heads"], case["queries"]),
        *(case["keys"], case["width"], case["value_width"], case["step"], case["sharpness"]),
        *(axes[0], case["hidden_first"], case["hidden_rows"], case["hidden_tile"], axes[1]),
        *(case["holes"], case["loud"], case["level"], "gradients" in case, bool(limited)),
        *(options.get("causal", False), options.get("offset", 0)),
        *(NO_LIMIT if x is None else x for x in (left, right)),
        *(len(lengths[0]), *(n for pair in zip(*lengths, strict=True) for n in pair)),
    ]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_c_makes_the_same_arrays(case, program):
    given = " ".join(str(int(n)) for n in numbers(case))
    printed = subprocess.run([program], input=given, capture_output=True, text=True, check=True)
    assert [int(n) for n in printed.stdout.split()] == list(case["checksums"].values())
