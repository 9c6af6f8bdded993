"""Tell what was measured: the faults, a table, a file that machines read."""

import json
import statistics
from pathlib import Path

from press.measure.budgets import BUDGETS, Row

SHOWN = 12  # faults of a budget on the screen; the file has every fault


def report(target: Path, rows: list[Row], sources: list[str], seconds: float) -> int:
    """Print the faults and the table, write the report; return the exit code."""
    faults = {"pages as written": sources}
    lines = []
    for budget in BUDGETS:
        own = [row for row in rows if row.budget == budget.name]
        if not own:
            lines.append(f"{budget.name:32} {budget.limit:22} nothing to measure")
            continue
        worst = max(own, key=lambda row: budget.badness(row.reading.value))
        median = statistics.median(row.reading.value for row in own)
        found = [f"{row.page} ({row.mode}): {fault}" for row in own for fault in row.reading.faults]
        if budget.median is not None and median > budget.median:
            found.append(f"the median of all pages is {median:.0f}")
        faults[budget.name] = found
        lines.append(
            f"{budget.name:32} {budget.limit:22} median {median:<8.4g} worst "
            f"{worst.reading.value:<8.4g} on {worst.page} ({worst.mode})"
        )
    for name, found in faults.items():
        if found:
            print("\n  ".join([f"\n{name}: {len(found)}", *found[:SHOWN]]))
    print("\n".join(["", *lines, ""]))
    readings = [
        {"budget": row.budget, "page": row.page, "mode": row.mode, "value": row.reading.value}
        for row in rows
    ]
    content = {"seconds": seconds, "faults": faults, "readings": readings}
    target.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")
    total = sum(map(len, faults.values()))
    told = f"{total} against a budget: see {target}" if total else "All budgets hold."
    print(f"{seconds:.0f} s. {told}")
    return int(total > 0)
