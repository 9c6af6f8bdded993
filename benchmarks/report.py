"""Write what was measured: a table in Markdown and a figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Timing


@dataclass(frozen=True)
class Target:
    """A number that was promised, and what was measured.

    It is judged by the median. The best round tells a slow program from a busy machine.
    """

    what: str
    measured: float
    best: float
    bound: float
    unit: str = "×"

    @property
    def met(self) -> bool:
        """Whether the promise holds."""
        return self.measured <= self.bound


Row = tuple[str, dict[str, Timing]]


def markdown(targets: Sequence[Target], rows: Sequence[Row], about: str) -> str:
    """Return the tables; a target that was missed stands out."""
    missed = sum(not target.met for target in targets)
    lines = [
        "# Speed and memory",
        "",
        about,
        "",
        f"{len(targets) - missed} of {len(targets)} targets are met.",
        "",
        "| target | at most | median | best | |",
        "|---|---:|---:|---:|---|",
    ]
    lines += [
        f"| {t.what} | {t.bound:g} {t.unit} | {t.measured:.2f} {t.unit} | {t.best:.2f} | "
        f"{'met' if t.met else '**missed**'} |"
        for t in targets
    ]
    floor = [t["limit"].ratio(t["PyTorch"]) for _, t in rows if {"limit", "PyTorch"} <= t.keys()]
    if floor:
        lines += [
            "",
            f"The limit, the least that NumPy has to compute, takes {min(floor):.2f} to "
            f"{max(floor):.2f} times as long as PyTorch here. Where that is above 1, PyTorch's "
            "products or exponentials are faster than NumPy's, and no form in NumPy can reach it.",
        ]
    names = list(dict.fromkeys(name for _, timings in rows for name in timings))
    names.remove("streaming")
    lines += [
        "",
        "Time of `streaming`, and of the others as multiples of it (medians):",
        "",
        f"| case | streaming, ms | {' | '.join(names)} |",
        f"|---|---:|{'---:|' * len(names)}",
    ]
    for case, timings in rows:
        ours = timings["streaming"]
        cells = (f"{timings[n].ratio(ours):.2f}" if n in timings else "—" for n in names)
        lines.append(f"| {case} | {1e3 * ours.median:.3g} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def figure(rows: Sequence[Row], path: Path) -> None:
    """Draw the time of each contender relative to `streaming`, one line a case."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "benchmarks"  # the same figure has the same bytes
    from matplotlib import pyplot

    names = list(dict.fromkeys(name for _, timings in rows for name in timings))
    fig, axes = pyplot.subplots(figsize=(8, 1.2 + 0.3 * len(rows)), layout="constrained")
    for name, marker in zip(names, "|o^svDP*Xdp<>", strict=False):
        shown = [i for i, (_, timings) in enumerate(rows) if name in timings]
        ratios = [rows[i][1][name].ratio(rows[i][1]["streaming"]) for i in shown]
        axes.plot(ratios, shown, marker, label=name, markersize=6)
    axes.set_yticks(range(len(rows)), [case for case, _ in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.axvline(1, color="0.7", linewidth=1, zorder=0)
    axes.set_xlabel("time relative to streaming_attention; left of 1 is faster")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    fig.savefig(path, metadata={"Date": None})
    pyplot.close(fig)
