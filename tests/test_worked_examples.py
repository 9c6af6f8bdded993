"""The worked examples: their files, their numbers, and how they are compared.

Nothing here uses the rest of the package, except `TestTheLibraryReproducesEveryExample`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import numpy as np
import pytest

from selfattn_ref.worked_examples import WorkedExampleMismatch, ids, load
from tests.derivations.__main__ import main
from tests.derivations.documents import (
    DATA,
    LEDGER,
    ROOT,
    Ledger,
    Number,
    derive,
    exact,
    example_files,
    file_text,
    fingerprint,
    forgotten,
    parse,
    problems,
    read,
    read_ledger,
    shape,
    with_derived_values,
)
from tests.derivations.examples import DERIVATIONS

DOCUMENTS = {example_id: read(path) for example_id, path in example_files().items()}
EVERY_EXAMPLE = pytest.mark.parametrize("example_id", sorted(DOCUMENTS))

# Typed by hand, as printed: the table of the book's plan (6 decimals), products done on paper,
# a separate calculation with 25 decimal digits, and the outputs of the source notebook (8
# decimals). The last digit of each is the nearest one, so a mistake in a derivation shows here.
HAND_TYPED: dict[str, dict[str, str]] = {
    "SA001": {
        "dot": "18 12 15; 12 16 0; 15 0 25",
        "cosine": "1.000000 .707107 .707107; .707107 1.000000 .000000; .707107 .000000 1.000000",
        "distance": ".000000 3.162278 3.605551; 3.162278 .000000 6.403124; "
        "3.605551 6.403124 .000000",
        "scaled_dot": "12.727922 8.485281 10.606602; 8.485281 11.313708 0.000000; "
        "10.606602 0.000000 17.677670",
    },
    "SA002": {
        "weights_cave": ".572704 .427296; .427296 .572704",
        "context_cave": "3.42730 1.71811; 3.57270 1.28189",
        "weights_racket": ".572704 .427296; .427296 .572704",
        "context_racket": "1.71811 3.85459; 1.28189 4.14541",
        "rounded_weights": ".571996 .428004",
    },
    "SA003": {
        "average_kitchen": ".300000 .733333",
        "lean_kitchen": ".433333",
        "average_git": ".766667 .300000",
        "lean_git": "-.466667",
    },
    "SA004": {
        "dot": ".14 .32 .50 .16 .17; .32 .77 1.22 .37 .47; .50 1.22 1.94 .58 .77; "
        ".16 .37 .58 .21 .21; .17 .47 .77 .21 .38",
    },
    "SA005": {
        "exponentials": "1.1503 1.3771 1.6487 1.1735 1.1853",
        "total": "6.534939",
        "weights": ".176019 .210733 .252293 .179575 .181380",
    },
    "SA006": {
        "weights": ".176019 .210733 .252293 .179575 .181380; "
        ".138102 .216587 .339676 .145183 .160452; .103430 .212490 .436546 .112044 .135490; "
        ".170701 .210591 .259801 .179453 .179453; .155124 .209395 .282654 .161454 .191373",
        "context": ".405105 .414776 .514415; .447481 .470309 .567255; .491075 .528019 .623330; "
        ".408785 .419058 .519058; .425105 .435403 .529419",
    },
    "SA007": {"bank_stacked": ".447481 .470309 .567255"},
    "SA008": {"query": ".29 .74 1.19", "key": ".82 .71 .88", "value": ".87 .71 .80"},
    "SA009": {
        "query": ".11 .29 .47; .29 .74 1.19; .47 1.19 1.91",
        "key": ".34 .32 .40; .82 .71 .88; 1.30 1.10 1.36",
        "value": ".36 .32 .35; .87 .71 .80; 1.38 1.10 1.25",
        "scores": ".3182 .7097 1.1012; .8114 1.8104 2.8094; 1.3046 2.9111 4.5176",
    },
    "SA015": {
        "scores": "0.5584545 -3.35153984 0.70533024 1.03421098; "
        "1.87361595 -0.12535484 3.52750914 0.62719536; "
        "-8.37572099 0.62481134 -0.31270199 1.5060436; "
        "2.39156799 -1.69717588 -0.57566407 -3.71359891",
        "scaled_scores": "0.19744348 -1.18494828 0.2493719 0.3656488; "
        "0.66242327 -0.04431963 1.24716282 0.22174705; "
        "-2.96126456 0.22090417 -0.11055685 0.53246682; "
        "0.84554697 -0.60004229 -0.20352798 -1.31295549",
        "variance_query": "1.190273",
        "variance_key": ".795574",
        "variance_scores": "7.709265",
        "variance_scaled_scores": ".963658",
    },
    "SA016": {
        "mask": "1 0 0 0; 1 1 0 0; 1 1 1 0; 1 1 1 1",
        "weights": "1 0 0 0; .669681 .330319 0 0; .023585 .568385 .408029 0; "
        ".587763 .138481 .205871 .067885",
        "output": "-2.33028699 0.41850626 1.57360937 0.13730874 0.85209484 0.65816785 "
        "-0.41211221 -0.0025269; "
        "-2.35489311 0.01073226 0.78231893 0.13865475 0.42967217 -0.09690355 -0.09211864 "
        "-0.31554853; "
        "-1.18941663 0.02206074 -0.73501088 -0.16634756 -0.02023404 -0.85551669 0.03142011 "
        "-0.69390214; "
        "-1.52017524 0.38293583 0.67771783 0.19193084 0.50039236 0.14997879 -0.33905113 "
        "-0.30067545",
    },
    "SA033": {
        "scores_free": "2.00 .32 1.08; .32 .08 .36; 1.08 .36 1.80",
        "weights_free": ".630957 .117594 .251449; .353677 .278212 .368111; .282391 .137455 .580154",
        "context_free": "1.057728 .451449; .771657 .568111; .770931 .780154",
        "scores_literal": "5.54 .62 1.26; .74 .14 .54; 2.04 .60 2.88",
        "weights_literal": ".979296 .007148 .013556; .422379 .231806 .345815; "
        ".281429 .066678 .651893",
        "context_literal": "1.380578 .213556; .845181 .545815; .798472 .851893",
        "scores_idiom": "1.36 .88 5.04; .64 .16 .72; 3.48 .60 2.16",
        "weights_idiom": ".024234 .014995 .960771; .370087 .229003 .400910; "
        ".755704 .042421 .201875",
        "context_idiom": ".613389 1.160771; .804468 .600910; 1.187594 .401875",
    },
    "SA034": {
        "weights": ".286742 .071966 .302025 .339267; .254364 .125465 .456462 .163709; "
        ".013279 .320007 .229725 .436989; .587763 .138481 .205871 .067885",
        "output": "-.343157 .462559 .268765 .952808 .146546 -.082113 -.456951 -.632818; "
        "-.477139 .560179 .005418 .298182 .284832 -.069749 -.427395 -.508978; "
        "-.249648 .075476 -.281892 1.308080 -.290586 -.731243 -.207852 -.970140; "
        "-1.520175 .382936 .677718 .191931 .500392 .149979 -.339051 -.300675",
    },
    "SA035": {
        "weights": ".981690 .017980 .000329; .665241 .244728 .090031; .419229 .326496 .254275",
        "entropy": ".093035 .832396 1.078100",
        "optimum": "2.004620 2.407606 5.477352",
    },
}

NOTEBOOK_OUTPUTS = {("SA015", "scores"), ("SA015", "scaled_scores"), ("SA016", "output")}


def disagreements_with_hand_typed(example_id: str, name: str, expected: Any) -> list[str]:
    """Return the printed figures that are not the expected numbers rounded to as many decimals."""
    # The notebook drops trailing zeros, and it computes from more digits than it prints: with the
    # printed inputs the eighth decimal may be off by 4. All other figures are within half a unit.
    from_notebook = (example_id, name) in NOTEBOOK_OUTPUTS
    rows = [row.split() for row in HAND_TYPED[example_id][name].split(";")]
    printed = [figure for row in rows for figure in row]
    values = np.ravel(expected).astype(float)
    assert len(printed) == len(values)
    found = []
    for figure, value in zip(printed, values, strict=True):
        decimals = 8 if from_notebook else len(figure.partition(".")[2])
        unit = Fraction(1, 10**decimals)
        allowed = 4 * unit if from_notebook else unit / 2
        if abs(Fraction(figure) - Fraction(value)) > allowed:
            found.append(f"{figure} is printed, {value} expected")
    return found


def loaded_modules(statement: str, root: Path) -> set[str]:
    """Return the top-level packages that a fresh interpreter loads for a statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in run.stdout.split()}


