"""Run all contenders in turn and write ``_build/bench/bench.md`` and ``bench.svg``."""

import argparse
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import contenders, measure, report
from benchmarks.contenders import Array
from selfattn_ref import scaled_dot_product_attention, streaming_attention

SHAPES = [(1, 1, 512, 64), (1, 8, 1024, 64), (1, 8, 4096, 64), (1, 1, 16384, 64)]
QUICK = [(1, 1, 512, 64), (1, 1, 4096, 64)]
SMALL = [(1, 1, 16, 64), (1, 1, 64, 64)]
DTYPES: list[Any] = [np.float32, np.float64]


def inputs(*shapes: tuple[int, ...], dtype: Any) -> list[Array]:
    """Return standard normal arrays, the same in every run."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def timed(shapes: Sequence[tuple[int, ...]], rounds: int) -> Iterator[report.Row]:
    """Yield what each case took."""
    for dtype in DTYPES:
        name = np.dtype(dtype).name
        for shape in shapes:
            few = max(3, rounds // 3) if shape[-2] > 8192 else rounds
            for causal in (False, True):
                case = f"{name} {shape[:-1]}{' causal' if causal else ''}"
                query, key, value, d_output = inputs(*4 * [shape], dtype=dtype)
                ahead = contenders.forward(query, key, value, causal)
                back = contenders.backward(query, key, value, d_output, causal)
                yield f"forward {case}", measure.in_turn(ahead, few)
                yield f"backward {case}", measure.in_turn(back, few)
    for shape in SMALL:
        query, key, value = inputs(*3 * [shape], dtype=np.float32)
        calls = contenders.decoding(query, key, value)
        yield f"small float32 {shape[:-1]}", measure.in_turn(calls, 10 * rounds)
    for length in (1024, 16384):
        query, key, value = inputs(
            (1, 8, 1, 64), (1, 8, length, 64), (1, 8, length, 64), dtype=np.float32
        )
        calls = contenders.decoding(query, key, value)
        yield f"one query, {length} keys, 8 heads", measure.in_turn(calls, rounds)


def speed_targets(case: str, timings: dict[str, measure.Timing]) -> Iterator[report.Target]:
    """Yield the targets that apply to a case."""

    def at_most(bound: float, name: str, other: str) -> Iterator[report.Target]:
        if name in timings and other in timings:
            ratio = timings[name].ratio(timings[other])
            best = timings[name].best / timings[other].best
            yield report.Target(f"{case}: {name} / {other}", ratio, best, bound)

    double = "float64" in case
    if "4096" in case or "16384)" in case:
        if case.startswith("forward"):
            yield from at_most(1.15, "streaming", "limit")
            bound = 1.0 if "causal" in case else 1.05 if double else 1.2
            yield from at_most(bound, "streaming", "PyTorch")
            yield from at_most(1.2, "streaming float16", "streaming")
            yield from at_most(0.7, "direct", "textbook")
        elif case.startswith("backward"):
            yield from at_most(1.1 if double else 1.5, "streaming", "PyTorch")
    if case.startswith("small"):
        yield from at_most(1.0, "direct", "textbook")
        if "16)" in case:
            direct, bare = timings["direct"], timings["arithmetic"]
            beyond, best = 1e6 * (direct.median - bare.median), 1e6 * (direct.best - bare.best)
            yield report.Target(f"{case}: checks beyond the arithmetic", beyond, best, 10, "µs")


def memory_targets() -> Iterator[report.Target]:
    """Yield the targets on memory, results included."""
    peaks = {}
    for length in (8192, 16384):
        query, key, value = inputs(*3 * [(1, 1, length, 64)], dtype=np.float32)
        peaks[length] = measure.peak_memory(partial(streaming_attention, query, key, value))
    query, key, value = inputs(*3 * [(4096, 64)], dtype=np.float32)
    direct = measure.peak_memory(lambda: scaled_dot_product_attention(query, key, value))
    textbook = measure.peak_memory(lambda: contenders.textbook(query, key, value))
    for what, measured, bound, unit in (
        ("streaming at T = 16384", peaks[16384] / 1e6, 6.0, "MB"),
        ("streaming, T = 16384 / 8192", peaks[16384] / peaks[8192], 2.0, "×"),
        ("direct / textbook at T = 4096", direct / textbook, 0.4, "×"),
    ):
        yield report.Target(f"memory of {what}", measured, measured, bound, unit)


def main() -> None:
    """Parse the arguments, measure, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two shapes and few rounds")
    parser.add_argument("--rounds", type=int, help="how often each contender runs")
    parser.add_argument("--output", type=Path, default=Path("_build/bench"))
    options = parser.parse_args()
    shapes = QUICK if options.quick else SHAPES
    rounds = options.rounds or (5 if options.quick else 9)

    rows: list[report.Row] = []
    targets: list[report.Target] = []
    for case, timings in timed(shapes, rounds):
        rows.append((case, timings))
        targets += speed_targets(case, timings)
        print(f"{case}: {1e3 * timings['streaming'].median:.3g} ms", file=sys.stderr, flush=True)
    targets += memory_targets()

    about = (
        f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}, "
        f"NumPy {np.__version__}; {rounds} rounds in turn (a third as many for the longest)."
    )
    text = report.markdown(targets, rows, about)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "bench.md").write_text(text, encoding="utf-8")
    report.figure(rows, options.output / "bench.svg")
    print(text)


if __name__ == "__main__":
    main()
