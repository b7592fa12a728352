"""What the long runs compared, kept in record.md."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

import tablepatterns
from azurite_server import PROGRAM
from differential.tally import Tally

FILE = Path(__file__).with_name("record.md")
PACKAGES = ("azure-data-tables", "hypothesis")


@dataclass(frozen=True)
class Record:
    """One run.

    :param seeds: those of its pieces
    :param seconds: how long it took
    """

    tally: Tally
    seeds: range
    seconds: float

    def text(self) -> str:
        """Return the record as a section of the page."""
        minutes, seconds = divmod(round(self.seconds), 60)
        lines = (
            f"## {datetime.now(timezone.utc):%Y-%m-%d}, seeds {self.seeds.start} to {self.seeds.stop - 1}",
            "",
            f"{self.tally.operations.total():,} operations in {minutes} min {seconds} s, and no disagreement.",
            f"With {', '.join(_versions())}.",
            "",
            f"Operations: {self.tally.kinds()}.",
            "",
            "| Applied | Exclusion | Azurite |",
            "|---:|---|---|",
            *(f"| {count:,} | {name} | {reason} |" for count, name, reason in self.tally.applied()),
        )
        return "\n".join(lines) + "\n"


def write(record: Record) -> None:
    """Add a run to the page."""
    with FILE.open("a", encoding="utf-8") as page:
        page.write("\n" + record.text())


def _versions() -> list[str]:
    azurite = json.loads((PROGRAM.parents[2] / "package.json").read_text(encoding="utf-8"))["version"]
    packages = [f"{name} {version(name)}" for name in PACKAGES]
    ours = f"tablepatterns {tablepatterns.__version__}"
    return [ours, f"Azurite {azurite}", *packages, f"Python {platform.python_version()}"]