IMPORT_DERIVATIONS = "import tests.derivations.documents, tests.derivations.__main__"


class TestFiles:
    def test_the_schema_is_itself_valid(self) -> None:
        schema = json.loads((DATA / "schema.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)

    @EVERY_EXAMPLE
    def test_every_file_follows_the_schema(self, example_id: str) -> None:
        validate(json.loads((DATA / f"{example_id}.json").read_text(encoding="utf-8")))

    @pytest.mark.parametrize(
        "damage",
        [
            lambda d: d.pop("why"),
            lambda d: d.update(note="not in the format"),
            lambda d: d.update(id="SA5"),
            lambda d: d.update(released="2026-13-01"),
            lambda d: d.update(page="concepts/02_similarity"),
            lambda d: d.update(topics=[]),
            lambda d: d["provenance"].update(source="/tmp/notes.txt"),
            lambda d: d["inputs"]["sentence_cave"].update(value=[0.5, 1]),
            lambda d: d["inputs"]["embeddings"].pop("description"),
            lambda d: d["expected"]["weights_cave"].update(shape="2x2"),
            lambda d: d["expected"]["weights_cave"].update(value=["-inf"]),
            lambda d: d["tolerance"].update(absolute=0.1),
        ],
    )
    def test_the_schema_rejects_a_damaged_file(self, damage: Callable[[Any], object]) -> None:
        document = json.loads((DATA / "SA002.json").read_text(encoding="utf-8"))
        validate(document)
        damage(document)
        with pytest.raises(jsonschema.ValidationError):
            validate(document)

    def test_the_data_directory_holds_the_examples_and_the_schema_only(self) -> None:
        names = {path.name for path in DATA.iterdir()}
        assert names == {f"{example_id}.json" for example_id in DOCUMENTS} | {"schema.json"}

    @EVERY_EXAMPLE
    def test_the_id_is_the_file_name(self, example_id: str) -> None:
        assert DOCUMENTS[example_id]["id"] == example_id

    @EVERY_EXAMPLE
    def test_the_layout_is_the_one_that_is_written(self, example_id: str) -> None:
        text = (DATA / f"{example_id}.json").read_text(encoding="utf-8")
        assert text == file_text(parse(text))

    @EVERY_EXAMPLE
    def test_the_keys_stand_in_the_order_of_the_schema(self, example_id: str) -> None:
        schema = json.loads((DATA / "schema.json").read_text(encoding="utf-8"))
        assert list(DOCUMENTS[example_id]) == schema["required"]

    @EVERY_EXAMPLE
    def test_the_shape_in_words_is_the_shape_of_the_value(self, example_id: str) -> None:
        for entry in DOCUMENTS[example_id]["expected"].values():
            assert entry["shape"] == str(shape(entry["value"]))

    @EVERY_EXAMPLE
    def test_inputs_are_rectangular_and_short_decimals(self, example_id: str) -> None:
        for entry in DOCUMENTS[example_id]["inputs"].values():
            shape(entry["value"])  # raises for rows of different lengths
            for number in numbers(entry["value"]):
                assert re.fullmatch(r"-?\d{1,4}(\.\d{1,12})?", number)

    @EVERY_EXAMPLE
    def test_indices_point_into_the_input_they_name(self, example_id: str) -> None:
        inputs = DOCUMENTS[example_id]["inputs"]
        for entry in inputs.values():
            if "indices_of" in entry:
                target = inputs[entry["indices_of"]]["value"]
                assert all(0 <= int(index) < len(target) for index in entry["value"])

    @EVERY_EXAMPLE
    def test_there_is_a_word_for_every_row(self, example_id: str) -> None:
        inputs = DOCUMENTS[example_id]["inputs"]
        if "words" in inputs and "embeddings" in inputs:
            assert len(inputs["words"]["value"]) == len(inputs["embeddings"]["value"])

    def test_titles_are_distinct(self) -> None:
        titles = [document["title"] for document in DOCUMENTS.values()]
        assert len(set(titles)) == len(titles)

    def test_an_example_supersedes_an_earlier_one_or_none(self) -> None:
        for example_id, document in DOCUMENTS.items():
            earlier = document["supersedes"]
            assert earlier is None or (earlier in DOCUMENTS and earlier < example_id)

    @pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
    def test_a_number_that_json_does_not_have_is_refused(self, constant: str) -> None:
        with pytest.raises(ValueError, match=f"{constant} is not JSON"):
            parse(f'{{"value": {constant}}}')

    def test_a_repeated_key_is_refused(self) -> None:
        with pytest.raises(ValueError, match="repeated key: value"):
            parse('{"value": 1, "value": 2}')

    def test_rows_of_different_lengths_are_refused(self) -> None:
        with pytest.raises(ValueError, match="different lengths"):
            shape([["1", "2"], ["3"]])


class TestNumbers:
    @EVERY_EXAMPLE
    def test_the_derivation_gives_every_stored_digit(self, example_id: str) -> None:
        document = DOCUMENTS[example_id]
        stored = {name: entry["value"] for name, entry in document["expected"].items()}
        assert derive(document) == stored

    @EVERY_EXAMPLE
    def test_a_changed_last_digit_is_noticed(self, example_id: str) -> None:
        document = parse((DATA / f"{example_id}.json").read_text(encoding="utf-8"))
        name = next(n for n, e in document["expected"].items() if numbers(e["value"]))
        value = document["expected"][name]["value"]
        neighbor = np.nextafter(float(numbers(value)[0]), np.inf)
        document["expected"][name]["value"] = with_first_number(
            value, Number(repr(neighbor.item()))
        )
        assert derive(document)[name] != document["expected"][name]["value"]

    @EVERY_EXAMPLE
    def test_the_array_holds_the_double_that_is_stored(self, example_id: str) -> None:
        for kind in ("inputs", "expected"):
            loaded = getattr(load(example_id), kind)
            for name, entry in DOCUMENTS[example_id][kind].items():
                if name != "words":
                    stored = np.array(as_floats(entry["value"]))
                    assert loaded[name].shape == stored.shape
                    assert np.array_equal(loaded[name], stored)

    def test_every_example_has_hand_typed_figures(self) -> None:
        assert set(HAND_TYPED) == set(DOCUMENTS)

    @pytest.mark.parametrize(
        "example_id, name", [(i, name) for i, table in HAND_TYPED.items() for name in table]
    )
    def test_the_numbers_round_to_the_hand_typed_figures(self, example_id: str, name: str) -> None:
        assert not disagreements_with_hand_typed(example_id, name, load(example_id).expected[name])

    @pytest.mark.parametrize(
        "example_id, name, change",
        [("SA005", "weights", 1e-6), ("SA004", "dot", 0.01), ("SA015", "scores", 1e-7)],
    )
    def test_a_figure_that_is_off_is_noticed(
        self, example_id: str, name: str, change: float
    ) -> None:
        changed = load(example_id).expected[name].copy()
        changed.flat[1] += change
        assert len(disagreements_with_hand_typed(example_id, name, changed)) == 1

    @EVERY_EXAMPLE
    def test_weights_are_positive_or_masked_and_sum_to_one(self, example_id: str) -> None:
        example = load(example_id)
        for name, value in example.expected.items():
            if "weights" in name:
                np.testing.assert_allclose(value.sum(axis=-1), 1, rtol=0, atol=4e-16)
                allowed = example.expected.get("mask", np.full(value.shape, True))
                assert np.array_equal(value > 0, allowed)

    def test_squash_lands_on_different_sides(self) -> None:
        expected = load("SA003").expected
        assert expected["lean_kitchen"] > 0 > expected["lean_git"]

    def test_no_two_words_of_the_plane_are_collinear(self) -> None:
        points = exact(DOCUMENTS["SA003"]["inputs"]["embeddings"]["value"])
        for i, (a, b) in enumerate(points):
            assert all(a * d != b * c for c, d in points[:i])

    def test_bank_gets_three_different_vectors(self) -> None:
        expected = load("SA007").expected
        vectors = [expected[f"bank_{sense}"].tolist() for sense in ("money", "river", "stacked")]
        assert vectors[0] == expected["context_money"][1].tolist()
        assert vectors[1] == expected["context_river"][1].tolist()
        assert vectors[2] == load("SA006").expected["context"][1].tolist()
        assert len({tuple(vector) for vector in vectors}) == 3

    def test_piece_keeps_to_itself_or_turns_to_cake_as_the_matrix_says(self) -> None:
        expected = load("SA033").expected
        piece, _, cake = range(3)
        assert expected["weights_free"][piece, piece] > 0.5
        assert expected["weights_literal"][piece, piece] > 0.95
        assert expected["weights_idiom"][piece, cake] > 0.95

    def test_the_last_row_without_a_mask_is_the_last_row_with_it(self) -> None:
        for name in ("weights", "output"):
            without, masked = (load(i).expected[name] for i in ("SA034", "SA016"))
            assert np.array_equal(without[3], masked[3])
            assert not np.isclose(without[:3], masked[:3]).all(axis=-1).any()

    def test_no_other_weighting_reaches_the_optimum_of_the_softmax(self) -> None:
        example = load("SA035")
        scores, optimum = example.inputs["scores"], example.expected["optimum"]
        for temperature, weights, best in zip(
            example.inputs["temperatures"], example.expected["weights"], optimum, strict=True
        ):

            def objective(p: Any, temperature: float = temperature) -> Any:
                return p @ scores - temperature * np.sum(p * np.log(p))

            assert abs(objective(weights) - best) < 1e-14 * best
            for step in ([1, -1, 0], [0, 1, -1], [-1, 0, 1], [-1, 1, 0], [0, -1, 1], [1, 0, -1]):
                assert objective(weights + 1e-4 * np.array(step)) < best

    def test_examples_that_share_an_input_share_its_digits(self) -> None:
        def value(example_id: str, name: str) -> Any:
            return DOCUMENTS[example_id]["inputs"][name]["value"]

        assert value("SA002", "embeddings") == value("SA001", "embeddings")
        assert value("SA006", "embeddings") == value("SA004", "embeddings")
        assert value("SA007", "embeddings") == value("SA004", "embeddings")
        assert value("SA009", "embeddings") == value("SA004", "embeddings")[:3]
        assert value("SA008", "embedding") == value("SA004", "embeddings")[1]
        for name in ("w_query", "w_key", "w_value"):
            assert value("SA009", name) == value("SA008", name)
        for name in ("query", "key"):
            assert value("SA016", name) == value("SA015", name) == value("SA034", name)
        assert value("SA034", "value") == value("SA016", "value")
        first_row = DOCUMENTS["SA004"]["expected"]["dot"]["value"][0]
        assert exact(value("SA005", "scores")) == exact(first_row)


class TestDerivations:
    def test_every_derivation_belongs_to_an_example(self) -> None:
        used = {document["derivation"]["function"] for document in DOCUMENTS.values()}
        assert used == set(DERIVATIONS)

    def test_they_import_neither_numpy_nor_the_library(self) -> None:
        loaded = loaded_modules(IMPORT_DERIVATIONS, ROOT)
        assert "mpmath" in loaded
        assert loaded.isdisjoint({"numpy", "selfattn_ref"})

    @pytest.mark.parametrize("forbidden", ["numpy", "selfattn_ref"])
    def test_a_forbidden_import_is_noticed(self, forbidden: str, tmp_path: Path) -> None:
        copy = tmp_path / "tests" / "derivations"
        shutil.copytree(LEDGER.parent, copy)
        (tmp_path / "tests" / "__init__.py").touch()
        (tmp_path / "selfattn_ref.py").touch()
        with (copy / "algebra.py").open("a", encoding="utf-8") as module:
            module.write(f"import {forbidden}\n")
        assert forbidden in loaded_modules(IMPORT_DERIVATIONS, tmp_path)

    def test_a_name_that_is_not_derived_is_an_error(self) -> None:
        document = parse((DATA / "SA004.json").read_text(encoding="utf-8"))
        document["expected"]["cosine"] = document["expected"].pop("dot")
        with pytest.raises(ValueError, match=r"SA004 expects cosine, but .* derives dot"):
            derive(document)


class TestLedger:
    def test_the_ledger_and_the_examples_agree(self) -> None:
        assert problems(read_ledger(), DOCUMENTS) == []

    def test_no_released_id_is_forgotten(self) -> None:
        # HAND_TYPED is a second list of the released ids: both would have to lose one.
        assert {i for i, released in read_ledger().items() if released} >= set(HAND_TYPED)

    def test_ledgers_of_earlier_versions_are_kept(self) -> None:
        # Without git or tags there is nothing to compare; the next test shows that a loss is seen.
        for tag, before in ledgers_of_earlier_versions().items():
            assert forgotten(before, read_ledger()) == [], tag

    def test_a_lost_or_changed_id_is_noticed(self) -> None:
        before: Ledger = {"SA001": "a", "SA002": "b", "SA003": None, "SA004": None}
        now: Ledger = {"SA001": "a", "SA002": "c", "SA003": "d"}
        assert forgotten(before, now) == ["SA002", "SA004"]
        assert forgotten(before, before) == []

    @pytest.mark.parametrize("part", ["inputs", "expected", "tolerance"])
    def test_a_changed_number_is_noticed_and_the_message_says_what_to_do(self, part: str) -> None:
        changed = parse((DATA / "SA005.json").read_text(encoding="utf-8"))
        if part == "tolerance":
            changed[part]["absolute"] = Number("1e-9")
        else:
            entry = changed[part]["scores" if part == "inputs" else "total"]
            entry["value"] = with_first_number(entry["value"], Number("0.5"))
        (problem,) = problems(read_ledger(), {**DOCUMENTS, "SA005": changed})
        assert problem == (
            "SA005 is released and its numbers have changed. A released example never changes: "
            'restore it, give the correction a new id, and name SA005 there as "supersedes".'
        )

    def test_better_prose_and_another_way_to_write_a_number_change_nothing(self) -> None:
        changed = parse((DATA / "SA005.json").read_text(encoding="utf-8"))
        changed["why"] = "Another reason."
        changed["inputs"]["scores"]["value"][2] = Number("0.5")
        assert DOCUMENTS["SA005"]["inputs"]["scores"]["value"][2] == "0.50"
        assert fingerprint(changed) == fingerprint(DOCUMENTS["SA005"])

    def test_true_is_not_the_number_one(self) -> None:
        changed = parse((DATA / "SA016.json").read_text(encoding="utf-8"))
        changed["expected"]["mask"]["value"][0][0] = Number("1")
        assert fingerprint(changed) != fingerprint(DOCUMENTS["SA016"])

    def test_a_file_that_is_not_released_is_noticed(self) -> None:
        ledger = {**read_ledger(), "SA005": None}
        (problem,) = problems(ledger, DOCUMENTS)
        assert problem.startswith("SA005 has a file but is not released")
        assert "--release SA005" in problem

    def test_a_file_that_is_gone_is_noticed(self) -> None:
        documents = {i: document for i, document in DOCUMENTS.items() if i != "SA005"}
        (problem,) = problems(read_ledger(), documents)
        assert problem.startswith("SA005 is released but its file is gone")

    def test_an_id_that_the_ledger_lost_is_noticed(self) -> None:
        ledger = {i: released for i, released in read_ledger().items() if i != "SA012"}
        (problem,) = problems(ledger, DOCUMENTS)
        assert "missing: ['SA012']" in problem


class TestCommandLine:
    @pytest.fixture
    def copy(self, tmp_path: Path) -> dict[str, Path]:
        shutil.copytree(DATA, tmp_path / "data")
        shutil.copy(LEDGER, tmp_path / "released.json")
        return {"data": tmp_path / "data", "ledger": tmp_path / "released.json"}

    def test_checking_prints_a_line_for_each_example(
        self, copy: dict[str, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main([], **copy) == 0
        assert capsys.readouterr().out.splitlines() == [f"{i} agrees" for i in sorted(DOCUMENTS)]

    def test_checking_fails_on_a_changed_number(
        self, copy: dict[str, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = copy["data"] / "SA004.json"
        path.write_text(path.read_text(encoding="utf-8").replace("1.94", "1.95"), encoding="utf-8")
        assert main([], **copy) == 1
        output = capsys.readouterr().out
        assert "SA004 differs: dot" in output
        assert "SA004 is released and its numbers have changed" in output

    def test_checking_fails_on_a_number_that_was_released_wrong(
        self, copy: dict[str, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = copy["data"] / "SA004.json"
        path.write_text(path.read_text(encoding="utf-8").replace("1.94", "1.95"), encoding="utf-8")
        entries = {**read_ledger(), "SA004": fingerprint(read(path))}
        copy["ledger"].write_text(json.dumps(entries), encoding="utf-8")
        assert main([], **copy) == 1
        assert "SA004 differs: dot" in capsys.readouterr().out

    def test_a_new_example_is_written_and_then_released(self, copy: dict[str, Path]) -> None:
        new = parse((DATA / "SA004.json").read_text(encoding="utf-8"))
        new["id"] = "SA010"
        new["expected"] = {"dot": {"description": "To be filled in."}}
        path = copy["data"] / "SA010.json"
        path.write_text(file_text(new), encoding="utf-8")

        assert main(["--write", "SA010"], **copy) == 0
        assert read(path)["expected"]["dot"]["value"][0] == ["0.14", "0.32", "0.5", "0.16", "0.17"]
        assert read(path)["expected"]["dot"]["shape"] == "(5, 5)"
        assert main([], **copy) == 1  # not released yet
        assert main(["--release", "SA010"], **copy) == 0
        assert main([], **copy) == 0
        before, now = read_ledger(), read_ledger(copy["ledger"])
        assert {i for i in now if now[i] != before[i]} == {"SA010"}

    def test_a_released_example_is_not_overwritten(
        self, copy: dict[str, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = copy["data"] / "SA004.json"
        changed = path.read_text(encoding="utf-8").replace("0.7, 0.8, 0.9", "0.7, 0.8, 0.8")
        path.write_text(changed, encoding="utf-8")
        assert main(["--write", "SA004"], **copy) == 1
        assert path.read_text(encoding="utf-8") == changed
        assert main(["--release", "SA004"], **copy) == 1
        assert read_ledger(copy["ledger"]) == read_ledger()
        assert "new id that supersedes it" in capsys.readouterr().out

    def test_writing_a_released_example_that_is_right_changes_nothing(
        self, copy: dict[str, Path]
    ) -> None:
        before = (copy["data"] / "SA009.json").read_bytes()
        assert main(["--write", "SA009"], **copy) == 0
        assert (copy["data"] / "SA009.json").read_bytes() == before

    def test_filling_in_keeps_the_decimals_of_the_inputs(self) -> None:
        document = DOCUMENTS["SA005"]
        assert "0.50" in document["inputs"]["scores"]["value"]
        assert with_derived_values(document) == document


class TestLoading:
    def test_ids_are_those_of_the_files_in_order(self) -> None:
        assert ids() == tuple(sorted(DOCUMENTS))
        assert "schema" not in ids()

    @EVERY_EXAMPLE
    def test_the_attributes_are_those_of_the_file(self, example_id: str) -> None:
        document, example = DOCUMENTS[example_id], load(example_id)
        for name in ("id", "title", "why", "page", "released", "supersedes"):
            assert getattr(example, name) == document[name]
        assert list(example.topics) == document["topics"]
        assert example.derivation._asdict() == document["derivation"]
        assert example.provenance._asdict() == document["provenance"]
        assert list(example.inputs) == list(document["inputs"])
        assert list(example.expected) == list(document["expected"])
        for name, entry in {**document["inputs"], **document["expected"]}.items():
            assert example.descriptions[name] == entry["description"]
        assert example.tolerance.absolute == float(document["tolerance"]["absolute"])
        assert example.tolerance.relative == float(document["tolerance"]["relative"])

    def test_the_repr_is_the_id_and_the_title(self) -> None:
        assert repr(load("SA005")) == "SA005: Softmax by hand"

    def test_words_are_a_tuple_indices_are_integers_and_numbers_are_float64(self) -> None:
        inputs = load("SA002").inputs
        assert inputs["words"] == ("bat", "cave", "racket")
        assert inputs["sentence_racket"].dtype == np.intp
        assert inputs["embeddings"].dtype == np.float64  # the file writes 3, not 3.0
        assert load("SA016").expected["mask"].dtype == np.bool_

    @EVERY_EXAMPLE
    def test_nothing_can_be_changed(self, example_id: str) -> None:
        example = load(example_id)
        for mapping in (example.inputs, example.expected):
            for name, array in mapping.items():
                with pytest.raises(TypeError, match="does not support item assignment"):
                    mapping[name] = 0  # type: ignore[index]
                if name != "words":
                    with pytest.raises(ValueError, match="read-only"):
                        array[...] = 0
                    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
                        array.setflags(write=True)
        with pytest.raises(AttributeError):
            example.title = "another"  # type: ignore[misc]

    @pytest.mark.parametrize(
        "unknown, nearest",
        [
            ("SA014", ["SA009", "SA015", "SA016"]),
            ("SA999", ["SA033", "SA034", "SA035"]),
            ("sa001", ["SA001", "SA002", "SA003"]),
            ("softmax", None),
            ("../../pyproject", None),
            ("", None),
        ],
    )
    def test_an_unknown_id_names_the_nearest(self, unknown: str, nearest: list[str] | None) -> None:
        with pytest.raises(ValueError, match="no worked example has the id") as caught:
            load(unknown)
        named = str(caught.value).partition("the nearest are ")[2].split(", ")
        assert repr(unknown) in str(caught.value)
        assert len(named) == 3
        assert set(named) <= set(ids())
        assert nearest is None or named == nearest

    @pytest.mark.parametrize("wrong", [5, None, ["SA001"]])
    def test_an_id_that_is_not_a_string_is_a_type_error(self, wrong: Any) -> None:
        message = f"an example id is a string such as 'SA001', got {wrong!r}"
        with pytest.raises(TypeError, match=re.escape(message)):
            load(wrong)

    def test_loading_again_gives_the_same_object(self) -> None:
        assert load("SA001") is load("SA001")


class TestCheck:
    @EVERY_EXAMPLE
    def test_the_expected_values_agree_exactly(self, example_id: str) -> None:
        example = load(example_id)
        line = repr(example.check(**example.expected))
        assert re.fullmatch(
            rf"{example_id} checked: {', '.join(example.expected)} agrees? "
            r"\(\d+ (numbers|values), exactly\)",
            line,
        )

    @EVERY_EXAMPLE
    def test_every_single_value_is_compared(self, example_id: str) -> None:
        example = load(example_id)
        for name, expected in example.expected.items():
            for index in np.ndindex(expected.shape):
                changed = expected.copy()
                changed[index] = not changed[index] if name == "mask" else changed[index] + 1e-9
                with pytest.raises(WorkedExampleMismatch):
                    example.check(**{name: changed})

    @pytest.mark.parametrize(
        "difference, within",
        [(0.0, "exactly"), (2**-52, "within 1e-15"), (9 * 2**-52, "within 1e-14")],
    )
    def test_the_line_rounds_the_difference_up_to_a_power_of_ten(
        self, difference: float, within: str
    ) -> None:
        example = load("SA005")
        exponentials = example.expected["exponentials"] + np.array([0, 0, difference, 0, 0])
        agreement = example.check(
            exponentials=exponentials, **{n: example.expected[n] for n in ("total", "weights")}
        )
        assert repr(agreement) == (
            f"SA005 checked: exponentials, total, weights agree (11 numbers, {within})"
        )
        assert agreement.largest_difference == difference

    def test_one_name_agrees_and_one_number_is_singular(self) -> None:
        example = load("SA005")
        line = "SA005 checked: total agrees (1 number, exactly)"
        assert repr(example.check(total=example.expected["total"])) == line

    def test_a_mask_alone_counts_booleans(self) -> None:
        line = "SA016 checked: mask agrees (16 booleans, exactly)"
        assert repr(load("SA016").check(mask=np.tri(4, dtype=bool))) == line

    def test_the_tolerance_is_a_limit_that_still_agrees(self) -> None:
        example = load("SA001")
        allowed = 1e-13 + 1e-13 * 18
        dot = example.expected["dot"].copy()
        dot[0, 0] = 18 + 0.98 * allowed
        example.check(dot=dot)
        dot[0, 0] = 18 + 1.02 * allowed
        with pytest.raises(WorkedExampleMismatch):
            example.check(dot=dot)

    def test_lists_integers_and_single_precision_are_accepted(self) -> None:
        load("SA001").check(dot=[[18, 12, 15], [12, 16, 0], [15, 0, 25]])
        load("SA001").check(dot=np.array([[18, 12, 15], [12, 16, 0], [15, 0, 25]], "f4"))

    def test_nothing_to_compare_is_a_type_error_that_names_what_there_is(self) -> None:
        with pytest.raises(TypeError) as caught:
            load("SA005").check()
        assert (
            str(caught.value) == "SA005.check needs at least one of: exponentials, total, weights"
        )

    def test_an_unknown_name_is_a_type_error_that_names_the_known_ones(self) -> None:
        with pytest.raises(TypeError) as caught:
            load("SA005").check(sum=6.5, total=0)
        assert str(caught.value) == (
            "SA005 has no expected value sum; it has: exponentials, total, weights"
        )

    def test_the_report_names_every_value_that_disagrees(self) -> None:
        example = load("SA005")
        with pytest.raises(WorkedExampleMismatch) as caught:
            example.check(
                exponentials=example.expected["exponentials"],
                total=6.5,
                weights=example.expected["weights"] + [0, 0, 0.5, 0, 0.25],
            )
        assert str(caught.value).splitlines() == [
            "SA005: Softmax by hand",
            "  total: 1 of 1 entry differs",
            "    total: got 6.5, expected 6.534938556205488, off by 0.0349, allowed 7.53e-13",
            "  weights: 2 of 5 entries differ",
            "    weights[2]: got 0.752293308731193, expected 0.25229330873119304, off by 0.5, "
            "allowed 1.25e-13",
            "    weights[4]: got 0.4313796474329229, expected 0.18137964743292287, off by 0.25, "
            "allowed 1.18e-13",
        ]

    def test_the_report_shows_the_first_few_entries_with_their_indices(self) -> None:
        with pytest.raises(WorkedExampleMismatch) as caught:
            load("SA006").check(weights=np.zeros((5, 5)))
        lines = str(caught.value).splitlines()
        assert lines[1] == "  weights: 25 of 25 entries differ"
        assert [line.split(":")[0].strip() for line in lines[2:7]] == [
            f"weights[0, {j}]" for j in range(5)
        ]
        assert lines[7:] == ["    and 20 more"]

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_nan_and_infinity_agree_with_nothing(self, value: float) -> None:
        example = load("SA005")
        weights = example.expected["weights"].copy()
        weights[3] = value
        with pytest.raises(WorkedExampleMismatch) as caught:
            example.check(weights=weights)
        assert f"weights[3]: got {value!r}, expected 0.17957" in str(caught.value)
        assert "1 of 5 entries differ" in str(caught.value)

    def test_a_wrong_shape_gives_both_even_where_it_would_broadcast(self) -> None:
        example = load("SA005")
        with pytest.raises(WorkedExampleMismatch) as caught:
            example.check(weights=example.expected["weights"][:, None], total=[6.5])
        assert str(caught.value).splitlines()[1:] == [
            "  weights: got shape (5, 1), expected shape (5,)",
            "  total: got shape (1,), expected shape ()",
        ]

    @pytest.mark.parametrize("kind", [np.float64, np.int64])
    def test_a_mask_of_zeros_and_ones_is_not_a_boolean_mask(self, kind: type) -> None:
        message = f"mask: must be boolean, got dtype {np.dtype(kind)}"
        with pytest.raises(WorkedExampleMismatch, match=message):
            load("SA016").check(mask=np.tri(4, dtype=kind))

    def test_a_mask_of_the_other_polarity_differs_everywhere(self) -> None:
        with pytest.raises(WorkedExampleMismatch) as caught:
            load("SA016").check(mask=~np.tri(4, dtype=bool))
        lines = str(caught.value).splitlines()
        assert lines[1:3] == [
            "  mask: 16 of 16 entries differ",
            "    mask[0, 0]: got False, expected True",
        ]

    @pytest.mark.parametrize(
        "value, dtype",
        [(np.zeros(5, bool), "bool"), (np.zeros(5, complex), "complex128"), (list("abcde"), "<U1")],
    )
    def test_anything_but_real_numbers_disagrees_with_numbers(self, value: Any, dtype: str) -> None:
        message = f"weights: must be real numbers, got dtype {dtype}"
        with pytest.raises(WorkedExampleMismatch, match=message):
            load("SA005").check(weights=value)

    def test_rows_of_different_lengths_disagree(self) -> None:
        with pytest.raises(WorkedExampleMismatch, match="dot: the values do not form an array"):
            load("SA001").check(dot=[[18, 12], [12]])

    def test_a_mismatch_is_an_assertion_error(self) -> None:
        with pytest.raises(AssertionError):
            load("SA005").check(total=0.0)

    def test_the_book_can_count_the_lines_of_agreement(self) -> None:
        example = load("SA016")
        line = repr(example.check(**example.expected))
        assert re.match(r"^SA\d{3} checked:", line)
        assert "\n" not in line
        assert "(80 values, exactly)" in line


class TestTheLibraryReproducesEveryExample:
    """The only class that uses the rest of the package: every expected value, recomputed."""

    @pytest.fixture
    def lib(self) -> ModuleType:
        import selfattn_ref

        return selfattn_ref

    @staticmethod
    def sa001(lib: Any, given: Any) -> dict[str, Any]:
        words = given["embeddings"]
        return {
            "dot": lib.dot_similarity(words),
            "cosine": lib.cosine_similarity(words),
            "distance": lib.euclidean_distance(words),
            "scaled_dot": lib.scaled_scores(words, words),
        }

    @staticmethod
    def sa002(lib: Any, given: Any) -> dict[str, Any]:
        computed = {}
        for sense in ("cave", "racket"):
            words = given["embeddings"][given[f"sentence_{sense}"]]
            weights = lib.attention_weights(lib.cosine_similarity(words))
            computed[f"weights_{sense}"] = weights
            computed[f"context_{sense}"] = weights @ words
        bat, cave = given["embeddings"][given["sentence_cave"]]
        rounded = np.round(lib.cosine_similarity([bat], [bat, cave]), 2)
        computed["rounded_weights"] = lib.softmax(rounded)[0]
        return computed

    @staticmethod
    def sa003(lib: Any, given: Any) -> dict[str, Any]:
        computed = {}
        for sense in ("kitchen", "git"):
            words = given["embeddings"][given[f"sentence_{sense}"]]
            # Equal scores give equal weights: the plain average is attention without preference.
            (average,) = lib.softmax(np.zeros((1, len(words)))) @ words
            computed[f"average_{sense}"] = average
            computed[f"lean_{sense}"] = average[1] - average[0]
        return computed

    @staticmethod
    def sa004(lib: Any, given: Any) -> dict[str, Any]:
        return {"dot": lib.dot_similarity(given["embeddings"])}

    @staticmethod
    def sa005(lib: Any, given: Any) -> dict[str, Any]:
        exponentials = np.exp(given["scores"])
        return {
            "exponentials": exponentials,
            "total": exponentials.sum(),
            "weights": lib.softmax(given["scores"]),
        }

    @staticmethod
    def sa006(lib: Any, given: Any) -> dict[str, Any]:
        words = given["embeddings"]
        return {
            "weights": lib.attention_weights(lib.dot_similarity(words)),
            "context": lib.scaled_dot_product_attention(words, words, words, scale=1.0),
        }

    @staticmethod
    def sa007(lib: Any, given: Any) -> dict[str, Any]:
        everything = given["embeddings"]
        computed = {}
        for sense in ("money", "river"):
            words = everything[given[f"sentence_{sense}"]]
            context = lib.scaled_dot_product_attention(words, words, words, scale=1.0)
            computed[f"weights_{sense}"] = lib.attention_weights(lib.dot_similarity(words))
            computed[f"context_{sense}"] = context
            computed[f"bank_{sense}"] = context[1]
        stacked = lib.scaled_dot_product_attention(everything, everything, everything, scale=1.0)
        computed["bank_stacked"] = stacked[given["words"].index("Bank")]
        return computed

    @staticmethod
    def sa008(lib: Any, given: Any) -> dict[str, Any]:
        # A dot product with each column is the product with the matrix.
        return {
            role: lib.dot_similarity([given["embedding"]], given[f"w_{role}"].T)[0]
            for role in ("query", "key", "value")
        }

    @staticmethod
    def sa009(lib: Any, given: Any) -> dict[str, Any]:
        words = given["embeddings"]
        matrices = [given[f"w_{role}"] for role in ("query", "key", "value")]
        query, key, value = (words @ matrix for matrix in matrices)
        scaled_scores = lib.scaled_scores(query, key)
        return {
            "query": query,
            "key": key,
            "value": value,
            "scores": lib.dot_similarity(query, key),
            "scaled_scores": scaled_scores,
            "weights": lib.attention_weights(scaled_scores),
            "context": lib.self_attention(words, *matrices),
            "parameter_free_weights": lib.attention_weights(lib.dot_similarity(words)),
            "parameter_free_context": lib.self_attention(words, *[np.eye(3)] * 3, scale=1.0),
        }

    @staticmethod
    def sa015(lib: Any, given: Any) -> dict[str, Any]:
        scores = lib.scaled_scores(given["query"], given["key"], scale=1.0)
        scaled_scores = lib.scaled_scores(given["query"], given["key"])
        return {
            "scores": scores,
            "scaled_scores": scaled_scores,
            "variance_query": given["query"].var(),
            "variance_key": given["key"].var(),
            "variance_scores": scores.var(),
            "variance_scaled_scores": scaled_scores.var(),
        }

    @staticmethod
    def sa016(lib: Any, given: Any) -> dict[str, Any]:
        query, key, value = given["query"], given["key"], given["value"]
        mask = lib.causal_mask(4)
        scaled_scores = lib.scaled_scores(query, key)
        return {
            "mask": mask,
            "scaled_scores": scaled_scores,
            "weights": lib.attention_weights(scaled_scores, mask=mask),
            "output": lib.scaled_dot_product_attention(query, key, value, mask=mask),
        }

    @staticmethod
    def sa033(lib: Any, given: Any) -> dict[str, Any]:
        words = given["embeddings"]
        matrices = {
            "free": np.eye(2),
            "literal": given["bilinear_literal"],
            "idiom": given["bilinear_idiom"],
        }
        computed = {}
        for reading, matrix in matrices.items():
            scores = lib.dot_similarity(words @ matrix, words)
            computed[f"scores_{reading}"] = scores
            computed[f"weights_{reading}"] = lib.attention_weights(scores)
            # One matrix between two words is a query matrix beside keys that are left as they are.
            computed[f"context_{reading}"] = lib.self_attention(
                words, matrix, np.eye(2), np.eye(2), scale=1.0
            )
        return computed

    @staticmethod
    def sa034(lib: Any, given: Any) -> dict[str, Any]:
        query, key, value = given["query"], given["key"], given["value"]
        return {
            "weights": lib.attention_weights(lib.scaled_scores(query, key)),
            "output": lib.scaled_dot_product_attention(query, key, value),
        }

    @staticmethod
    def sa035(lib: Any, given: Any) -> dict[str, Any]:
        temperatures = given["temperatures"]
        divided = given["scores"] / temperatures[:, None]
        weights, logarithms = lib.softmax(divided), lib.log_softmax(divided)
        return {
            "weights": weights,
            "entropy": -np.sum(weights * logarithms, axis=-1),
            # A score less the logarithm of its weight is log Σ exp, whichever key it is.
            "optimum": temperatures * (divided - logarithms)[:, 0],
        }

    def test_every_example_is_recomputed(self) -> None:
        recomputed = {name.upper() for name in vars(type(self)) if re.fullmatch(r"sa\d{3}", name)}
        assert recomputed == set(ids())

    @pytest.mark.parametrize("example_id", ids())
    def test_it_agrees_in_every_expected_value(self, lib: ModuleType, example_id: str) -> None:
        example = load(example_id)
        computed = getattr(self, example_id.lower())(lib, example.inputs)
        assert set(computed) == set(example.expected)
        assert example.check(**computed).names == tuple(computed)


def ledgers_of_earlier_versions() -> dict[str, Ledger]:
    """Return the ledger of every tagged version that has one, by tag."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        return {}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([git, *arguments], cwd=ROOT, capture_output=True, text=True)

    path = LEDGER.relative_to(ROOT).as_posix()
    shown = {tag: run("show", f"{tag}:{path}") for tag in run("tag", "--list", "v*").stdout.split()}
    return {tag: json.loads(s.stdout) for tag, s in shown.items() if s.returncode == 0}


def validate(document: Any) -> None:
    schema = json.loads((DATA / "schema.json").read_text(encoding="utf-8"))
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    jsonschema.Draft202012Validator(schema, format_checker=checker).validate(document)


def numbers(value: Any) -> list[Number]:
    if isinstance(value, list):
        return [number for item in value for number in numbers(item)]
    return [value] if isinstance(value, Number) else []


def with_first_number(value: Any, number: Number) -> Any:
    if isinstance(value, list):
        return [with_first_number(value[0], number), *value[1:]]
    return number


def as_floats(value: Any) -> Any:
    if isinstance(value, list):
        return [as_floats(item) for item in value]
    return float(value) if isinstance(value, Number) else value
