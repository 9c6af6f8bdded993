"""The generated cases in one table, and which of their sizes and options meet in a case."""

import functools
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from press.markup import paragraph, row, table
from selfattn_ref.worked_examples import generated

Recipe: TypeAlias = Mapping[str, Any]
Level: TypeAlias = tuple[str, str]  # a factor and one of its levels

SOURCE = Path("selfattn_ref", "worked_examples", "data", "generated.json")
SIZES = {
    "15–17": (15, 16, 17),
    "31–33": (31, 32, 33),
    "63–65": (63, 64, 65),
    "127–129": (127, 128, 129),
    "255–257": (255, 256, 257),
    "1000": (1000,),
}
WIDTHS = {
    "3–16": (3, 8, 16),
    "64": (64,),
    "65–100": (65, 72, 80, 96, 100),
    "128": (128,),
    "256": (256,),
}


def one_of(sizes: Mapping[str, tuple[int, ...]], size: int) -> str | None:
    """Return the level of a size."""
    return next((level for level, several in sizes.items() if size in several), None)


def compared(one: int, other: int, less: str, equal: str, more: str) -> str:
    """Return which of three words says how two numbers compare."""
    return less if one < other else more if one > other else equal


def of_axes(axes: str) -> str:
    """Return in a word for what a mask or a bias has an axis."""
    if "q" not in axes and "h" not in axes:
        return "lengths" if axes else "none"
    return "heads" if "h" in axes else "batch" if "b" in axes else "shared"


def causal(options: Recipe) -> str:
    """Return the sign of the offset of a causal mask."""
    if not options.get("causal"):
        return "no"
    return compared(options.get("offset", 0), 0, "offset < 0", "offset 0", "offset > 0")


def values(r: Recipe) -> str:
    """Return what is special about the scores."""
    found = {
        "far down": r["level"],
        "loud hidden": r["loud"],
        "hidden rows": r["hidden_rows"],
        "hidden tile": r["hidden_first"],
    }
    return next((level for level, has in found.items() if has), "plain")


def given(name: str) -> Callable[[Recipe], str]:
    """Return the factor that says whether an option is given."""
    return lambda r: "yes" if name in r["options"] else "no"


#: What differs between the cases: from a recipe to a level, or None for a size beside the others.
FACTORS: dict[str, Callable[[Recipe], str | None]] = {
    "leading axes": lambda r: ("none", "heads", "batch, heads")[len(r["lead"])],
    "queries": lambda r: (
        "one"
        if r["queries"] == 1
        else compared(r["queries"], r["keys"], "fewer than keys", "as many", "more")
    ),
    "keys": lambda r: one_of(SIZES, r["keys"]),
    "width": lambda r: one_of(WIDTHS, r["width"]),
    "value width": lambda r: compared(r["value_width"], r["width"], "narrower", "same", "wider"),
    "mask": lambda r: of_axes(r["mask"]),
    "bias": lambda r: of_axes(r["bias"]),
    "−∞ biases": lambda r: "yes" if r["holes"] else "no",
    "scale": given("scale"),
    "soft_cap": given("soft_cap"),
    "causal": lambda r: causal(r["options"]),
    "values": values,
    "grouped_heads": given("grouped_heads"),
    "window": lambda r: {None: "no", 1: "one side", 0: "both sides"}[
        r["options"]["window"].count(None) if "window" in r["options"] else None
    ],
    "lengths": given("query_lengths"),
    "log-sum-exp": given("return_log_sum_exp"),
}
WITH_QUERIES = ("shared", "batch", "heads")


def excluded(one: Level, other: Level) -> bool:
    """Return whether two levels cannot meet: what one is needs what the other is not."""
    both = dict([one, other])
    axes, mask, bias = (both.get(name) for name in ("leading axes", "mask", "bias"))
    packed, special = both.get("lengths") == "yes", both.get("values")
    return (
        (axes == "none" and (mask in ("batch", "heads", "lengths") or bias in ("batch", "heads")))
        or (axes == "heads" and (mask in ("batch", "lengths") or bias == "batch"))
        or (axes == "none" and (packed or both.get("grouped_heads") == "yes"))
        or (packed and (axes == "batch, heads" or mask not in (None, "none") or bias == "batch"))
        or (packed and (both.get("queries") == "one" or special not in (None, "plain", "far down")))
        or (bias == "none" and both.get("−∞ biases") == "yes")
        or (
            special == "loud hidden"
            and (mask not in (None, "lengths") or axes in ("none", "heads"))
        )
        or (special in ("hidden rows", "hidden tile") and mask in ("none", "lengths"))
        or (special in ("hidden rows", "hidden tile") and both.get("queries") == "one")
        or (special == "far down" and both.get("soft_cap") == "yes")
        or (both.get("causal") == "offset < 0" and both.get("queries") == "one")
    )


