"""What a trace says of an entry is what made it: no operand is wrong, no input is forgotten."""

import hashlib
import importlib
import json
import pkgutil
from fractions import Fraction
from functools import cache
from pathlib import Path

import jsonschema
import mpmath
import pytest
import quickjs

import derivations
from derivations.__main__ import main
from derivations.documents import DATA, NOT_FINITE, exact, example_files, inputs_of, read
from derivations.examples import DERIVATIONS
from derivations.recording import OPERATIONS, Step, plain
from derivations.traces import TRACES, record, trace_text

DOCUMENTS = {name: read(path) for name, path in example_files().items()}
EVERY_EXAMPLE = pytest.mark.parametrize("name", DOCUMENTS)
MODULES = [
    importlib.import_module(f"derivations.{module.name}")
    for module in pkgutil.iter_modules(derivations.__path__)
    if module.name != "__main__"
]
# Inputs of which an entry cannot be another, and why.
FIXED = {
    "SA007": {
        "sentence_money": "the derivation looks for Bank in it",
        "sentence_river": "the derivation looks for Bank in it",
    },
    "SA021": {"mask": "where all is hidden, Python's own floats divide 0 by 0"},
    "SA022": {"mask": "one query has no key, and is left out for comparison"},
    "SA027": {
        "num_heads": "the heads no longer fit the parameters",
        "num_key_value_heads": "the heads no longer fit the parameters",
    },
    "SA055": {"num_heads": "the key/value heads would no longer have as many heads each"},
    "SA087": {"heads": "the biases would no longer have as many heads"},
    "SA103": {
        "lengths": "there would be fewer positions, or more",
        "lengths_apart": "there would be fewer keys, or more",
    },
    "SA045": {"without_sink": "the sink is the one key that it leaves out"},
}


SCHEMA = json.loads((DATA / "trace.schema.json").read_text("utf-8"))
# What a reader would write who knows the operations and no Python.
CHECK = Path(__file__).with_name("check_trace.js").read_text("utf-8")


@cache
def trace_of(name):
    return trace_text(name)


@pytest.fixture
def unchecked(monkeypatch):
    """Let derivations go on where other inputs no longer fulfil what an example shows."""
    for module in MODULES:
        for name in ("require", "require_agreement"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, lambda *_: None)
        if hasattr(module, "central_differences"):
            monkeypatch.setattr(module, "central_differences", lambda *_: None)


def derived(document, inputs):
    """Return the entries of every expected array by place."""
    with mpmath.workdps(30):
        return dict(entries(DERIVATIONS[document["derivation"]["function"]](inputs)))


def entries(value, place=()):
    if isinstance(value, dict):
        for name, item in value.items():
            yield from entries(item, (*place, name))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from entries(item, (*place, index))
    elif not isinstance(value, str):
        yield place, value


def with_entry(value, place, entry):
    """Return nested lists or a dict with another entry."""
    if not place:
        return entry
    first, *rest = place
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[first] = with_entry(value[first], rest, entry)
    return changed


def kind_of(entry):
    if "indices_of" in entry or "integers" in entry:
        return "integer"
    values = [value for _, value in entries(entry["value"])]
    return "truth" if any(isinstance(value, bool) for value in values) else "real"


def changes(kind):
    """Return how an input may be changed, given its value and its number in a group."""
    if kind == "truth":
        return [lambda value, _: not value]
    if kind == "integer":
        return [lambda value, _: value - 1, lambda value, _: value + 1]
    return [lambda value, number: 5 - (3 + number) * value, lambda value, _: value + 1]


def differ(one, other):
    if type(one) is not type(other):
        return True
    if isinstance(one, bool | Fraction):
        return one != other
    with mpmath.workdps(30):
        return abs(one - other) > mpmath.mpf(10) ** -20 * max(1, abs(one))


def inputs_behind(step, seen):
    """Return the ids of the inputs that a step is made of or depends on."""
    if id(step) not in seen:
        before = [inputs_behind(one, seen) for one in (*step.operands, *step.conditions)]
        seen[id(step)] = frozenset().union(*before)
        if step.operation == "input":
            seen[id(step)] = frozenset({id(step)})
    return seen[id(step)]


