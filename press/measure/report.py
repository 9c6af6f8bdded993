"""Tell what was measured: a table, the faults, a file that machines read."""

import json
import re
import statistics
from collections import defaultdict
from pathlib import Path

from press.measure.budgets import BUDGETS, Row

SHOWN = 12  # kinds of faults of a budget on the screen; the file has every fault
PARTICULAR = re.compile(r"“[^”]*”|in #\S+|[\d.]+")  # in what faults of a kind may differ


def report(
    target: Path, rows: list[Row], sources: list[str], phases: dict[str, float], seconds: float
) -> int:
    """Print the table and the faults, write the report; return the exit code."""
    faults = {"pages as written": sources}
    table = [("budget", "limit", "median", "worst", "where", "faults")]
    summary = {}
    for budget in BUDGETS:
        own = [row for row in rows if row.budget == budget.name]
        if not own:
            table.append((budget.name, budget.limit, "", "", "nothing to measure", "0"))
            continue
        values = [row.reading.value for row in own]
        worst = max(own, key=lambda row: budget.badness(row.reading.value))
        found = [f"{row.page} ({row.mode}): {fault}" for row in own for fault in row.reading.faults]
        if budget.median is not None and statistics.median(values) > budget.median:
            found.append(f"the median of all pages is {statistics.median(values):.0f}")
        faults[budget.name] = found
        summary[budget.name] = {
            "limit": budget.limit,
            "readings": len(own),
            "median": statistics.median(values),
            "worst": worst.reading.value,
            "where": [worst.page, worst.mode],
        }
        place = f"{worst.page} {worst.mode}" if found else ""
        numbers = (f"{statistics.median(values):.4g}", f"{worst.reading.value:.4g}")
        table.append((budget.name, budget.limit, *numbers, place, str(len(found))))
    table.append(("pages as written", "0", "", "", "", str(len(sources))))

    for name, found in faults.items():
        if found:
            print(f"\n{name}: {len(found)}")
            alike: dict[str, list[str]] = defaultdict(list)
            for fault in found:
                alike[PARTICULAR.sub("", fault.partition(": ")[2] or fault)].append(fault)
            kinds = sorted(alike.values(), key=len, reverse=True)
            print("\n".join(f"  {len(kind):4} × {kind[0]}" for kind in kinds[:SHOWN]))
            if len(kinds) > SHOWN:
                print(f"       … and {len(kinds) - SHOWN} other kinds: see {target.name}")
    print()
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    for line in table:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(cells).rstrip())
    slow = ", ".join(f"{n} {s:.0f}" for n, s in sorted(phases.items(), key=lambda p: -p[1])[:8])
    total = sum(map(len, faults.values()))
    print(f"\n{seconds:.0f} s; seconds of the cores: {slow}")
    print(f"{total} against a budget" if total else "All budgets hold.")
    pages = {
        page: [
            {"budget": row.budget, "mode": row.mode, "value": row.reading.value,
             "faults": row.reading.faults}
            for row in rows if row.page == page
        ]
        for page in sorted({row.page for row in rows})
    }  # fmt: skip
    content = {
        "seconds": seconds, "phases": phases, "budgets": summary, "faults": faults, "pages": pages
    }  # fmt: skip
    target.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")
    return int(total > 0)
