"""The files of the worked examples, their derivations, and the ledger of what is released."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from fractions import Fraction

import jsonschema
import mpmath
import numpy as np
import pytest

import selfattn_ref
from derivations import documents
from derivations.__main__ import main
from derivations.documents import DATA, LEDGER, Number, derive, parse, problems, read_ledger
from derivations.examples import DERIVATIONS
from derivations.gradients import central_differences, require_agreement
from selfattn_ref.worked_examples import load
from selfattn_ref.worked_examples._digest import content_id, digest
from tests.support.earlier import at_tags

TEXTS = {name: path.read_text("utf-8") for name, path in documents.example_files().items()}
DOCUMENTS = {name: parse(text) for name, text in TEXTS.items()}
SCHEMA = json.loads((DATA / "schema.json").read_text("utf-8"))
TRACE_SCHEMA = json.loads((DATA / "trace.schema.json").read_text("utf-8"))
SOFTMAX = {
    "function": "softmax",
    "arguments": {"x": "embeddings"},
    "kind": "value",
    "result": "weights_cave",
}
WITHDRAWN = {"on": "2027-01-31", "because": "The mask is upside down.", "see": "SA022"}
VALUES = ("what happens", "where")  # the columns of w_value in SA014 and SA024
EVERY_EXAMPLE = pytest.mark.parametrize("name", DOCUMENTS)


def validate(document):
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    jsonschema.Draft202012Validator(SCHEMA, format_checker=checker).validate(document)


def properties(schema):
    """Yield every property that a schema defines, with its description."""
    for name, part in schema.items():
        if name in ("oneOf", "allOf", "required", "enum"):
            continue  # which say more of properties that are defined elsewhere
        if name == "properties":
            yield from ((key, value.get("description", "")) for key, value in part.items())
        if isinstance(part, dict):
            yield from properties(part)


def numbers(value):
    if isinstance(value, list):
        return [number for item in value for number in numbers(item)]
    return [value] if isinstance(value, Number) else []


def same(loaded, entry):
    """Tell whether an array has the numbers of its file, where NaN and infinities are strings."""
    return np.array_equal(loaded, np.array(entry["value"], dtype=object).astype(float), True)


def with_first_number(value, number):
    if isinstance(value, list):
        return [with_first_number(value[0], number), *value[1:]]
    return number


class TestFiles:
    def test_the_folder_holds_the_examples_valid_schemas_and_the_digests_of_the_traces(self):
        assert {path.name for path in DATA.iterdir()} == {
            *(f"{name}.json" for name in DOCUMENTS),
            "digests.json",
            "generated.json",
            "schema.json",
            "trace.schema.json",
            "traces.json",
        }
        for schema in (SCHEMA, TRACE_SCHEMA):
            jsonschema.Draft202012Validator.check_schema(schema)

    def test_every_property_of_the_schema_is_described(self):
        described = dict([*properties(SCHEMA), *properties(TRACE_SCHEMA)])
        assert {"$schema", "calls", "withdrawn", "because", "absolute"} <= described.keys()
        assert [
            name for name, text in described.items() if not re.fullmatch("[A-Z`].+[.]", text)
        ] == []

    @EVERY_EXAMPLE
    def test_a_file_follows_the_schema_in_the_layout_that_is_written(self, name):
        validate(json.loads(TEXTS[name]))
        assert DOCUMENTS[name]["id"] == name
        in_order = [key for key in SCHEMA["properties"] if key in DOCUMENTS[name]]
        assert list(DOCUMENTS[name]) == in_order
        assert documents.file_text(DOCUMENTS[name]) == TEXTS[name]

    @pytest.mark.parametrize(
        "damage",
        [
            lambda d: d.pop("why"),
            lambda d: d.update(note="not in the format"),
            lambda d: d.update(id="SA5"),
            lambda d: d.update(released="2026-13-01"),
            lambda d: d.pop("$schema"),
            lambda d: d.update(since="next"),
            lambda d: d.update(withdrawn=WITHDRAWN | {"on": "soon"}),
            lambda d: d.update(withdrawn={"on": "2027-01-31", "see": None}),
            lambda d: d.update(withdrawn=WITHDRAWN | {"see": "the new one"}),
            lambda d: d.update(page="concepts/02_similarity"),
            lambda d: d.update(topics=[]),
            lambda d: d["provenance"].update(source="/tmp/notes.txt"),
            lambda d: d["inputs"]["sentence_cave"].update(value=[0.5, 1]),
            lambda d: d["inputs"]["embeddings"].pop("description"),
            lambda d: d["expected"]["weights_cave"].update(shape="2x2"),
            lambda d: d["expected"]["weights_cave"].pop("axes"),
            lambda d: d["expected"]["weights_cave"].update(role="soft"),
            lambda d: d["expected"]["weights_cave"].update(labels={"query": "words[-1]"}),
            lambda d: d["expected"]["weights_cave"].update(value=0.5),  # has no axes
            lambda d: d["inputs"]["embeddings"].pop("axes"),
            lambda d: d["inputs"]["embeddings"].update(axes=["One row a word"]),
            lambda d: d["expected"]["weights_cave"].update(value=["-inf"]),
            lambda d: d["tolerance"].update(absolute=0.1),
            lambda d: d["calls"].append({"function": "softmax", "arguments": {}, "kind": "value"}),
            lambda d: d["calls"].append(SOFTMAX | {"kind": "must_raise"}),
            lambda d: d["calls"].append(SOFTMAX | {"kind": "convention"}),
            lambda d: d["calls"].append(SOFTMAX | {"arguments": {"x": "embeddings[-1]"}}),
            lambda d: d["calls"].append(SOFTMAX | {"options": {"axis": "last"}}),
        ],
    )
    def test_the_schema_rejects_a_damaged_file(self, damage):
        document = json.loads(TEXTS["SA002"])
        damage(document)
        with pytest.raises(jsonschema.ValidationError):
            validate(document)

    def test_the_schema_accepts_a_call_and_a_withdrawal(self):
        validate(json.loads(TEXTS["SA002"]) | {"calls": [SOFTMAX], "withdrawn": WITHDRAWN})

    def test_no_two_topics_are_one_in_singular_and_plural(self):
        topics = {topic for document in DOCUMENTS.values() for topic in document["topics"]}
        assert {topic for topic in topics if f"{topic}s" in topics} == set()

    @EVERY_EXAMPLE
    def test_what_makes_a_causal_call_has_the_topic(self, name):
        calls = DOCUMENTS[name].get("calls", [])
        causal = any(call.get("options", {}).get("causal") for call in calls)
        assert not causal or "causal" in DOCUMENTS[name]["topics"]

    @EVERY_EXAMPLE
    def test_what_calls_for_heads_that_share_keys_has_the_topic(self, name):
        calls = DOCUMENTS[name].get("calls", [])
        shared = any(
            call.get("options", {}).get("grouped_heads")
            or "num_key_value_heads" in call["arguments"]
            or call["function"] == "repeat_key_value_heads"
            for call in calls
        )
        assert not shared or "grouped-heads" in DOCUMENTS[name]["topics"]

    @EVERY_EXAMPLE
    def test_its_arrays_are_rectangular_its_inputs_short_and_its_indices_within(self, name):
        inputs = DOCUMENTS[name]["inputs"]
        for entry in DOCUMENTS[name]["expected"].values():
            assert entry["shape"] == str(documents.shape(entry["value"]))
        for entry in inputs.values():
            documents.shape(entry["value"])  # raises for rows of different lengths
            assert all(re.fullmatch(r"-?\d{1,6}(\.\d{1,12})?", n) for n in numbers(entry["value"]))
            if "indices_of" in entry:
                target = inputs[entry["indices_of"]]["value"]
                assert all(0 <= int(index) < len(target) for index in entry["value"])
        if "words" in inputs and "embeddings" in inputs:
            assert len(inputs["words"]["value"]) == len(inputs["embeddings"]["value"])

    @EVERY_EXAMPLE
    def test_every_axis_has_a_name_and_a_label_for_each_entry_or_none(self, name):
        example = load(name)
        for group in ("inputs", "expected"):
            for key, entry in DOCUMENTS[name][group].items():
                sizes, axes = documents.shape(entry["value"]), example.axes[key]
                assert [axis.name for axis in axes] == entry.get("axes", []), key
                assert len(axes) == len(sizes), key
                assert set(entry.get("labels", {})) <= {axis.name for axis in axes}, key
                for axis, size in zip(axes, sizes, strict=True):
                    assert (axis.labels is not None) == (axis.name in entry.get("labels", {}))
                    assert axis.labels is None or len(axis.labels) == size, (key, axis)

    @EVERY_EXAMPLE
    def test_queries_are_rows_and_keys_columns_and_a_root_is_that_of_their_width(self, name):
        held = DOCUMENTS[name]["inputs"] | DOCUMENTS[name]["expected"]
        of = {
            role: [entry for entry in held.values() if entry.get("role") == role]
            for role in ("score", "weight", "key")
        }
        for entry in of["score"] + of["weight"]:
            if "query" in entry["axes"]:
                assert entry["axes"][-2:] == ["query", "key"]
        widths = {documents.shape(one["value"])[-1] for one in of["key"] if len(one["axes"]) > 1}
        for entry in held.values() if widths else ():
            roots = re.findall(r"divided by √(\d+)", entry["description"])
            assert {int(root) for root in roots} <= widths

    @pytest.mark.parametrize(
        "name, key, labels",
        [
            ("SA007", "weights_river", [("River", "Bank", "Flows")] * 2),
            ("SA013", "scores", [("alex", "alec"), ("alex", "alexa", "max", "zoe")]),
            ("SA024", "output_full_five", [("cat", "walks", "by", "the", "bank"), VALUES]),
            ("SA035", "weights", [(0.25, 1.0, 4.0), None]),
            ("SA029", "scores_by_distance", [(-4, -3, -2, -1, 0, 1, 2, 3, 4)]),
        ],
    )
    def test_labels_are_listed_or_those_that_a_reference_names(self, name, key, labels):
        assert [axis.labels for axis in load(name).axes[key]] == labels

    def test_titles_differ_and_an_example_supersedes_an_earlier_one(self):
        assert len({document["title"] for document in DOCUMENTS.values()}) == len(DOCUMENTS)
        for name, document in DOCUMENTS.items():
            earlier = document["supersedes"]
            assert earlier is None or (earlier in DOCUMENTS and earlier < name)
            other = document.get("withdrawn", {}).get("see")
            assert other is None or other in DOCUMENTS

    def test_no_example_is_of_a_version_to_come(self):
        def version(text):
            return tuple(map(int, text.split(".")))

        now = version(selfattn_ref.__version__)
        assert [d["id"] for d in DOCUMENTS.values() if version(d["since"]) > now] == []

    @pytest.mark.parametrize(
        "text, message",
        [
            ('{"value": NaN}', "NaN is not JSON"),
            ('{"value": -Infinity}', "-Infinity is not JSON"),
            ('{"value": 1, "value": 2}', "repeated key: value"),
        ],
    )
    def test_what_is_not_strict_json_is_refused(self, text, message):
        with pytest.raises(ValueError, match=message):
            parse(text)

    def test_rows_of_different_lengths_are_refused(self):
        with pytest.raises(ValueError, match="different lengths"):
            documents.shape([["1", "2"], ["3"]])


class TestDerivations:
    @EVERY_EXAMPLE
    def test_a_derivation_gives_every_stored_digit(self, name):
        document = documents.with_derived_values(DOCUMENTS[name])
        assert document == DOCUMENTS[name]
        derived = {key: entry["value"] for key, entry in document["expected"].items()}
        key, value = next((k, v) for k, v in derived.items() if numbers(v))
        neighbor = np.nextafter(float(numbers(value)[0]), np.inf).item()
        assert derived[key] != with_first_number(value, Number(repr(neighbor)))

    def test_every_derivation_belongs_to_an_example(self):
        assert {d["derivation"]["function"] for d in DOCUMENTS.values()} == set(DERIVATIONS)

    @pytest.mark.parametrize("spoiled", [None, "numpy", "selfattn_ref"])
    def test_they_import_neither_numpy_nor_the_library(self, spoiled, tmp_path):
        shutil.copytree(LEDGER.parent, tmp_path / "derivations")
        (tmp_path / "selfattn_ref.py").touch()
        if spoiled:
            with (tmp_path / "derivations" / "algebra.py").open("a", encoding="utf-8") as module:
                module.write(f"import {spoiled}\n")
        code = "import sys, derivations.__main__\nprint(*sys.modules)"
        command = [sys.executable, "-c", code]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        loaded = {module.partition(".")[0] for module in run.stdout.split()}
        assert "mpmath" in loaded
        assert loaded & {"numpy", "selfattn_ref"} == ({spoiled} if spoiled else set())

    def test_a_name_that_is_not_derived_is_an_error(self):
        document = parse(TEXTS["SA004"])
        document["expected"]["cosine"] = document["expected"].pop("dot")
        with pytest.raises(ValueError, match=r"SA004 expects cosine, but .* derives dot"):
            derive(document)

    def test_a_gradient_that_is_off_is_noticed(self):
        def cubes(x):
            return sum(entry**3 for row in x for entry in row)

        with mpmath.workdps(50):
            x = [[Fraction(1, 3), Fraction(2)], [Fraction(-1), Fraction(0)]]
            numerical = central_differences(cubes, x)
            exactly = [[3 * entry**2 for entry in row] for row in x]
            require_agreement("d_x", exactly, numerical)
            exactly[1][0] += Fraction(1, 10**30)
            with pytest.raises(ArithmeticError, match=r"d_x is off by 1\.0e-30"):
                require_agreement("d_x", exactly, numerical)

    def test_probabilities_that_do_not_add_up_to_one_are_refused(self):
        document = parse(TEXTS["SA032"])
        document["inputs"]["probabilities"]["value"][1][0] = Number("0.06")
        with pytest.raises(ArithmeticError, match="do not add up to one"):
            derive(document)


class TestLedger:
    def test_the_ledger_and_the_examples_agree(self):
        assert problems(read_ledger(), DOCUMENTS) == []

    def test_the_digests_of_the_draft_stay_as_they_are(self):
        ledger = {i: x for i, x in read_ledger().items() if i <= "SA108"}
        written = json.dumps(ledger, sort_keys=True)
        assert hashlib.sha256(written.encode()).hexdigest()[:16] == "67b00a53c6784c2d"

    def test_what_a_digest_leaves_out_stays_as_it_is(self):
        kinds = [
            (name, array, [entry.get(key) for key in ("shape", "integers", "indices_of")])
            for name in sorted(TEXTS)
            if name <= "SA108"
            for part in ("inputs", "expected")
            for array, entry in sorted(json.loads(TEXTS[name])[part].items())
        ]
        assert len(kinds) > 900
        written = json.dumps(kinds).encode()
        assert hashlib.sha256(written).hexdigest()[:16] == "c6a6d7b986308005"

    def test_a_lost_or_changed_id_of_an_earlier_version_is_noticed(self):
        before = {"SA001": "a", "SA002": "b", "SA003": None, "SA004": None}
        now = {"SA001": "a", "SA002": "c", "SA003": "d"}
        assert documents.forgotten(before, now) == ["SA002", "SA004"]
        assert documents.forgotten(before, before) == []
        for tag, ledger in at_tags(LEDGER).items():
            assert documents.forgotten(json.loads(ledger), read_ledger()) == [], tag

    @pytest.mark.parametrize(
        "part, change",
        [
            ("inputs", lambda d: d["scores"]["value"].__setitem__(0, Number("0.5"))),
            ("expected", lambda d: d["total"].update(value=Number("0.5"))),
            ("tolerance", lambda d: d.update(absolute=Number("1e-9"))),
            ("calls", lambda d: d[0].update(function="log_softmax")),
        ],
    )
    def test_a_changed_number_is_noticed_and_the_message_says_what_to_do(self, part, change):
        changed = parse(TEXTS["SA005"])
        change(changed[part])
        assert problems(read_ledger(), {**DOCUMENTS, "SA005": changed}) == [
            "SA005 is released and its numbers or calls have changed. A released example never "
            "changes: restore it, give the correction a new id, and name SA005 there as "
            '"supersedes".'
        ]

    def test_prose_and_the_way_to_write_a_number_may_change_and_true_is_not_one(self):
        changed, mask = parse(TEXTS["SA005"]), parse(TEXTS["SA016"])
        changed["why"] = "Another reason."
        changed["withdrawn"] = WITHDRAWN
        changed["expected"]["weights"] |= {"axes": ["word"], "labels": {"word": ["a"] * 5}}
        del changed["expected"]["weights"]["role"]
        assert changed["inputs"]["scores"]["value"][2] == "0.50"
        changed["inputs"]["scores"]["value"][2] = Number("0.5")
        assert documents.fingerprint(changed) == read_ledger()["SA005"]
        assert digest(documents.file_text(changed)) == read_ledger()["SA005"]
        mask["expected"]["mask"]["value"][0][0] = Number("1")
        assert documents.fingerprint(mask) != read_ledger()["SA016"]

    @pytest.mark.parametrize(
        "ledger, lost, message",
        [
            ({"SA005": None}, None, r"SA005 has a file but is not released: .* --release SA005"),
            ({}, "SA005", "SA005 is released but its file is gone"),
        ],
    )
    def test_what_is_not_released_or_gone_is_noticed(self, ledger, lost, message):
        files = {name: document for name, document in DOCUMENTS.items() if name != lost}
        (problem,) = problems(read_ledger() | ledger, files)
        assert re.match(message, problem)

    def test_what_is_superseded_is_withdrawn_and_names_what_supersedes_it(self):
        files = {**DOCUMENTS, "SA022": DOCUMENTS["SA022"] | {"supersedes": "SA016"}}
        (problem,) = problems(read_ledger(), files)
        assert problem.startswith("SA022 supersedes SA016, which has to be withdrawn: say there")
        files["SA016"] = DOCUMENTS["SA016"] | {"withdrawn": WITHDRAWN}
        assert problems(read_ledger(), files) == []

    def test_an_id_that_the_ledger_lost_is_noticed(self):
        ledger, files = (
            {i: x for i, x in all_.items() if i != "SA012"} for all_ in (read_ledger(), DOCUMENTS)
        )
        assert "missing: ['SA012']" in problems(ledger, files)[0]


class TestCommandLine:
    @pytest.fixture
    def copy(self, tmp_path):
        """Return the first nine examples, as all take a second each time, and their ledger."""
        (tmp_path / "data").mkdir()
        ledger = {name: digest for name, digest in read_ledger().items() if name < "SA010"}
        for name in ledger:
            shutil.copy(DATA / f"{name}.json", tmp_path / "data")
        (tmp_path / "released.json").write_text(json.dumps(ledger), encoding="utf-8")
        return {"data": tmp_path / "data", "ledger": tmp_path / "released.json"}

    @pytest.fixture
    def edited(self, copy):
        """Return the path of an example in which a number was changed by hand."""
        path = copy["data"] / "SA004.json"
        path.write_text(TEXTS["SA004"].replace("1.94", "1.95"), encoding="utf-8")
        return path

    def test_checking_prints_a_line_for_each_example(self, copy, capsys):
        assert main([], **copy) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines == [f"SA{number:03d} agrees" for number in range(1, 10)]

    def test_checking_fails_on_a_changed_number_even_if_it_was_released(self, copy, edited, capsys):
        assert main([], **copy) == 1
        assert "SA004 is released and its numbers or calls have changed" in capsys.readouterr().out
        entries = read_ledger(copy["ledger"])
        entries["SA004"] = documents.fingerprint(documents.read(edited))
        copy["ledger"].write_text(json.dumps(entries), encoding="utf-8")
        assert main([], **copy) == 1
        assert capsys.readouterr().out.count("SA004 differs: dot\n") == 1

    def test_a_released_example_is_not_overwritten(self, copy, capsys):
        path, before = copy["data"] / "SA004.json", read_ledger(copy["ledger"])
        changed = TEXTS["SA004"].replace("0.7, 0.8, 0.9", "0.7, 0.8, 0.8")
        path.write_text(changed, "utf-8")
        assert main(["--write", "SA004"], **copy) == 1
        assert path.read_text("utf-8") == changed
        assert main(["--release", "SA004"], **copy) == 1
        assert read_ledger(copy["ledger"]) == before
        assert "new id that supersedes it" in capsys.readouterr().out
        assert main(["--write", "SA009"], **copy) == 0  # it is right, and stays as it is
        assert (copy["data"] / "SA009.json").read_text("utf-8") == TEXTS["SA009"]


class TestTheFileIsWhatIsLoaded:
    def test_its_id_is_the_one_that_git_gives_it(self):
        # What `git hash-object` says of these two contents.
        known = {
            b"": "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
            b"hello\n": "ce013625030ba8dba906f756967f9e9ca394464a",
        }
        assert {content: content_id(content) for content in known} == {
            content: f"swh:1:cnt:{name}" for content, name in known.items()
        }
        for name, path in documents.example_files().items():
            assert load(name).swhid == content_id(path.read_bytes())

    @EVERY_EXAMPLE
    def test_an_example_has_the_texts_and_the_doubles_of_its_file(self, name):
        document, example = json.loads(TEXTS[name]), load(name)
        for field in ("id", "title", "why", "page", "released", "since", "supersedes"):
            assert getattr(example, field) == document[field]
        assert list(example.topics) == document["topics"]
        for field in ("derivation", "provenance", "tolerance"):
            assert getattr(example, field)._asdict() == document[field]
        for part in ("inputs", "expected"):
            loaded = getattr(example, part)
            assert list(loaded) == list(document[part])
            for key, entry in document[part].items():
                assert example.descriptions[key] == entry["description"]
                assert np.array_equal(loaded[key], entry["value"]) or same(loaded[key], entry)
