"""Time contenders in turn, and count the memory they take."""

import statistics
import time
import tracemalloc
from collections.abc import Iterable
from dataclasses import dataclass, field

from benchmarks.contenders import Call


@dataclass
class Timing:
    """The seconds of one contender in each round; rounds of two contenders go in pairs."""

    name: str
    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The median time, in seconds."""
        return statistics.median(self.seconds)

    @property
    def best(self) -> float:
        """The shortest time, in seconds: what the others on the machine disturbed least."""
        return min(self.seconds)

    def ratio(self, other: "Timing") -> float:
        """Return the median of the ratios round by round, which a busy machine moves least."""
        pairs = zip(self.seconds, other.seconds, strict=True)
        return statistics.median(mine / yours for mine, yours in pairs)


def in_turn(calls: Iterable[tuple[str, Call]], rounds: int) -> dict[str, Timing]:
    """Time every contender once a round; a round starts with another one each time."""
    contenders = dict(calls)
    repeats = {name: _repeats(call) for name, call in contenders.items()}
    timings = {name: Timing(name) for name in contenders}
    names = list(contenders)
    for i in range(rounds):
        turn = i % len(names)
        for name in names[turn:] + names[:turn]:
            timings[name].seconds.append(_time(contenders[name], repeats[name]))
    return timings


def peak_memory(call: Call) -> int:
    """Return the most bytes that NumPy holds during a call, its result included."""
    call()
    tracemalloc.start()
    result = call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del result
    return peak


def _repeats(call: Call) -> int:
    """Warm up, and return how many calls take a millisecond or more."""
    call()
    number = 1
    while _time(call, number) * number < 1e-3:
        number *= 2
    return number


def _time(call: Call, number: int) -> float:
    start = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - start) / number
