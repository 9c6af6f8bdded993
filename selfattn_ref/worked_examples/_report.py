"""All calls of a function in one report: its numbers, its conventions and its refusals."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any
from unittest import SkipTest
from xml.etree import ElementTree

import numpy as np

import selfattn_ref
from selfattn_ref.worked_examples._calls import Call
from selfattn_ref.worked_examples._capabilities import CAPABILITIES, reduced
from selfattn_ref.worked_examples._claims import OPTIONS, claimed, lacking
from selfattn_ref.worked_examples._comparison import (
    Tolerance,
    WorkedExampleMismatch,
    as_tolerance,
)
from selfattn_ref.worked_examples._conventions import question
from selfattn_ref.worked_examples._layouts import contiguous
from selfattn_ref.worked_examples._naming import Candidates
from selfattn_ref.worked_examples._selection import ATTENTION, selected
from selfattn_ref.worked_examples._summary import summary
from selfattn_ref.worked_examples._trial import TooManyAxes, attempt

#: What came of a call; the first two are verdicts on its numbers or its refusal.
RIGHT, DIFFERENT, FAILED, NOT_ASKED = "right", "different", "failed", "not asked"
SKIPPED, EXPECTED, UNEXPECTED = "skipped", "differs as expected", "agrees unexpectedly"


@dataclass(frozen=True)
class Outcome:
    """The outcome of one call.

    Attributes
    ----------
    id, example, call : str
        The id of the call, such as ``"SA016-1"``, its example, and the call written out.
    verdict : str
        ``"right"``, ``"different"``, ``"failed"`` (it raised an error), ``"not asked"``,
        ``"skipped"``, or, for a call that is expected to differ, ``"differs as expected"`` or
        ``"agrees unexpectedly"``.
    detail : str
        The details: the agreement, the differences, the error, or the reason.
    keywords : tuple of str
        The keywords of the call.
    wanting : tuple of str
        Those of them that the function does not take.
    refusal : bool
        Whether the call has to fail.
    question : str or None
        Where good libraries differ, what they differ about.
    follows : tuple of str
        The conventions that the result follows; more than one if they agree here.
    seconds : float
        How long it took, in all layouts.
    size : int
        How many numbers the inputs hold.
    """

    id: str
    example: str
    call: str
    verdict: str
    detail: str
    keywords: tuple[str, ...] = ()
    wanting: tuple[str, ...] = ()
    refusal: bool = False
    question: str | None = None
    follows: tuple[str, ...] = ()
    seconds: float = 0.0
    size: int = 0


@dataclass(frozen=True, repr=False)
class Report:
    """What a function does in all calls; its repr is a summary.

    Attributes
    ----------
    name : str
        The function.
    outcomes : tuple of Outcome
        The outcome of each call, in order.
    slips : tuple of str
        The slips of the catalog that explain every call at which slips are defined: those without a
        capability that returned numbers, right or wrong.
    certain : bool
        Whether a single slip explains all of several calls that are wrong, so that it is named as
        the cause; otherwise the function is only consistent with `slips`.
    claims : frozenset of str or None
        The keywords that the function says it takes; None if it does not say.
    require : tuple of str
        The keywords that had to be tested.
    whole : bool
        Whether the report was meant to cover all calls of all examples.
    place : str
        The function of this package that it was tested in place of.
    notes : tuple of str
        Notes of an adapter, if one was used.
    unexplained : int
        How many calls `slips` do not explain: they raised, or are wrong with a capability.
    """

    name: str
    outcomes: tuple[Outcome, ...]
    slips: tuple[str, ...]
    certain: bool
    claims: frozenset[str] | None
    require: tuple[str, ...] = ()
    whole: bool = True
    place: str = ATTENTION
    notes: tuple[str, ...] = ()
    unexplained: int = 0

    def __repr__(self) -> str:
        return "\n".join(summary(self))

    def having(self, *verdicts: str, refusals: bool = False) -> list[Outcome]:
        """Return the outcomes with one of these verdicts."""
        return [o for o in self.outcomes if o.verdict in verdicts and o.refusal == refusals]

    @property
    def asked(self) -> list[Outcome]:
        """The calls that were made and have a result."""
        return self.having(RIGHT, DIFFERENT, FAILED, EXPECTED, UNEXPECTED)

    @property
    def smallest(self) -> Outcome | None:
        """Of the calls that differ, the one with the fewest numbers."""
        return min(self.having(DIFFERENT), key=lambda outcome: outcome.size, default=None)

    @property
    def conventions(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """For each question, the conventions that are followed, with the ids of the calls.

        Just one per question if the function is consistent.
        """
        found: dict[str, dict[str, tuple[str, ...]]] = {}
        for text in dict.fromkeys(o.question for o in self.outcomes if o.question and o.follows):
            calls = [o for o in self.outcomes if o.question == text and o.follows]
            common = set.intersection(*(set(o.follows) for o in calls))
            first = next((name for name in calls[0].follows if name in common), None)
            follows: dict[str, tuple[str, ...]] = {}
            for o in calls:
                name = first or o.follows[0]
                follows[name] = (*follows.get(name, ()), o.id)
            found[str(text)] = follows
        return found

    @property
    def inconsistent(self) -> list[str]:
        """The questions that the function answers in more than one way."""
        return [text for text, follows in self.conventions.items() if len(follows) > 1]

    @property
    def not_asked(self) -> list[str]:
        """The required keywords that were not tested, or not in all their calls."""
        asked = {name for o in self.asked for name in o.keywords}
        left = {
            name
            for o in self.having(NOT_ASKED, SKIPPED)
            for name in o.wanting or o.keywords
            if {*o.keywords} <= {*self.require}
        }
        return [name for name in self.require if name in left or name not in asked]

    @property
    def unproved(self) -> list[str]:
        """The options and capabilities that the function claims, and that no call has asked for."""
        asked = [o for o in self.outcomes if o.verdict not in (NOT_ASKED, SKIPPED)]
        known = {name for o in asked for name in o.keywords}
        claims = self.claims or ()
        whole = self.whole and self.place in (ATTENTION, f"{ATTENTION}_vjp")
        every = (*OPTIONS, *CAPABILITIES)
        return [name for name in every if whole and name in claims and name not in known]

    @property
    def code(self) -> int:
        """The exit code: 0 if what is claimed was tested and agrees, 1 if anything differs, or 2.

        It is 2 if something could not run, nothing was tested or claimed, or something that is
        required was not tested. In a run of all calls of attention or of its gradients, an option
        that the function takes under our name is claimed, and required.
        """
        wrong = [o for o in self.outcomes if o.verdict in (DIFFERENT, UNEXPECTED)]
        if wrong or self.inconsistent:
            return 1
        unsaid = self.claims is None and not self.require
        failed = any(o.verdict == FAILED for o in self.outcomes)
        nothing = not any(o.verdict in (RIGHT, EXPECTED) for o in self.outcomes)
        return 2 if failed or nothing or unsaid or self.not_asked or self.unproved else 0

    def to_json(self) -> str:
        """Return the report as JSON."""
        document = {
            "package": f"selfattn_ref {selfattn_ref.__version__}",
            "function": self.name,
            "exit_code": self.code,
            "verdicts": Counter(o.verdict for o in self.outcomes if not o.refusal),
            "refusals": Counter(o.verdict for o in self.outcomes if o.refusal),
            "claims": None if self.claims is None else sorted(self.claims),
            "required_but_not_asked": self.not_asked,
            "claimed_but_not_asked": self.unproved,
            "slips": list(self.slips),
            "slip_is_certain": self.certain,
            "smallest_that_differs": self.smallest and self.smallest.id,
            "conventions": self.conventions,
            "inconsistent": self.inconsistent,
            "calls": [
                {name: value for name, value in vars(o).items() if name != "size"}
                for o in self.outcomes
            ],
        }
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

    def to_junit(self) -> str:
        """Return the report as JUnit XML, with a test case for each call."""
        kinds = {DIFFERENT: "failure", UNEXPECTED: "failure", FAILED: "error", RIGHT: None}
        cases = [(o.id, kinds.get(o.verdict, "skipped"), o.detail, o.seconds)
                 for o in self.outcomes]  # fmt: skip
        cases += [(f"conventions: {text}", "failure", "more than one is followed", 0.0)
                  for text in self.inconsistent]  # fmt: skip
        cases += [(f"keyword: {name}", "error", "was not asked", 0.0)
                  for name in (*self.not_asked, *self.unproved)]  # fmt: skip
        count = Counter(kind for _, kind, _, _ in cases)
        suite = ElementTree.Element(
            "testsuite",
            name=self.name,
            tests=str(len(cases)),
            failures=str(count["failure"]),
            errors=str(count["error"]),
            skipped=str(count["skipped"]),
            time=f"{sum(seconds for *_, seconds in cases):.3f}",
        )
        for name, kind, detail, seconds in cases:
            case = ElementTree.SubElement(
                suite, "testcase", classname=self.name, name=name, time=f"{seconds:.3f}"
            )
            if kind:
                # What XML cannot write, such as the colors of a terminal in a message, is left out.
                text = re.sub(r"[^\t\n\x20-\ud7ff\ue000-\ufffd]", "", detail)
                first = text.partition("\n")[0]
                ElementTree.SubElement(case, kind, message=first).text = text
        return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def report(
    function: Callable[..., Any],
    calls: Iterable[Call] | None = None,
    *,
    place: str = ATTENTION,
    require: Collection[str] = (),
    refusals: bool = False,
    skip: Collection[str] = (),
    xfails: Collection[str] = (),
    within: Tolerance | float | None = None,
    dtype: str = "float64",
    name: str | None = None,
    whole: bool | None = None,
    tell: Callable[[Outcome], object] | None = None,
) -> Report:
    """Make every call to a function, and sum up the outcomes.

    Each call is made twice, and also in other memory layouts; see `Call.test`.

    Parameters
    ----------
    function : callable
        Called like `scaled_dot_product_attention`, or through one of the `adapters`. Calls with
        keywords that its signature lacks are not made.
    calls : iterable of Call, optional
        The calls to make. By default all calls, those of the worked examples and the generated
        ones.
    place : str, optional
        The function of this package that it takes the place of.
    require : collection of str, optional
        Keywords that have to be tested in full: it counts against the function if a call with them
        is not made. If the function does not say what it takes, it gets only calls with no other
        keywords than these.
    refusals : bool, optional
        Whether to make the calls that have to fail as well. They are judged only if the others
        agree.
    skip, xfails : collection of str, optional
        Ids of calls and examples to leave out, and ids of those that are expected to differ.
    within : Tolerance or float, optional
        As in `Call.check`.
    dtype : str, optional
        The dtype in which real numbers are passed: ``"float64"``, ``"float32"`` or ``"float16"``.
    name : str, optional
        What the function is called in the report.
    whole : bool, optional
        Whether these are all the calls there are. If so, an option of attention or of its gradients
        that the function takes and no call tests is an error, and a slip may be named with
        certainty. True by default if `calls` is not given.
    tell : callable, optional
        Called with each outcome as soon as it is known.

    Returns
    -------
    Report
        Its repr is a summary; `code` says whether the results agree.

    See Also
    --------
    calls : The calls as test cases for pytest.
    Call.test : Make a single call.

    Examples
    --------
    >>> from selfattn_ref import softmax
    >>> from selfattn_ref.worked_examples import report
    >>> found = report(softmax, place="softmax")
    >>> found
    numbers: ... right
    conventions: no call depends on one
    refusals: not asked (--refusals)
    >>> found.code
    0
    """
    if not callable(function):
        raise TypeError(f"report needs a function, got {type(function).__name__}")
    whole = calls is None if whole is None else whole
    given = selected("all", place, refusals=refusals) if calls is None else iter(calls)
    runner = _Runner(function, require, {*skip}, {*xfails}, as_tolerance(within), dtype)
    outcomes: list[Outcome] = []
    later: list[tuple[int, Call]] = []
    for call in given:
        if call.raises:  # judged when it is known how the good calls went
            later.append((len(outcomes), call))
            outcomes.append(runner.outcome(call, NOT_ASKED, ""))
            continue
        outcomes.append(runner.ask(call))
        if tell is not None:
            tell(outcomes[-1])
    good = [o.verdict for o in outcomes if not o.refusal]
    well = RIGHT in good and not {DIFFERENT, FAILED} & {*good}
    for index, call in later:
        outcomes[index] = runner.refuse(call, well)
        if tell is not None:
            tell(outcomes[index])
    slips = runner.candidates
    return Report(
        name or str(getattr(function, "__qualname__", type(function).__name__)),
        tuple(outcomes),
        tuple(slip.id for slip in slips.names),
        slips.certain and whole,
        claimed(function),
        tuple(require),
        whole,
        place,
        tuple(getattr(function, "notes", ())),
        slips.unexplained,
    )


class _Runner:
    """Asks a function one call after another, and remembers which slips explain them all."""

    def __init__(
        self,
        function: Callable[..., Any],
        require: Collection[str],
        skip: set[str],
        xfails: set[str],
        within: Tolerance | None,
        dtype: str,
    ) -> None:
        self.function, self.within, self.dtype = function, within, dtype
        self.skip, self.xfails = skip, xfails
        claims = claimed(function)
        self.claims = frozenset(require) if claims is None and require else claims
        self.candidates = Candidates()
        self.between: Callable[[], Any] | None = None

    def outcome(self, call: Call, verdict: str, detail: str, **more: Any) -> Outcome:
        """Return what came of a call."""
        if {call.id, call.example} & self.xfails:
            verdict = {DIFFERENT: EXPECTED, FAILED: EXPECTED, RIGHT: UNEXPECTED}.get(
                verdict, verdict
            )
        arrays = [x for x in call.arguments.values() if isinstance(x, np.ndarray)]
        return Outcome(
            call.id,
            call.example,
            call.written,
            verdict,
            detail,
            tuple(call.kwargs),
            refusal=call.raises is not None,
            question=question(call) if call.conventions else None,
            size=sum(x.size for x in arrays),
            **more,
        )

    def unasked(self, call: Call) -> Outcome | None:
        """Return the outcome of a call that is not to be made; None if it is."""
        if {call.id, call.example} & self.skip:
            return self.outcome(call, SKIPPED, "skipped as you wish")
        wanting = lacking(call.kwargs, self.claims)
        if wanting:
            detail = f"the function takes no {', '.join(wanting)}"
            return self.outcome(call, NOT_ASKED, detail, wanting=wanting)
        if self.dtype in ("float32", "float16"):
            given, whole = contiguous(call, self.dtype), contiguous(call)
            lost = [n for n, x in given.items() if (np.isinf(x) & np.isfinite(whole[n])).any()]
            if lost:
                return self.outcome(call, NOT_ASKED, f"{self.dtype} cannot hold {', '.join(lost)}")
        return None

    def ask(self, call: Call) -> Outcome:
        """Make a call that has a result, and return what came of it."""
        call = reduced(call, self.claims or ())
        unasked = self.unasked(call)
        if unasked:
            return unasked
        start = time.perf_counter()
        try:
            trial = attempt(
                call, self.function, self.within, dtype=self.dtype, between=self.between
            )
        except TooManyAxes as reason:
            return self.outcome(call, NOT_ASKED, str(reason), wanting=("a fifth axis",))
        except SkipTest as reason:  # an adapter cannot say it
            return self.outcome(call, NOT_ASKED, str(reason))
        except Exception as error:
            keyword = re.search(r"unexpected keyword argument '(\w+)'", str(error))
            if self.claims is None and keyword and keyword[1] in call.kwargs:
                detail = f"the function takes no {keyword[1]}"
                return self.outcome(call, NOT_ASKED, detail, wanting=(keyword[1],))
            self.candidates.raised(call)
            return self.outcome(call, FAILED, f"{type(error).__name__}: {error}{line(error)}")
        # Of another shape, mostly: buffers that are kept from it do not fit.
        args, kwargs = call.args, call.kwargs
        self.between = lambda: self.function(*args, **kwargs)
        judge = call.judge(self.within)
        self.candidates.see(call, judge, trial.result, right=bool(trial.followed))
        seconds = time.perf_counter() - start
        if not trial.followed:
            lines = [*judge.differences(trial.found, trial.result)]
            return self.outcome(call, DIFFERENT, "\n".join(lines[1:]), seconds=seconds)
        follows = tuple(filter(None, trial.followed))
        if trial.faults:
            detail = "\n".join(trial.faults)
            return self.outcome(call, DIFFERENT, detail, follows=follows, seconds=seconds)
        agreement = repr(call.agreement(trial.found)).partition(": ")[2]
        agreement = agreement.removeprefix(f"{call.written} ")
        return self.outcome(call, RIGHT, agreement, follows=follows, seconds=seconds)

    def refuse(self, call: Call, well: bool) -> Outcome:
        """Make a call that has to fail, if all good calls went well."""
        unasked = self.unasked(call)
        if unasked:
            return unasked
        if not well:
            return self.outcome(call, NOT_ASKED, "good calls come first, and do not agree")
        start = time.perf_counter()
        try:
            agreement = call.refused(self.function)
        except SkipTest as reason:
            return self.outcome(call, NOT_ASKED, str(reason))
        except WorkedExampleMismatch as mismatch:
            verdict, detail = DIFFERENT, str(mismatch).partition("\n")[2]
        else:
            taken = agreement.convention
            verdict, detail = (
                RIGHT,
                f"takes it: {taken}" if taken else f"refuses ({agreement.entries})",
            )
        return self.outcome(call, verdict, detail, seconds=time.perf_counter() - start)


def line(error: BaseException) -> str:
    """Return the line of the user's code in which an error was raised."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    if trace is None:
        return ""
    path = trace.tb_frame.f_code.co_filename
    if os.path.dirname(path) == os.path.dirname(__file__):
        return ""
    return f" ({os.path.basename(path)}, line {trace.tb_lineno})"
