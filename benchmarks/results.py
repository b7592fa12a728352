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
    """The seconds per call of one contestant in one case, for each round.

    :param calls: the number of calls in each round; a figure is their mean
    :param wall: the wall time
    :param cpu: the CPU time of this process; Azurite runs in its own process
    """

    calls: int
    wall: list[float] = field(default_factory=list[float])
    cpu: list[float] = field(default_factory=list[float])


class Spread(NamedTuple):
    """The median, minimum and maximum of a figure over the rounds."""

    median: float
    least: float
    most: float


def spread(values: list[float]) -> Spread:
    return Spread(median(values), min(values), max(values))


@dataclass
class Rounds:
    """The figures of one run.

    :param cases: the figures by case and contestant
    """

    environment: dict[str, str]
    scale: Effort
    cases: dict[str, dict[str, Series]]

    def has(self, contestant: str) -> bool:
        return any(contestant in contestants for contestants in self.cases.values())

    def time(self, case: str, contestant: str) -> Spread:
        """Return the seconds per call."""
        return spread(self.cases[case][contestant].wall)

    def rate(self, case: str, contestant: str) -> Spread:
        """Return the calls per second."""
        return spread([1 / wall for wall in self.cases[case][contestant].wall])

    def ratio(self, case: str, over: str, under: str, *, cpu: bool = False) -> Spread:
        """Return the cost of one contestant as a multiple of another's, compared within each round."""
        above, below = self.cases[case][over], self.cases[case][under]
        pairs = zip(above.cpu, below.cpu, strict=True) if cpu else zip(above.wall, below.wall, strict=True)
        return spread([one / other for one, other in pairs])

    def write(self, path: Path) -> None:
        text = json.dumps(asdict(self), indent=1)
        # One line for each series, so that the file is readable and can be compared
        text = re.sub(r"\[[^][{}]*\]", lambda found: " ".join(found[0].split()), text)
        path.write_text(text + "\n", encoding="utf-8")


@dataclass
class Results(Rounds):
    """The results of single requests.

    :param loaded: the data of each contestant
    :param memory: the bytes of the engine's large table; None if no table was loaded
    """

    loaded: dict[str, Loaded]
    memory: int | None


@dataclass(frozen=True)
class Writers:
    """The conflicts of writers of one list.

    :param writers: the number of concurrent writers
    :param spread: the number of rows that the list was spread over
    :param written: the number of inserted entities
    :param attempts: the number of transactions that were sent
    :param given_up: the number of inserts that gave up, and were started again
    :param seconds: the duration in simulated seconds
    """

    writers: int
    spread: int
    written: int
    attempts: int
    given_up: int
    seconds: float


@dataclass
class RecipeResults(Rounds):
    """The results of recipes.

    :param transactions: the number of transactions of each kind of bulk load
    """

    writers: list[Writers]
    transactions: dict[str, int]


@dataclass(frozen=True)
class YearLoad:
    """One load of a whole year of flights, and the SDK calls that write the same (`bare_`).

    :param seconds: the wall time
    :param cpu: the CPU time in seconds
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
    """The loads of a whole year of flights, each carried out once."""

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
    """Read the stored results of a run."""
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
