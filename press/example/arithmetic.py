"""Lines of arithmetic: numbers and recorded steps as one writes them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from derivations.recording import Step

SUM, PRODUCT, ATOM = range(3)  # how strongly what is written holds together


MANY = 5  # terms of a sum, all of which paper shows
NOT_FULL = 1 / 3  # a number that nobody writes in full, as e to the power of −50


def rounded(value: float, digits: int) -> float:
    """Round to a number of digits, halfway cases to one side on all machines.

    The last bits of a result differ from machine to machine and would decide: they are cut first.
    """
    return float(f"{float(f'{value:.{max(digits, 13)}g}'):.{digits}g}")


def short(value: float) -> str:
    """Write a number with four decimals; more if it is small or nearly whole, or as a power."""
    value = float(value)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "−∞"
    rest = abs(value - round(value))
    if (value and abs(value) < 5e-4) or abs(value) >= 1e7:
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        text = f"{mantissa} × 10<sup>{int(exponent)}</sup>"
    else:
        nearly = abs(value) > 0.5 and 1e-12 < rest < 5e-5
        digits = 1 - math.floor(math.log10(rest)) if nearly else decimals(value)
        text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
        text = "0" if text == "-0" else text
    return text.replace("-", "−")


def decimals(value: float) -> int:
    """Return how many decimals a number is written with."""
    return 6 if abs(value) < 0.01 else 4


def equals(*values: float, residue: float = 1e-12) -> str:
    """Return how a line with these numbers goes on: "=" if they are written in full, else "≈"."""
    exact = all(
        abs(round(value, decimals(value)) - value) <= max(residue, 1e-12 * abs(value))
        for value in values
    )
    return "=" if exact else "≈"


@dataclass(frozen=True)
class Text:
    """Something written: how it holds together, the numbers in it, the lines that lead to it."""

    text: str
    holds: int = ATOM
    numbers: tuple[float, ...] = ()
    lines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def inside(self, holds: int = PRODUCT) -> str:
        """Write it as a part of something that holds together."""
        return f"({self.text})" if self.holds < holds or self.text.startswith("−") else self.text


def joined(text: str, holds: int, *parts: Text) -> Text:
    """Return what is written of parts."""
    return Text(
        text,
        holds,
        tuple(number for part in parts for number in part.numbers),
        tuple(dict.fromkeys(line for part in parts for line in part.lines)),
        tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def added(terms: Sequence[str]) -> str:
    """Write a sum; in a long one, what stands between is marked, for paper leaves it out."""
    if len(terms) <= MANY:
        return " + ".join(terms)
    first, between, last = (" + ".join(part) for part in (terms[:2], terms[2:-1], terms[-1:]))
    return f'{first} + <span class="between">{between}</span> + {last}'


def atom(step: Step, lines: Sequence[str] = (), note: str = "") -> Text:
    """Return the value of a step, as it stands."""
    value = float(step.value)
    text = short(value)
    notes = (f" <small>({text} is {note})</small>",) if note else ()
    return Text(text, PRODUCT if "×" in text else ATOM, (value,), tuple(lines), notes)


def formula(step: Step, parts: Sequence[Text]) -> Text:
    """Write an operation of parts that are written."""
    x, y = parts[0], parts[-1]
    match step.operation:
        case "sum":
            terms = [x.text, *(one.inside(SUM) for one in parts[1:])]
            return joined(added(terms), SUM if len(terms) > 1 else x.holds, *parts)
        case "dot":
            pairs = [*zip(parts[::2], parts[1::2], strict=True)]
            if len(pairs) > 4:  # what is nothing is left out of a long sum
                pairs = [pair for pair in pairs if "0" not in (pair[0].text, pair[1].text)]
                pairs = pairs or [(parts[0], parts[1])]
            terms = [f"{a.inside()} × {b.inside()}" for a, b in pairs]
            used = [part for pair in pairs for part in pair]
            holds = SUM if len(terms) > 1 else PRODUCT
            return joined(added(terms), holds, *used)
        case "subtract":
            return joined(f"{x.text} − {y.inside()}", SUM, x, y)
        case "multiply":
            return joined(f"{x.inside()} × {y.inside()}", PRODUCT, x, y)
        case "divide":
            left = x.text if x.holds else f"({x.text})"
            return joined(f"{left} ÷ {y.inside(ATOM)}", PRODUCT, x, y)
        case "negate":
            return joined(f"−{x.inside()}", PRODUCT, x)
        case "power":
            raised = "²" if y.text == "2" else f"<sup>{y.text}</sup>"
            return joined(f"{x.inside(ATOM)}{raised}", ATOM, x, y)
        case "root" if step.operands[1].value == 2:
            return joined(f"√{x.inside(ATOM)}", ATOM, x)
        case "exp":
            tiny = (NOT_FULL,) if float(step.value) <= 1e-12 else ()
            return joined(f"e<sup>{x.text}</sup>", ATOM, x, Text("", numbers=tiny))
        case "max" if len(parts) == 1:
            return x
    told = {"absolute": "abs"}.get(step.operation, step.operation)
    return joined(f"{told}({', '.join(one.text for one in parts)})", ATOM, *parts)
