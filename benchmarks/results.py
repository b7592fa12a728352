"""The results: every round of every contestant, the machine, and the figures calculated from them."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from .data import Effort, Loaded, ObjectScale, RecipeScale, Scale


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
class Rounds:
    """One run.

    :param cases: the figures by case and contestant
    """

    environment: dict[str, str]
    scale: Effort
    cases: dict[str, dict[str, Series]]

    def has(self, contestant: str) -> bool:
        return any(contestant in contestants for contestants in self.cases.values())

    def time(self, case: str, contestant: str) -> Spread:
        """Return the seconds of a call."""
        return spread(self.cases[case][contestant].wall)

    def rate(self, case: str, contestant: str) -> Spread:
        """Return how many calls a second there were."""
        return spread([1 / wall for wall in self.cases[case][contestant].wall])

    def ratio(self, case: str, over: str, under: str, *, cpu: bool = False) -> Spread:
        """Return how many times the cost of one contestant another's is; each round is compared with itself."""
        above, below = self.cases[case][over], self.cases[case][under]
        pairs = zip(above.cpu, below.cpu, strict=True) if cpu else zip(above.wall, below.wall, strict=True)
        return spread([one / other for one, other in pairs])

    def write(self, path: Path) -> None:
        text = json.dumps(asdict(self), indent=1)
        # One line for each series, so that the file can be read and compared
        text = re.sub(r"\[[^][{}]*\]", lambda found: " ".join(found[0].split()), text)
        path.write_text(text + "\n", encoding="utf-8")


@dataclass
class Results(Rounds):
    """One run of single requests.

    :param loaded: what each contestant held
    :param memory: bytes that the engine's large table takes; None where no table was loaded
    """

    loaded: dict[str, Loaded]
    memory: int | None


@dataclass(frozen=True)
class Writers:
    """What writers of one list did to each other.

    :param writers: how many there were at a time
    :param spread: over how many rows the list was spread
    :param written: entities that were inserted
    :param attempts: transactions that were sent for it
    :param given_up: inserts that gave up, and were started again
    :param seconds: how long it took by the simulated clock
    """

    writers: int
    spread: int
    written: int
    attempts: int
    given_up: int
    seconds: float


@dataclass
class RecipeResults(Rounds):
    """One run of recipes.

    :param transactions: how many transactions each kind of bulk load took
    """

    writers: list[Writers]
    transactions: dict[str, int]


@dataclass(frozen=True)
class YearLoad:
    """One load of a whole year of flights, and the SDK's own calls that write the same.

    :param seconds: by the clock on the wall
    :param cpu: seconds of the processor
    """

    name: str
    entities: int
    transactions: int
    seconds: float
    cpu: float
    bare_seconds: float
    bare_cpu: float


@dataclass(frozen=True)
class Year:
    """The loads of a whole year of flights, each done once."""

    environment: dict[str, str]
    loads: list[YearLoad]

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def read_year(path: Path) -> Year:
    found = json.loads(path.read_text(encoding="utf-8"))
    return Year(found["environment"], [YearLoad(**each) for each in found["loads"]])


def read_recipes(path: Path) -> RecipeResults:
    found = json.loads(path.read_text(encoding="utf-8"))
    return RecipeResults(
        environment=found["environment"],
        scale=RecipeScale(**found["scale"]),
        cases=_cases(found),
        writers=[Writers(**each) for each in found["writers"]],
        transactions=found["transactions"],
    )


def read(path: Path) -> Results:
    """Return the results of a run that was written down."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return Results(
        environment=found["environment"],
        scale=_scale(found["scale"]),
        loaded={name: Loaded(**each) for name, each in found["loaded"].items()},
        memory=found["memory"],
        cases=_cases(found),
    )


def _cases(found: dict[str, Any]) -> dict[str, dict[str, Series]]:
    return {case: {name: Series(**each) for name, each in them.items()} for case, them in found["cases"].items()}


def _scale(found: dict[str, Any]) -> Effort:
    kind = ObjectScale if "blobs" in found else Scale
    return kind(**found)
