"""What is said in the end: numbers, conventions and refusals, each in its line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from selfattn_ref.worked_examples._capabilities import CAPABILITIES
from selfattn_ref.worked_examples._claims import OPTIONS, suggestions
from selfattn_ref.worked_examples.slips import SLIPS

if TYPE_CHECKING:
    from selfattn_ref.worked_examples._report import Outcome, Report


def summary(report: Report) -> Iterator[str]:
    """Yield the lines that put the outcomes of a report together."""
    yield from _taken(report)
    yield from _numbers(report)
    yield from _conventions(report)
    yield from _refusals(report)
    for name in report.not_asked:
        yield f"required, but not asked: {name}"
    for name in report.unproved:
        yield f"{report.name} takes {name}, but no call has asked for it"
    yield from report.notes


def _taken(report: Report) -> Iterator[str]:
    wanting = Counter(name for o in report.outcomes for name in o.wanting)
    options = [name for name in OPTIONS if wanting[name]]
    hints = suggestions(wanting, report.claims)
    perhaps = f" Perhaps {' and '.join(hints)}." if hints else ""
    if report.claims is None and not report.require:
        yield (
            f"{report.name} does not say what it takes, so nothing is claimed. Say it with "
            "--require mask,causal,… or --like torch (jax, keras, onnx, mlx)."
        )
    if options:
        calls = [o for o in report.outcomes if {*o.wanting} & {*options}]
        names = " or ".join(filter(None, (", ".join(options[:-1]), options[-1])))
        yield f"{report.name} takes no {names}: {_count(calls)} not asked.{perhaps}"
        taken = sorted({*(report.claims or ())} - {*"qkvQKV", "query", "key", "value"})
        if taken and not perhaps:
            yield f"It takes {', '.join(taken)}."
    capabilities = [f"{name} {wanting[name]}" for name in CAPABILITIES if wanting[name]]
    if capabilities:
        yield f"capabilities that it does not claim, not asked: {', '.join(capabilities)}"
        if perhaps and not options:
            yield perhaps.strip()


def _numbers(report: Report) -> Iterator[str]:
    calls = [o for o in report.outcomes if not o.refusal]
    yield f"numbers: {_counted(calls)}"
    smallest = report.smallest
    if smallest is None:
        return
    said = [f"{name}: {SLIPS[name].effect}" for name in report.slips]
    if report.certain:
        yield f"  it is what the slip {report.slips[0]} gives: {SLIPS[report.slips[0]].effect}"
    elif said:
        yield f"  consistent with the slip{'s' if len(said) > 1 else ''} {'; '.join(said)}"
        if report.unexplained:
            yield f"  calls that raised or are wrong otherwise: {report.unexplained}"
    else:
        yield "  no known slip does that"
    yield f"  the smallest that differs: {smallest.id}, {smallest.call}"


def _conventions(report: Report) -> Iterator[str]:
    answers = report.conventions
    said = [f"{text}: {next(iter(follows))}" for text, follows in answers.items()
            if len(follows) == 1]  # fmt: skip
    if said:
        yield f"conventions: {'; '.join(said)}"
    for text in report.inconsistent:
        each = [f"{name} in {', '.join(ids)}" for name, ids in answers[text].items()]
        yield f"conventions differ: {text}: {', but '.join(each)}"
    if not answers:
        yield "conventions: no call depends on one"


def _refusals(report: Report) -> Iterator[str]:
    calls = [o for o in report.outcomes if o.refusal]
    yield f"refusals: {_counted(calls)}" if calls else "refusals: not asked (--refusals)"


def _counted(calls: list[Outcome]) -> str:
    """Return how many calls there are, and how many of each verdict, with the ids of the wrong."""
    counts = Counter(o.verdict for o in calls)
    examples = {o.example for o in calls}
    parts = []
    for verdict, number in counts.items():
        named = [o.id for o in calls if o.verdict == verdict]
        wrong = verdict not in ("right", "not asked", "skipped")
        parts.append(f"{number} {verdict}{f' ({_listed(named)})' if wrong else ''}")
    of = f"{len(examples)} example{'' if len(examples) == 1 else 's'}"
    return f"{_count(calls)} of {of}: {', '.join(parts)}"


def _listed(ids: list[str], most: int = 12) -> str:
    return ", ".join(ids[:most]) + (f" and {len(ids) - most} more" if len(ids) > most else "")


def _count(calls: list[Outcome]) -> str:
    return f"{len(calls)} call{'' if len(calls) == 1 else 's'}"
