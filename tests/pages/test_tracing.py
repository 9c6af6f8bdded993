"""What the pages say about an entry of a worked example: what made it, and where it goes."""

import math
import re

import numpy as np
import pytest

from derivations.documents import DATA
from press.example.arithmetic import equals, short
from press.example.trace import named, trace_of

NAMES = sorted(path.stem for path in DATA.glob("SA*.json"))
# Matrices that are not made of other arrays, and why; the panel says what they are.
NOT_MADE = {("SA055", "uses_of_a_key"): "a count of multiplications: nothing was computed with"}


def evaluated(text: str) -> float:
    """Compute a line as a reader would."""
    text = re.sub(r" <small>.*?</small>|</?span[^>]*>", "", text)
    text = re.sub(r"([\d.]+) × 10<sup>(.*?)</sup>", r"(\1*10**(\2))", text)
    while "e<sup>" in text:
        text = re.sub(r"e<sup>((?:(?!<sup>).)*?)</sup>", r"exp(\1)", text)
    text = re.sub(r"<sup>(.*?)</sup>", r"**(\1)", text)
    text = re.sub(r"√([\d.]+)", r"sqrt(\1)", text).replace("√", "sqrt").replace("²", "**2")
    text = text.replace("×", "*").replace("÷", "/").replace("−", "-")
    names = {name: getattr(math, name) for name in ("exp", "sqrt", "sin", "cos", "tanh", "log")}
    return float(eval(text, {"__builtins__": {}}, {"max": max, "round": round, **names}))


def slack(text: str) -> float:
    """Return by how much a line may be off, as its numbers have four decimals or three digits."""
    numbers = [abs(float(n)) for n in re.findall(r"\d+\.\d+|\d+", text)]
    if "≈" not in text and "10<sup>" not in text and "√" not in text and "e<sup>" not in text:
        return 1e-9 * (1 + max(numbers))
    return 2e-4 * (1 + sum(numbers)) + 6e-3 * max(numbers) * ("10<sup>" in text)


@pytest.mark.parametrize("name", NAMES)
class TestEveryEntry:
    """Each line is arithmetic that holds, and ends with the number that it is about."""

    def test_it_is_said_of_what_a_matrix_is_made(self, name: str) -> None:
        trace = trace_of(name)
        rules = [trace.rule(matrix).strip() for matrix in trace.made]
        assert not [rule for rule in rules if re.search(r"(^|\b(of|times|and|with|in))$", rule)]

    def test_no_two_arrays_explain_each_other(self, name: str) -> None:
        trace = trace_of(name)
        rules = {named(matrix): trace.rule(matrix) for matrix in trace.made}
        assert not [(one, of) for one, of in rules.items() if rules.get(of) == one]

    def test_the_lines_hold(self, name: str) -> None:
        trace = trace_of(name)
        assert all(f'row">{named(matrix)}' in trace.steps() for matrix in trace.made)
        for matrix in trace.made:
            for i, j in np.ndindex(trace.known[matrix].values.shape):
                lines = trace.lines(matrix, i, j)
                assert lines
                for line in lines:
                    sides = line.partition(": ")[2] or line
                    *left, right = re.split(" [=≈] ", sides)
                    # Shares have no cancellation: the smallest has the digits that it shows.
                    shares = line.startswith(("exponential", "share")) and "10<sup>" in right
                    for part in left:
                        assert evaluated(part) == pytest.approx(
                            evaluated(right), abs=0 if shares else slack(sides), rel=1e-2
                        ), line
                value = trace.known[matrix].values[i, j]
                last = re.split(" [=≈] ", lines[-1])
                if len(last) > 1:
                    tiny = "10<sup>" in last[-1]
                    near = pytest.approx(value, abs=0 if tiny else 6e-5, rel=6e-3)
                    assert evaluated(last[-1]) == near, lines

    def test_what_made_an_entry_and_what_it_is_used_for_agree(self, name: str) -> None:
        trace = trace_of(name)

        def entries(place: list) -> set[tuple[str, int, int]]:
            k, kind, *at = place
            rows, columns = trace.known[trace.names[k]].values.shape
            return {
                (trace.names[k], i, j)
                for i in range(rows)
                for j in range(columns)
                if {"m": True, "r": [i] == at, "c": [j] == at, "e": [i, j] == at}[kind]
            }

        made, used = set(), set()
        for matrix, known in trace.known.items():
            for i, j in np.ndindex(known.values.shape):
                for place in trace.short(trace.origin(matrix, i, j)):
                    made |= {(source, (matrix, i, j)) for source in entries(place)}
                for place in trace.uses(matrix, i, j):
                    used |= {((matrix, i, j), target) for target in entries(place)}
        assert made == used


class TestNumbers:
    """A number is written so that a reader can go on with it."""

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0.25, "0.25"),
            (2 / 3, "0.6667"),
            (1 - 4.54e-5, "0.999955"),
            (-1 + 2e-9, "−0.999999998"),
            (1 + 2e-16, "1"),
            (2.5e-5, "2.50 × 10<sup>−5</sup>"),
            (0.0, "0"),
        ],
    )
    def test_it_has_the_digits_that_count(self, value: float, text: str) -> None:
        assert short(value) == text

    def test_equal_is_what_is_written_in_full(self) -> None:
        assert equals(0.25, 3.0, 1e-17) == "="  # what rounding leaves of 0
        assert equals(0.25, 1 / 3) == "≈"
        assert equals(1e-17, residue=0) == "≈"
        lines = trace_of("SA021").lines("weights_low_filled", 0, 0)
        assert any(line.startswith("exponential: e") and "≈ 0 " in line for line in lines)