@EVERY_EXAMPLE
def test_what_is_not_listed_changes_nothing(name, unchecked):
    document = DOCUMENTS[name]
    recording = record(document)
    inputs, seen = inputs_of(document), {}
    before = derived(document, inputs)
    listed = {place: inputs_behind(step, seen) for place, step in entries(recording.expected)}
    assert listed.keys() == before.keys()
    # Real inputs of one array that the same entries list are changed together.
    groups = {}
    for place, step in entries(recording.inputs):
        kind = kind_of(document["inputs"][place[0]])
        users = frozenset(at for at, behind in listed.items() if id(step) in behind)
        groups.setdefault((place[0], users, kind if kind == "real" else place), []).append(
            (place, step.value)
        )
    fixed = set()
    for (array, users, _), places in groups.items():
        for change in changes(kind_of(document["inputs"][array])):
            changed = inputs
            for number, (place, value) in enumerate(places):
                changed = with_entry(changed, place, Step("input", change(value, number)))
            try:
                after = derived(document, changed)
            except (ArithmeticError, IndexError, TypeError, ValueError):
                continue
            for at in before.keys() - users:
                assert at in after, (array, at)
                assert not differ(plain(before[at]), plain(after[at])), (places, at)
            break
        else:
            fixed.add(array)
    assert fixed == FIXED.get(name, {}).keys()


def number(value):
    """Return a value of a trace, as exact as it is written."""
    if value in NOT_FINITE:
        return float(value)
    return Fraction(value) if isinstance(value, str) else value


@EVERY_EXAMPLE
def test_each_step_is_what_its_operands_give(name):
    steps = json.loads(trace_of(name))["steps"]
    for place, step in enumerate(steps):
        operands = [steps[k]["value"] for k in step.get("operands", [])]
        assert all(k < place for k in step.get("operands", []) + step.get("conditions", []))
        if not operands:
            assert step["operation"] in ("input", "constant")
            continue
        if step["operation"] == "choose":
            assert step["value"] == operands[0]
            continue
        of = [number(x) if isinstance(x, str | bool) else mpmath.mpf(x) for x in operands]
        with mpmath.workdps(50):
            found = OPERATIONS[step["operation"]](*of)
            if isinstance(step["value"], str | bool):
                assert found == number(step["value"])
                continue
            terms = {
                **dict.fromkeys(("sum", "subtract", "sin", "cos"), of),
                "dot": list(map(OPERATIONS["multiply"], of[::2], of[1::2])),
                "exp": [of[0] * step["value"]],
                "log": [1],
            }.get(step["operation"], [])
            most = max(abs(float(x)) for x in (*terms, step["value"]))
            assert abs(float(found) - step["value"]) <= 4 * 2.0**-52 * most


@EVERY_EXAMPLE
def test_a_reader_can_check_each_step_in_another_language(name):
    engine = quickjs.Context()
    engine.eval(CHECK)
    wrong, trace = engine.get("wrong"), json.loads(trace_of(name))
    assert wrong(trace_of(name)) == 0
    for place in (place for place, step in enumerate(trace["steps"]) if "operands" in step):
        value = trace["steps"][place]["value"]
        trace["steps"][place]["value"] = (not value) if isinstance(value, bool) else "1234567/89"
        break
    assert wrong(json.dumps(trace)) >= 1


@EVERY_EXAMPLE
def test_the_entries_are_those_of_the_example(name):
    document, trace = DOCUMENTS[name], json.loads(trace_of(name))
    jsonschema.Draft202012Validator(SCHEMA).validate(trace)
    assert trace["id"] == name
    for group in ("inputs", "expected"):
        assert list(trace[group]) == list(document[group])
        for array, entry in document[group].items():
            places = dict(entries(trace[group][array]))
            values = dict(entries(exact(entry["value"])))
            assert places.keys() == values.keys()
            for place, step in places.items():
                value = number(trace["steps"][step]["value"])
                assert isinstance(value, bool) == isinstance(values[place], bool)
                same = values[place] if group == "inputs" else float(values[place])
                if isinstance(same, float) and same != same:
                    assert value != value
                    continue
                assert (value if group == "inputs" else float(value)) == same


def test_the_operations_are_those_of_the_schema():
    every = {
        step["operation"] for name in DOCUMENTS for step in json.loads(trace_of(name))["steps"]
    }
    listed = SCHEMA["properties"]["steps"]["items"]["properties"]["operation"]["oneOf"]
    assert {one["const"] for one in listed} == every == {*OPERATIONS, "input", "constant", "choose"}


def test_the_digests_are_those_of_the_traces():
    assert json.loads(TRACES.read_text("utf-8")) == {
        name: hashlib.sha256(trace_of(name).encode()).hexdigest() for name in DOCUMENTS
    }


def test_the_traces_are_written_and_have_the_same_bytes_each_time(tmp_path, capsys):
    assert main(["--traces", str(tmp_path)]) == 0
    assert f"{len(DOCUMENTS)} traces" in capsys.readouterr().out
    for name in DOCUMENTS:
        assert (tmp_path / f"{name}.trace.json").read_bytes() == trace_of(name).encode()
