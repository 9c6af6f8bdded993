"""The worked examples at the command line: what it prints, and the exit codes 0, 1 and 2."""

import json
import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

import selfattn_ref
from derivations.documents import DATA, ROOT
from selfattn_ref.worked_examples import calls, ids, load
from selfattn_ref.worked_examples.__main__ import main
from selfattn_ref.worked_examples._selection import generated
from tests.examples.users import MODULE


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


CALLS = calls()
OPTIONS = "mask,bias,scale,soft_cap,causal,offset"
BARE = "conventions: no call depends on one\nrefusals: not asked (--refusals)\n"


class TestCheck:
    def test_what_agrees_has_a_line_each_and_the_code_0(self, run):
        code, out, err = run("check", "examples", "mine:right", "--verbose")
        *lines, numbers, conventions, refusals = out.splitlines()
        assert (code, err) == (0, "")
        said = [f"{call} checked: {call.without_capabilities().written} " for call in CALLS]
        assert all(x.startswith(start) for x, start in zip(lines, said, strict=True))
        examples = len({call.example for call in CALLS})
        assert numbers == f"numbers: {len(lines)} calls of {examples} examples: {len(lines)} right"
        assert "; cap and bias: cap-before-bias" in conventions
        assert refusals == "refusals: not asked (--refusals)"

    def test_all_are_the_examples_and_the_generated_cases(self, run):
        code, out, _ = run("check", "all", "mine:right", "--verbose")
        assert code == 0
        asked = re.findall(r"^(\S+) checked: ", out, re.M)
        assert asked[: len(CALLS)] == [call.id for call in CALLS]
        cases = generated.names() if generated else ()
        assert {*asked[len(CALLS) :]} <= {*cases}

    @pytest.mark.parametrize("target", ["mine:single", "mine:Layer.forward"])
    def test_another_dtype_and_a_method_are_tested_as_well(self, run, target):
        assert run("check", "examples", target, "--require", OPTIONS)[0] == 0

    def test_what_differs_is_shown_with_the_slips_and_the_code_1(self, run):
        code, out, _ = run("check", "SA016", "mine:wrong", "--require", "mask,causal")
        assert code == 1
        lines = out.splitlines()
        assert lines[:2] == [
            "SA016-1 differs: scaled_dot_product_attention(query, key, value, mask)",
            "  result: 32 of 32 entries differ",
        ]
        assert lines[2].startswith("    result[0, 0]: got -1.58265754, expected -2.33028699, off ")
        assert lines[-5:] == [
            "numbers: 2 calls of 1 example: 2 different (SA016-1, SA016-2)",
            "  consistent with the slip keys-as-values: the keys are mixed instead of the values",
            "  the smallest that differs: SA016-2, scaled_dot_product_attention(query, key, value, "
            "causal=True)",
            *BARE.splitlines(),
        ]

    def test_all_calls_together_name_the_slip(self, run):
        code, out, _ = run("check", "all", "mine:wrong", "--require", OPTIONS)
        assert code == 1
        said = "it is what the slip keys-as-values gives: the keys are mixed instead of the values"
        assert f"\n  {said}\n" in out
        differing = re.findall(r"^(\S+) differs: ", out, re.M)
        assert f" different ({', '.join(differing[:12])} and {len(differing) - 12} more)" in out

    def test_one_call_may_be_asked(self, run):
        code, out, _ = run("check", "SA016-2", "mine:right")
        assert code == 0
        assert out.startswith("SA016-2 checked: ")
        assert "numbers: 1 call of 1 example: 1 right\n" in out

    def test_what_a_function_cannot_be_given_is_not_asked_and_said_first(self, run):
        code, out, _ = run("check", "SA016", "mine:plain")
        assert code == 0
        assert out.splitlines()[1:] == [
            "SA016-2 not asked: scaled_dot_product_attention(query, key, value, causal=True): "
            "the function takes no causal",
            "mine:plain takes no causal: 1 call not asked.",
            "It takes mask.",
            "numbers: 2 calls of 1 example: 1 right, 1 not asked",
            *BARE.splitlines(),
        ]

    def test_names_of_other_libraries_are_recognized(self, run):
        code, out, _ = run("check", "examples", "mine:named_otherwise")
        wanting = {"mask", "bias", "soft_cap", "causal"}
        lacking = [c for c in CALLS if c.without_capabilities().kwargs.keys() & wanting]
        first = next(line for line in out.splitlines() if not line.startswith("SA"))
        assert code == 0
        assert first == (
            "mine:named_otherwise takes no mask, bias, soft_cap, causal or offset: "
            f"{len(lacking)} calls not asked. Perhaps --rename mask=attn_mask."
        )
        code, out, _ = run(
            "check", "examples", "mine:named_otherwise", "--rename", "mask=attn_mask", "--verbose"
        )
        assert code == 0
        assert "mine:named_otherwise takes no bias, soft_cap, causal or offset: " in out
        assert "\nSA016-1 checked: " in out
        code, out, _ = run("check", "SA016", "mine:as_torch")
        assert (
            "mine:as_torch takes no mask or causal: 2 calls not asked. Perhaps --like torch." in out
        )

        # Whose keywords have other names than PyTorch's is told these.
        code, out, _ = run("check", "SA016", "mine:as_nobody")
        assert "Perhaps --rename mask=attn_mask and --rename causal=is_causal." in out
        several = "mask=attn_mask,causal=is_causal,scale=softmax_scale"
        assert run("check", "SA016", "mine:as_nobody", "--rename", several)[0] == 0

    def test_only_what_is_wrong_has_a_line_if_all_are_asked(self, run):
        code, out, _ = run("check", "examples", "mine:plain")
        assert code == 0
        assert not re.search(r"^SA", out, re.M)
        out = run("check", "examples", "mine:wrong", "--require", OPTIONS)[1]
        assert {*re.findall(r"^SA\d+-\d+ (\w+)", out, re.M)} == {"differs"}

    def test_what_is_required_has_to_be_asked(self, run):
        code, out, _ = run("check", "examples", "mine:plain", "--require", "mask,causal")
        assert code == 2
        assert out.endswith("\nrequired, but not asked: causal\n")
        assert run("check", "examples", "mine:plain", "--require", "mask")[0] == 0
        code, out, _ = run("check", "SA016", "mine:right", "--require", "bias")
        assert code == 2
        assert out.endswith("\nrequired, but not asked: bias\n")

    def test_who_does_not_say_what_it_takes_claims_nothing(self, run):
        code, out, _ = run("check", "SA016", "mine:Layer.forward")
        assert code == 2
        assert "mine:Layer.forward does not say what it takes, so nothing is claimed. " in out
        assert run("check", "SA016", "mine:Layer.forward", "--require", "mask,causal")[0] == 0
        code, out, _ = run("check", "SA016", "mine:Layer.forward", "--require", "mask")
        assert code == 0
        assert "SA016-2 not asked: " in out

    def test_who_refuses_a_keyword_after_all_is_not_asked(self, run):
        code, out, _ = run("check", "SA016", "mine:hidden")
        assert code == 2
        assert (
            "SA016-2 not asked: scaled_dot_product_attention(query, key, value, causal=True): "
            in out
        )

    @pytest.mark.parametrize(
        "options", [["mine:Tensor"], ["mine:Single", "--dtype", "float32"]], ids=" ".join
    )
    def test_arrays_are_converted(self, run, options):
        asked = ("check", "examples", "mine:on_tensors", "--require", OPTIONS)
        code, out, _ = run(*asked, "--convert", *options)
        assert code == 0
        assert f" {len(CALLS)} right\n" in out
        code, out, _ = run(*asked)
        assert code == 2
        hint = "Arrays are NumPy's. If yours takes others: --like torch, or --convert torch:"
        assert hint in out.splitlines()[-1]

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    def test_half_a_precision_is_one_of_numpy_or_of_ml_dtypes(self, run, dtype, monkeypatch):
        code, out, _ = run("check", "SA016", "mine:in_half", "--dtype", dtype)
        assert code == 0
        assert "SA016-2 checked: " in out
        monkeypatch.setitem(sys.modules, "ml_dtypes", None)
        code, _, err = run("check", "SA016", "mine:in_half", "--dtype", dtype)
        assert code == (2 if dtype == "bfloat16" else 0)
        assert err.startswith("cannot run: NumPy has no bfloat16: add --like") == bool(code)

    def test_axes_may_come_in_another_order(self, run):
        chosen = ("check", "examples", "mine:length_first")
        assert run(*chosen)[0] != 0
        code, out, _ = run(*chosen, "--layout", "BTHD")
        assert code == 0
        assert f"numbers: {len(CALLS)} calls" in out

    def test_what_a_function_can_do_without_a_keyword_is_told(self, run):
        assert run("check", "SA016", "mine:plain", "--has", "grouped_heads")[0] == 0
        code, _, err = run("check", "SA016", "mine:plain", "--has", "grouped")
        assert (code, err) == (2, "cannot run: no call has grouped; there are bias, causal, "
            "grouped_heads, key_lengths, mask, offset, query_lengths, return_log_sum_exp, scale, "
            "soft_cap, window\n")  # fmt: skip

    def test_refusals_are_asked_if_one_wants(self, run):
        code, out, _ = run("check", "examples", "mine:right", "--refusals")
        number = len(calls(refusals=True)) - len(CALLS)
        assert code == 0
        assert f"\nrefusals: {number} calls of 1 example: {number} right\n" in out
        code, out, _ = run("check", "SA052", "mine:lax", "--refusals", "--require", OPTIONS)
        assert code == 1
        assert "it raised ZeroDivisionError: division by zero, which is no refusal" in out
        code, out, _ = run("check", "SA052", "mine:fails", "--refusals")
        assert code == 2
        assert "not asked: scaled_dot_product_attention(query, key, value): good calls come" in out

    def test_a_function_that_raises_is_reported_with_type_message_and_line(self, run):
        code, out, _ = run("check", "SA006", "mine:fails", "--require", "scale")
        line = 1 + MODULE[: MODULE.index('["missing"]')].count("\n")
        assert code == 2
        assert out.splitlines()[:2] == [
            "SA006-1 failed: scaled_dot_product_attention(query, key, value, scale=1.0): "
            f"KeyError: 'missing' (mine.py, line {line})",
            "numbers: 1 call of 1 example: 1 failed (SA006-1)",
        ]

    def test_nothing_asked_is_the_code_2(self, run):
        code, out, _ = run("check", "SA006", "mine:bare")
        assert code == 2
        assert out.splitlines()[1:] == [
            "mine:bare takes no scale: 1 call not asked.",
            "numbers: 1 call of 1 example: 1 not asked",
            *BARE.splitlines(),
        ]

    def test_some_may_be_skipped_or_expected_to_differ(self, run, tmp_path):
        wrong = ("check", "SA016", "mine:half_wrong")
        assert run(*wrong)[0] == 1
        code, out, _ = run(*wrong, "--skip", "SA016-2,SA022")
        assert code == 0
        assert "2 calls of 1 example: 1 right, 1 skipped\n" in out
        (tmp_path / "known.txt").write_text("# as we know\nSA016-2  # causal\n\n", "utf-8")
        code, out, _ = run(*wrong, "--xfails", "known.txt")
        assert code == 0
        assert "1 right, 1 differs as expected (SA016-2)\n" in out
        code, out, _ = run("check", "SA016", "mine:right", "--xfails", "known.txt")
        assert code == 1
        assert "1 right, 1 agrees unexpectedly (SA016-2)\n" in out

    def test_the_report_is_written_as_json_and_as_junit(self, run, tmp_path):
        files = ("--json", "report.json", "--junit", "report.xml")
        code, _, _ = run("check", "SA016", "mine:half_wrong", *files)
        found = json.loads((tmp_path / "report.json").read_text("utf-8"))
        assert (code, found["exit_code"]) == (1, 1)
        assert [(c["id"], c["verdict"]) for c in found["calls"]] == [
            ("SA016-1", "right"), ("SA016-2", "different")]  # fmt: skip
        suite = ElementTree.parse(tmp_path / "report.xml").getroot()
        assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
        assert [case.get("name") for case in suite] == ["SA016-1", "SA016-2"]
        code, out, _ = run("check", "SA016", "mine:half_wrong", "--json", "-")
        again = json.loads(out)
        for report in (found, again):
            for call in report["calls"]:
                del call["seconds"]
        assert again == found
        code, _, err = run("check", "SA016", "mine:right", "--json", "no/folder")
        assert (code, err) == (2, "cannot run: No such file or directory: no/folder\n")

    def test_another_function_is_chosen_by_an_option(self, run):
        code, out, _ = run("check", "SA005", "mine:softmax", "--function", "softmax")
        assert code == 0
        assert re.match(r"SA005-1 checked: softmax\(x\) agrees \(5 numbers, .*\)\n", out)

    def test_so_is_one_that_returns_several(self, run):
        chosen = ("--function", "scaled_dot_product_attention_vjp", "--require", "mask")
        code, out, _ = run("check", "all", "mine:gradients", *chosen, "--verbose")
        assert code == 0
        assert "d_output, mask) follows the convention zeros (18 numbers" in out
        assert "d_output) agrees (27 numbers" in out
        code, out, _ = run("check", "SA031", "mine:gradients_in_another_order", *chosen)
        assert code == 1
        assert "\n  d_query: 9 of 9 entries differ\n" in out
        assert "\n  d_value: 9 of 9 entries differ\n" in out

    @pytest.mark.parametrize(
        "arguments, message",
        [
            (["SA999", "mine:right"], "no worked example has the id 'SA999'; the nearest are "),
            (["SA016-3", "mine:right"], "there is no call SA016-3; there are SA016-1, SA016-2"),
            (["SA005", "mine:right"], "SA005 has no call of scaled_dot_product_attention; choose "
             "one with --function: softmax"),
            (["SA017", "mine:right"], "SA017 has no call of scaled_dot_product_attention; it calls "
             "no function"),
            (["all", "mine:right", "--function", "sofmax"], "no worked example calls 'sofmax'; did "
             "you mean softmax?"),
            (["generated", "mine:right", "--function", "softmax"], "there are no generated cases "
             "of softmax"),
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
            (["all", "mine:plain", "--rename", "causal=is_causal"], "--rename is NAME=YOURS, and "
             "it takes no is_causal; it takes k, mask, q, v"),
            (["all", "mine:plain", "--rename", "causal"], "--rename is NAME=YOURS, and "),
            (["all", "mine:plain", "--like", "torch", "--convert", "mine:Tensor"], "--like says "),
            (["all", "mine:right", "--skip", "SA0016"], "there is no example, call or case "
             "'SA0016'; did you mean SA"),
            (["all", "mine:right", "--xfails", "none.txt"], "none.txt cannot be read: "),
        ],
    )  # fmt: skip
    def test_what_cannot_be_run_says_why_and_has_the_code_2(self, run, arguments, message):
        code, out, err = run("check", *arguments)
        assert (code, out) == (2, "")
        assert err.startswith(f"cannot run: {message}")

    def test_a_module_of_the_current_folder_is_found_from_the_shell(self, run, tmp_path):
        done = in_shell("check", "SA006", "mine:wrong", "--require", "scale", cwd=tmp_path)
        assert done.returncode == 0  # its keys are its values
        assert "numbers: 1 call of 1 example: 1 right\n" in done.stdout


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
            (["check", "SA016", "mine:counting"], 0),
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
        if "mine:counting" in arguments:  # nothing is run twice
            count = (tmp_path / "count.txt").stat().st_size
            subprocess.run(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
            assert (tmp_path / "count.txt").stat().st_size == 2 * count
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