class TestWhatIsTraced:
    """The steps of attention are found in every example that has them."""

    def test_each_matrix_is_made_of_something(self) -> None:
        missing = set()
        for name in NAMES:
            trace = trace_of(name)
            for array, entry in trace.data["expected"].items():
                values = np.array(entry["value"])
                if values.ndim > 1 and values.dtype.kind in "if":
                    parts = [known.name for known in trace.known.values() if known.given == array]
                    if not parts or not set(parts) <= set(trace.made):
                        missing.add((name, array))
        assert missing == set(NOT_MADE)

    def test_a_slip_is_made_in_its_own_way(self) -> None:
        lines = trace_of("SA047").lines("weights_filled", 1, 2)
        assert "a number in place of what the mask hides" in lines
        lines = trace_of("SA051").lines("weights_true_hides", 1, 1)
        assert lines[-1].startswith("the mask is true here")

    def test_equal_columns_are_told_apart(self) -> None:
        """Columns 3 and 4 of the queries of SA027 are equal; head 2 begins with column 4."""
        columns = {
            place[1:]
            for place in trace_of("SA027").origin("query_heads[2]", 1, 0)
            if place[0] == "w_query"
        }
        assert columns == {(k, 4) for k in range(4)}

    def test_a_copy_says_what_it_is_a_copy_of(self) -> None:
        trace = trace_of("SA026")
        assert trace.lines("query_heads[1]", 2, 0) == ["the same as <code>query</code>[2, 2]"]
        assert trace.lines("merged", 2, 3) == ["the same as <code>head_outputs[1]</code>[2, 1]"]
        assert {name for name, *_ in trace.origin("output", 1, 1)} == {"merged", "w_output"}

    def test_what_is_listed_lights_up_behind_what_is_not(self) -> None:
        lit = trace_of("SA006").origin("weights", 1, 3)
        assert {(name, i) for name, i, _ in lit if name == "embeddings"} == {
            ("embeddings", i) for i in range(5)
        }
        sources = {name for name, *_ in trace_of("SA028").origin("output_encoded", 1, 1)}
        assert sources == {"weights_encoded", "embeddings", "encoding", "w_value"}

    def test_weights_come_from_scores_under_the_mask(self) -> None:
        trace = trace_of("SA016")
        assert {name for name, *_ in trace.origin("weights", 2, 1)} == {"scaled_scores"}
        assert trace.lines("weights", 0, 1)[-1].startswith("the mask hides this key")
        labels = [line.partition(":")[0] for line in trace.lines("weights", 2, 1)]
        through = "the mask lets it through"
        assert labels == ["score", "scaled", through, "exponential", "share"]
        assert trace.rule("weights") == (
            "softmax of each row of <code>scaled_scores</code> under the mask"
        )

    @pytest.mark.parametrize(
        "example, name, rule",
        [
            ("SA028", "scores of weights", "times (embeddings times w_key) transposed ÷ √2"),
            ("SA057", "scores of weights", "query times key transposed ÷ √1"),  # of width 1
            ("SA094", "output_late_masked", "times value"),  # of which another array has a row
        ],
    )
    def test_factors_are_named_as_one_multiplies_them(self, example, name, rule) -> None:
        assert rule in re.sub("<.*?>", "", trace_of(example).rule(name))

    @pytest.mark.parametrize(
        "example, name, rule",
        [
            ("SA029", "rotated_key", "turned by their angles, from key, positions and frequencies"),
            ("SA096", "rotated_halves[0][1]", "their angles, from x[0][1] and positions[0]"),
            ("SA059", "lean_attention", "the second column of context minus the first"),
        ],
    )
    def test_two_columns_of_an_array_do_not_have_one_name(self, example, name, rule) -> None:
        assert rule in re.sub("<.*?>", "", trace_of(example).rule(name))

    def test_what_is_not_listed_has_no_shape(self) -> None:
        """Keys that a mask hides are no part of it."""
        heads = re.findall(r'<th scope="row">(.*?)</th>', trace_of("SA081").steps())
        assert {" of " in head for head in heads} == {True, False}
        assert all((" of " in head) is ("shape" not in head) for head in heads)

    def test_only_a_mask_that_is_read_the_other_way_hides_where_it_is_true(self) -> None:
        """A mask that is made of two others ends in a "not", too (SA069)."""
        prefix = trace_of("SA069").lines("weights_prefix", 1, 0)
        inverted = trace_of("SA021").lines("weights_inverted", 0, 1)
        assert "the mask lets it through" in prefix
        assert "the mask is false here" in inverted

    def test_the_steps_of_a_page_are_those_of_its_arrays(self) -> None:
        steps = trace_of("SA009").steps()
        order = [
            steps.index(f"<code>{name}</code> <span") for name in ("query", "scores", "context")
        ]
        assert order == sorted(order)
        assert "<code>query</code> times <code>key</code> transposed</td>" in steps
