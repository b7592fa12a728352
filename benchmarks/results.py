"""What came out: every round of everybody, the machine it was on, and the figures that are made of them."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple

from .data import Loaded, Scale


@dataclass
class Series:
    """What one contestant took for one call of one case, in seconds, round by round.

    :param calls: calls in each round; a figure is their mean
    :param wall: the time that passed
    :param cpu: the time that this process was computing; Azurite computes in its own
    """

    calls: int
    wall: list[float] = field(default_factory=list[float])
    cpu: list[float] = field(default_factory=list[float])


class Spread(NamedTuple):
    """A figure's median over the rounds, and how far it strayed."""

    median: float
    least: float
    most: float


def spread(values: list[float]) -> Spread:
    return Spread(median(values), min(values), max(values))


@dataclass
class Results:
    """One run.

    :param memory: bytes that the engine's large table takes
    :param cases: the figures by case and contestant
    """

    environment: dict[str, str]
    scale: Scale
    loaded: dict[str, Loaded]
    memory: int
    cases: dict[str, dict[str, Series]]

    def has(self, contestant: str) -> bool:
        return any(contestant in contestants for contestants in self.cases.values())

    def time(self, case: str, contestant: str) -> Spread:
        """Return the seconds of a call."""
        return spread(self.cases[case][contestant].wall)

    def ratio(self, case: str, over: str, under: str, *, cpu: bool = False) -> Spread:
        """Return how many times the cost of one contestant another's is; each round is compared with itself."""
        above, below = self.cases[case][over], self.cases[case][under]
        pairs = zip(above.cpu, below.cpu, strict=True) if cpu else zip(above.wall, below.wall, strict=True)
        return spread([one / other for one, other in pairs])

    def write(self, path: Path) -> None:
        text = json.dumps(asdict(self), indent=1)
        # One line for each series, so that the file can be read and compared
        text = re.sub(r"\[[^][]*\]", lambda found: " ".join(found[0].split()), text)
        path.write_text(text + "\n", encoding="utf-8")


def read(path: Path) -> Results:
    """Return the results of a run that was written down."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return Results(
        environment=found["environment"],
        scale=Scale(**found["scale"]),
        loaded={name: Loaded(**each) for name, each in found["loaded"].items()},
        memory=found["memory"],
        cases={
            case: {name: Series(**each) for name, each in contestants.items()}
            for case, contestants in found["cases"].items()
        },
    )
