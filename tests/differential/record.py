"""The record of long runs, stored in record.json and reported in record.md."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tablepatterns
from differential.service import Service
from differential.tally import Tally
from support.azurite_server import PROGRAM

DATA = Path(__file__).with_name("record.json")
PAGE = Path(__file__).with_name("record.md")


@dataclass(frozen=True)
class Run:
    """One run; its pieces were drawn from the seeds from `start` to before `stop`.

    :param seconds: how long it took
    :param versions: of all that took part
    """

    day: str
    start: int
    stop: int
    seconds: int
    versions: tuple[str, ...]
    operations: Mapping[str, int]
    exclusions: Mapping[str, int]

    @classmethod
    def of(cls, service: Service, seeds: range, seconds: float, tally: Tally) -> Run:
        """Return what a run has compared so far."""
        day = f"{datetime.now(timezone.utc):%Y-%m-%d}"
        versions = tuple(_versions(service.packages))
        return cls(
            day, seeds.start, seeds.stop, round(seconds), versions, dict(tally.operations), dict(tally.exclusions)
        )

    @property
    def row(self) -> str:
        """The run as a row of its table."""
        minutes, seconds = divmod(self.seconds, 60)
        total = sum(self.operations.values())
        time = f"{minutes} min {seconds} s"
        return f"| {self.day} | {self.start} to {self.stop - 1} | {total:,} | {time} | {', '.join(self.versions)} |"


class Record:
    """All runs, by the name of their service.

    :param data: the file that keeps them
    """

    def __init__(self, data: Path = DATA) -> None:
        self._data = data
        found: dict[str, list[dict[str, Any]]] = json.loads(data.read_text("utf-8")) if data.exists() else {}
        self._runs = {name: [_run(each) for each in runs] for name, runs in found.items()}

    def next_seed(self, service: str) -> int:
        """Return the first seed after all from which a service's runs were drawn."""
        return max((run.stop for run in self._runs.get(service, [])), default=1)

    def put(self, service: str, run: Run) -> None:
        """Add a run, or what became of it since it was last put; it is kept at once."""
        runs = self._runs.setdefault(service, [])
        runs[:] = [*(each for each in runs if each.start != run.start), run]
        kept = {name: [asdict(each) for each in runs] for name, runs in self._runs.items()}
        self._data.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", "utf-8")

    def page(self, services: Mapping[str, Service]) -> str:
        """Return the record for its readers, a section for each service."""
        head = (
            "# Long comparisons of the engine with Azurite",
            "",
            "Made by `make fuzz`, which keeps this page. No run has an open disagreement: whatever the two answer",
            "differently is named below, with what Azurite does, and how often the comparison met it.",
        )
        sections = (self._section(each) for name, each in services.items() if name in self._runs)
        return "\n".join([*head, *(line for section in sections for line in section)]) + "\n"

    def _section(self, service: Service) -> Iterator[str]:
        runs = self._runs[service.name]
        operations, exclusions = Counter[str](), Counter[str]()
        for run in runs:
            operations.update(run.operations)
            exclusions.update(run.exclusions)
        total = Tally(service.exclusions, operations, exclusions)
        yield from ("", f"## {service.name.capitalize()}: {operations.total():,} operations", "")
        yield f"{total.kinds()}."
        yield from ("", "| Day | Seeds | Operations | Time | Versions |", "|---|---|---:|---|---|")
        yield from (run.row for run in runs)
        yield from ("", "| Applied | Exclusion | Azurite |", "|---:|---|---|")
        yield from (f"| {count:,} | {name} | {reason} |" for count, name, reason in total.applied())


def _run(kept: dict[str, Any]) -> Run:
    return Run(**{**kept, "versions": tuple(kept["versions"])})


def _versions(packages: tuple[str, ...]) -> Iterator[str]:
    azurite = json.loads((PROGRAM.parents[2] / "package.json").read_text("utf-8"))["version"]
    yield f"tablepatterns {tablepatterns.__version__}"
    yield f"Azurite {azurite}"
    yield from (f"{name} {version(name)}" for name in packages)
    yield f"Python {platform.python_version()}"
