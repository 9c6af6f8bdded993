"""A withdrawn example: none exists, so one is made up in a copy of the package."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from derivations.documents import ROOT
from selfattn_ref.worked_examples import cases, ids, load
from tests.examples.test_data import WITHDRAWN

DATA = "selfattn_ref/worked_examples/data/SA016.json"
SAID = "SA016 was withdrawn on 2027-01-31: The mask is upside down. See SA022."


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run Python where SA016 is withdrawn; return exit code, output and errors."""
    root = tmp_path_factory.mktemp("withdrawn")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "selfattn_ref", root / "selfattn_ref", ignore=ignored)
    document = json.loads((root / DATA).read_text("utf-8"))
    (root / DATA).write_text(json.dumps(document | {"withdrawn": WITHDRAWN}), "utf-8")

    def run(*arguments):
        command = [sys.executable, "-W", "error", *arguments]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    return run


def command(run, *arguments):
    return run("-m", "selfattn_ref.worked_examples", *arguments)


@pytest.fixture(scope="module")
def found(run):
    code, out, err = run(
        "-c",
        "import json\n"
        "from selfattn_ref.worked_examples import cases, ids, load, slips\n"
        "example = load('SA016')\n"
        "print(json.dumps({\n"
        "    'repr': repr(example), 'why': example.withdrawn._asdict(),\n"
        "    'digest': example.digest, 'swhid': example.swhid,\n"
        "    'output': example.expected['output'].tolist(), 'calls': len(example.calls),\n"
        "    'ids': ids(), 'of a function': ids('scaled_dot_product_attention'),\n"
        "    'cases': [example.id for example, _ in cases()],\n"
        "    'caught by': [c.example for calls in slips.matrix().values() for c in calls],\n"
        "}))",
    )
    assert (code, err) == (0, "")
    return json.loads(out)


class TestFromPython:
    def test_it_loads_without_a_warning_and_says_so(self, found):
        assert found["repr"] == "SA016: Causal mask, step by step (withdrawn)"
        assert found["why"] == WITHDRAWN

    def test_its_numbers_and_its_digest_stay_and_only_its_file_is_another(self, found):
        example = load("SA016")
        assert found["digest"] == example.digest
        assert found["output"] == example.expected["output"].tolist()
        assert found["calls"] == len(example.calls)
        assert found["swhid"] != example.swhid

    def test_it_is_among_the_ids_and_not_among_the_cases(self, found):
        assert found["ids"] == list(ids())
        others = [i for i in ids("scaled_dot_product_attention") if i != "SA016"]
        assert found["of a function"] == others
        assert found["cases"] == [example.id for example, _ in cases() if example.id != "SA016"]
        assert "SA016" not in found["caught by"]


class TestAtTheCommandLine:
    TARGET = "selfattn_ref:scaled_dot_product_attention"

    def test_it_is_listed_and_shown_with_the_reason(self, run):
        assert "SA016: Causal mask, step by step (withdrawn)\n" in command(run, "list")[1]
        code, out, _ = command(run, "show", "SA016")
        assert (code, out.splitlines()[2]) == (0, SAID)

    def test_all_are_checked_without_it(self, run):
        code, out, _ = command(run, "check", "all", self.TARGET)
        assert code == 0
        assert not re.search("^SA016", out, re.M)

    def test_by_itself_it_cannot_be_checked(self, run):
        assert command(run, "check", "SA016", self.TARGET) == (2, "", f"cannot run: {SAID}\n")

    def test_a_citation_of_it_can_still_be_verified(self, run):
        code, out, _ = command(run, "verify", f"SA016@1.0.0#sha256:{load('SA016').digest}")
        assert code == 0
        assert out.splitlines()[:2] == [
            "SA016 is the one that is cited: Causal mask, step by step, cited from 1.0.0",
            SAID,
        ]

    def test_it_is_exported(self, run):
        assert command(run, "export", "out")[0] == 0
