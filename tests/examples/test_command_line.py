"""The worked examples at the command line: what it prints, and the exit codes 0, 1 and 2."""

import os
import re
import subprocess
import sys

import pytest

import selfattn_ref
from derivations.documents import DATA, ROOT
from selfattn_ref.worked_examples import cases, ids, load
from selfattn_ref.worked_examples.__main__ import main

MODULE = """
import numpy as np
from selfattn_ref import scaled_dot_product_attention as right
from selfattn_ref import scaled_dot_product_attention_vjp, softmax


def wrong(query, key, value, **keywords):
    return right(query, key, key, **keywords)


def single(query, key, value, **keywords):
    query, key, value = (x.astype(np.float32) for x in (query, key, value))
    return right(query, key, value, **keywords)


def plain(q, k, v, *, mask=None):
    return right(q, k, v, mask=mask)


def named_otherwise(q, k, v, attn_mask=None, *, scale=None):
    return right(q, k, v, mask=attn_mask, scale=scale)


def bare(q, k, v, /):
    return right(q, k, v)


def scaled(q, k, v, *, scale):
    return right(q, k, v, scale=scale)


def gradients(query, key, value, d_output, **keywords):
    return tuple(scaled_dot_product_attention_vjp(query, key, value, d_output, **keywords))


def gradients_in_another_order(*args, **keywords):
    return gradients(*args, **keywords)[::-1]


class Tensor:
    def __init__(self, array):
        self.array = array


class Single(Tensor):
    def __init__(self, array):
        assert array.dtype in (np.float32, bool)
        array += array  # it may be changed
        self.array = array / np.float32(2) if array.dtype == np.float32 else array


def on_tensors(query, key, value, **keywords):
    query, key, value = query.array, key.array, value.array
    mask = {n: keywords.pop(n).array for n in ("mask", "bias") if n in keywords}
    return right(query, key, value, **mask, **keywords)


def fails(query, key, value, **keywords):
    return {}["missing"]


class Layer:
    @staticmethod
    def forward(query, key, value, **keywords):
        return right(query, key, value, **keywords)


number = 3
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in a folder with a module of the user's; return code, output and errors."""
    (tmp_path / "mine.py").write_text(MODULE, "utf-8")
    (tmp_path / "needy.py").write_text("import not_there_at_all\n", "utf-8")
    (tmp_path / "broken.py").write_text("raise SystemExit('no')\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])

    def run(*arguments):
        for name in ("mine", "needy", "broken"):
            sys.modules.pop(name, None)
        code = main(arguments)
        return code, *capsys.readouterr()

    return run


class TestCheck:
    def test_what_agrees_has_a_line_each_and_the_code_0(self, run):
        code, out, err = run("check", "all", "mine:right")
        *lines, summary = out.splitlines()
        assert (code, err) == (0, "")
        assert len(lines) == len(cases())
        assert all(re.match(r"SA\d{3} checked: scaled_dot_product_attention\(", x) for x in lines)
        examples = len({example.id for example, _ in cases()})
        assert summary == f"{len(lines)} calls of {examples} examples: {len(lines)} right"

    @pytest.mark.parametrize("target", ["mine:single", "mine:Layer.forward"])
    def test_another_dtype_and_a_method_are_tested_as_well(self, run, target):
        assert run("check", "all", target)[0] == 0

    def test_what_differs_is_shown_with_the_slip_that_it_looks_like_and_the_code_1(self, run):
        code, out, _ = run("check", "SA016", "mine:wrong")
        assert code == 1
        assert out.splitlines()[:3] == [
            "SA016 differs: scaled_dot_product_attention(query, key, value, mask)",
            "  result: 32 of 32 entries differ",
            "    result[0, 0]: got -1.58265754, expected -2.33028699, off by 0.748, "
            "allowed 3.48e-13",
        ]
        slip = (
            "  it is what the slip keys-as-values gives: the keys are mixed in place of the values"
        )
        assert out.splitlines().count(slip) == 2
        assert out.endswith("\n2 calls of 1 example: 2 different\n")

    def test_a_convention_is_named(self, run):
        code, out, _ = run("check", "SA022", "mine:right")
        assert code == 0
        assert "follows the convention zeros (6 numbers" in out

    def test_what_a_function_cannot_be_given_is_not_asked(self, run):
        code, out, _ = run("check", "SA016", "mine:plain")
        assert code == 0
        line = (
            "SA016 not asked: scaled_dot_product_attention(query, key, value, causal=True): "
            "mine:plain takes no causal"
        )
        assert out.splitlines()[1:] == [
            line,
            "2 calls of 1 example: 1 right, 1 not asked",
            "not asked for want of: causal 1",
            "These are given by name; mine:plain takes mask.",
        ]

    def test_what_was_lacking_is_counted_in_the_end(self, run):
        code, out, _ = run("check", "all", "mine:named_otherwise")
        lacking = [[n for n in call.kwargs if n != "scale"] for _, call in cases()]
        names = {name for names in lacking for name in names}
        counted = {name: sum(name in names for names in lacking) for name in names}
        *_, summary, wanted, taken = out.splitlines()
        assert code == 0
        assert f", {sum(map(bool, lacking))} not asked" in summary
        told = wanted.removeprefix("not asked for want of: ").split(", ")
        assert sorted(told) == sorted(f"{name} {n}" for name, n in counted.items())
        assert taken == "These are given by name; mine:named_otherwise takes attn_mask, scale."

    def test_those_that_differ_are_named_in_the_end(self, run):
        code, out, _ = run("check", "all", "mine:wrong")
        differing = list(dict.fromkeys(re.findall(r"^(SA\d{3}) differs", out, re.M)))
        assert code == 1
        assert out.endswith(f" different ({', '.join(differing)})\n")

    @pytest.mark.parametrize(
        "options", [["mine:Tensor"], ["mine:Single", "--dtype", "float32"]], ids=" ".join
    )
    def test_arrays_are_converted(self, run, options):
        code, out, _ = run("check", "all", "mine:on_tensors", "--convert", *options)
        assert code == 0
        assert out.endswith(f"{len(cases())} right\n")

    def test_who_takes_no_arrays_is_told_how_to_convert_them(self, run):
        code, out, _ = run("check", "all", "mine:on_tensors")
        assert code == 2
        hint = "Arrays are NumPy's. If yours takes others: --convert torch:tensor, for example.\n"
        assert out.endswith(hint)

    def test_a_function_that_raises_is_reported_with_type_message_and_line(self, run):
        code, out, _ = run("check", "SA006", "mine:fails")
        line = 1 + MODULE[: MODULE.index('["missing"]')].count("\n")
        assert code == 2
        assert out.splitlines() == [
            "SA006 failed: scaled_dot_product_attention(query, key, value, scale=1.0)",
            f"  mine:fails raised KeyError: 'missing' (mine.py, line {line})",
            "1 call of 1 example: 1 failed",
            "Arrays are NumPy's. If yours takes others: --convert torch:tensor, for example.",
        ]

    def test_to_run_for_some_only_is_the_code_2_too(self, run):
        code, out, _ = run("check", "SA009", "mine:scaled")
        assert code == 2
        assert out.splitlines()[-1] == "2 calls of 1 example: 1 right, 1 failed"

    def test_nothing_asked_is_the_code_2(self, run):
        code, out, _ = run("check", "SA006", "mine:bare")
        assert code == 2
        assert out.splitlines()[1:] == [
            "1 call of 1 example: 1 not asked",
            "not asked for want of: scale 1",
            "These are given by name; mine:bare takes none.",
        ]

    def test_another_function_is_chosen_by_an_option(self, run):
        code, out, _ = run("check", "SA005", "mine:softmax", "--function", "softmax")
        assert code == 0
        assert re.match(r"SA005 checked: softmax\(x\) agrees \(5 numbers, .*\)\n", out)

    def test_so_is_one_that_returns_several(self, run):
        chosen = ("--function", "scaled_dot_product_attention_vjp")
        code, out, _ = run("check", "all", "mine:gradients", *chosen)
        assert code == 0
        assert "d_output, mask) follows the convention zeros (18 numbers" in out
        assert "d_output) agrees (27 numbers" in out
        assert out.endswith("\n2 calls of 2 examples: 2 right\n")
        code, out, _ = run("check", "SA031", "mine:gradients_in_another_order", *chosen)
        assert code == 1
        assert "\n  d_query: 9 of 9 entries differ\n" in out
        assert "\n  d_value: 9 of 9 entries differ\n" in out

    @pytest.mark.parametrize(
        "arguments, message",
        [
            (["SA999", "mine:right"], "no worked example has the id 'SA999'; the nearest are "),
            (["SA005", "mine:right"], "SA005 has no call of scaled_dot_product_attention; choose "
             "one with --function: softmax"),
            (["SA017", "mine:right"], "SA017 has no call of scaled_dot_product_attention; it calls "
             "no function"),
            (["all", "mine:right", "--function", "sofmax"], "no worked example calls 'sofmax'; did "
             "you mean softmax?"),
            (["all", "mine"], "a function is named as module:function, such as "
             "mymodule:my_attention; got 'mine'"),
            (["all", "nobody:right"], "there is no module 'nobody', neither in "),
            (["all", "needy:right"], "needy imports not_there_at_all, which is not installed"),
            (["all", "broken:right"], "importing broken raised SystemExit: no"),
            (["mine:right", "all"], "the id comes before the function, as in: check all mine:"),
            (["all", "mine.py:right"], "there is no module 'mine.py', neither in "),
            (["all", "mine:right", "--convert", "mine:Tenso"], "mine has no 'Tenso'; did you mean "
             "Tensor?"),
            (["all", "mine:rigt"], "mine has no 'rigt'; did you mean right?"),
            (["all", "mine:Layer.back"], "mine has no 'Layer.back'"),
            (["all", "mine:number"], "mine:number is int, not a function"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_run_says_why_and_has_the_code_2(self, run, arguments, message):
        code, out, err = run("check", *arguments)
        assert (code, out) == (2, "")
        assert err.startswith(f"cannot run: {message}")

    def test_a_module_of_the_current_folder_is_found_from_the_shell(self, run, tmp_path):
        done = in_shell("check", "SA006", "mine:wrong", cwd=tmp_path)
        assert done.returncode == 0  # its keys are its values
        assert done.stdout.splitlines()[-1] == "1 call of 1 example: 1 right"


def in_shell(*arguments, cwd, **settings):
    settings["PYTHONPATH"] = str(DATA.parents[2])
    command = [sys.executable, "-m", "selfattn_ref.worked_examples", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=settings)


class TestAReaderThatCloses:
    """Such as `list | head -1`; what is not read any more must not end in a traceback."""

    @pytest.mark.parametrize(
        "arguments, code",
        [
            (["list"], 0),
            (["show", "SA016"], 0),
            (["check", "SA016", "mine:right"], 0),
            (["check", "SA016", "mine:wrong"], 1),
            (["check", "SA016", "mine:number"], 2),
        ],
    )
    def test_the_exit_code_is_that_of_the_whole_command(self, tmp_path, arguments, code):
        (tmp_path / "mine.py").write_text(MODULE, "utf-8")
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, "-m", "selfattn_ref.worked_examples", *arguments]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        with os.fdopen(writer, "wb") as closed:
            run = subprocess.run(
                command, cwd=tmp_path, env=environment, stdout=closed, stderr=subprocess.PIPE
            )
        assert run.returncode == code
        said = b"cannot run: mine:number is int, not a function\n" if code == 2 else b""
        assert run.stderr == said


class TestListAndShow:
    def test_every_example_is_listed_with_the_functions_that_it_calls(self, run):
        code, out, _ = run("list")
        assert code == 0
        assert [x for x in out.splitlines() if x[0] != " "] == [repr(load(i)) for i in ids()]
        assert "SA005: Softmax by hand\n       softmax\n" in out
        code, out, _ = run("list", "--function", "euclidean_distance")
        assert out.startswith("SA001: Three words, three similarities\n       dot_similarity, ")
        assert out.count("SA") == 1
        assert run("list", "--function", "sofmax")[0] == 2

    @pytest.mark.parametrize("example_id", ids())
    def test_inputs_and_expected_values_are_shown(self, run, example_id):
        code, out, _ = run("show", example_id)
        example = load(example_id)
        assert code == 0
        assert out.startswith(f"{example!r}\n{example.why}\n")
        assert "\n\nInputs\n" in out
        for name, value in {**example.inputs, **example.expected}.items():
            assert f": {example.descriptions[name]}\n    {str(value)[:2]}" in out
        for call in example.calls:
            assert f"\n  {repr(call).removeprefix(f'{example_id}: ')}" in out
        assert out.splitlines()[-2:] == [
            f"To cite: {example_id}@{selfattn_ref.__version__}#sha256:{example.digest}",
            f"The file: {example.swhid} (changes with its prose; the digest does not)",
        ]

    def test_an_array_has_the_names_of_its_axes_and_a_number_has_none(self, run):
        _, out, _ = run("show", "SA013")
        assert "\n  weights (scale, query, key): Softmax of" in out
        _, out, _ = run("show", "SA005")
        assert "\n  total: " in out

    def test_a_console_that_knows_ascii_only_gets_the_rest(self, tmp_path):
        done = in_shell("show", "SA020", cwd=tmp_path, PYTHONIOENCODING="ascii")
        assert (done.returncode, done.stderr) == (0, "")
        assert "The scores divided by ?64." in done.stdout

    def test_an_unknown_id_cannot_be_shown(self, run):
        assert run("show", "SA16") == (
            2, "", "cannot run: no worked example has the id 'SA16'; the nearest are SA015, SA016, "
            "SA017\n",
        )  # fmt: skip


def test_an_unknown_command_has_the_code_2_and_says_which_there_are(capsys):
    with pytest.raises(SystemExit) as left:
        main(["chek"])
    assert left.value.code == 2
    assert "list" in capsys.readouterr().err