def levels_of(recipe: Recipe) -> dict[str, str]:
    """Return the level of each factor in a case."""
    found = {name: level(recipe) for name, level in FACTORS.items()}
    return {name: level for name, level in found.items() if level is not None}


@functools.cache
def coverage() -> dict[tuple[str, str], tuple[int, int, list[tuple[str, str]]]]:
    """Return for two factors how many pairs of levels meet, how many can, and those that do not."""
    cases = [levels_of(generated.load(name).recipe) for name in generated.names()]
    every = {name: sorted({case[name] for case in cases if name in case}) for name in FACTORS}
    found = {}
    for one, other in combinations(FACTORS, 2):
        met = {(case[one], case[other]) for case in cases if one in case and other in case}
        can = {
            (a, b) for a in every[one] for b in every[other] if not excluded((one, a), (other, b))
        }
        found[one, other] = len(met & can), len(can), sorted(can - met)
    return found


class GeneratedCatalog(SphinxDirective):
    """``{generated-catalog}``: a row for each generated case, with an anchor of its name."""

    def run(self) -> list[nodes.Node]:
        """List the cases."""
        self.env.note_dependency(str(Path(self.env.srcdir, SOURCE)))
        std = self.env.domains["std"]
        body = []
        for name in generated.names():
            case = generated.load(name)
            std.note_hyperlink_target(f"case-{name}", self.env.docname, name, name)
            anchored = nodes.inline("", name, ids=[name])
            body.append(row([anchored], sizes(case.recipe), options(case.recipe), case.purpose))
        return [table(("Case", "Shapes", "Options", "Meant to catch"), body)]


class GeneratedCoverage(SphinxDirective):
    """``{generated-coverage}``: how many pairs of levels of two factors meet in some case."""

    def run(self) -> list[nodes.Node]:
        """Count what meets; a test names what does not though it could."""
        self.env.note_dependency(str(Path(self.env.srcdir, SOURCE)))
        found, names = coverage(), list(FACTORS)
        body = []
        for place, one in enumerate(names[1:], 1):
            counts = (found[other, one][:2] for other in names[:place])
            cells = (f"{met}/{can}" for met, can in counts)
            body.append(row(one, *cells, *([] for _ in names[place:-1])))
        met = sum(met for met, _, _ in found.values())
        can = sum(can for _, can, _ in found.values())
        text = f"{met:,} of the {can:,} pairs that can meet do."
        text += " None is missing." * (met == can)
        return [table(("factor", *names[:-1]), body), paragraph(text)]


def sizes(r: Recipe) -> Iterable[str]:
    """Yield the shapes of query, and of key and value where they differ."""
    lead = [*r["lead"][:-1], r["key_heads"]] if r["lead"] else []
    query = (*r["lead"], r["queries"], r["width"])
    yield " × ".join(map(str, query)) + "; "
    yield " × ".join(map(str, (*lead, r["keys"], r["width"])))
    if r["value_width"] != r["width"]:
        yield f", values {r['value_width']}"


def options(r: Recipe) -> str:
    """Return the options as one would write them, with the axes of mask and bias."""
    parts = []
    for name in ("mask", "bias"):
        if r[name]:
            shape = generated.load(r["name"]).call.arguments[name].shape
            parts.append(f"{name} of {' × '.join(map(str, shape))}")
    parts += [f"{name}={value}" for name, value in r["options"].items()]
    marks = {"holes": "some −∞", "level": "scores far down", "loud": "loud hidden keys"}
    parts += [says for name, says in marks.items() if r[name]]
    parts += ["keys 16 to 31 hidden"] * r["hidden_tile"]
    parts += ["rows that see nothing"] * r["hidden_rows"]
    parts += [f"first {r['hidden_first']} keys hidden"] * bool(r["hidden_first"])
    return ", ".join(parts)
