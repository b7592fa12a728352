"""How many recorded answers of the service the engine and Azurite give, from what `make recordings` wrote."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tools import DATA
from tools.pages.data_file import DataFile
from tools.pages.markdown import rows_of_table

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it to Python 3.10

FIGURES: Final[Mapping[str, Any]] = tomllib.loads((DATA / "recordings.toml").read_text(encoding="utf-8"))
_LEVELS: Final = ("status", "body", "headers")
_SERVICES: Final = {"Tables": "table", "Queues": "queue", "Blobs": "blob"}


def shares() -> str:
    """Return the rows of the table of shares: for each service, those of the engine and those of Azurite."""
    return rows_of_table(
        (
            name,
            f"{FIGURES['common']['engine'][service]['exchanges']:,}",
            *_shares("engine", service),
            *_shares("azurite", service),
        )
        for name, service in _SERVICES.items()
    )


def _shares(backend: str, service: str) -> Iterable[str]:
    counts = FIGURES["common"][backend][service]
    return [f"{counts[level] / counts['exchanges']:.1%}" for level in _LEVELS]


def share_of_engine(level: str) -> str:
    """Return the share of all compared answers of the service that the engine gives."""
    return f"{sum(count[level] for count in FIGURES['engine'].values()) / compared():.1%}"


def compared() -> int:
    return sum(count["exchanges"] for count in FIGURES["engine"].values())


def _differences() -> Iterator[tuple[str, ...]]:
    """Yield why exchanges cannot be compared, and why the engine's answers to others differ."""
    for part, result in (("set_aside", "not compared"), ("differences", "different")):
        for entry in sorted(FIGURES[part], key=lambda entry: -entry["exchanges"]):
            yield result, str(entry["exchanges"]), entry["reason"]


DIFFERENCES: Final = DataFile("docs/data/recorded-differences.tsv", ("Result", "Exchanges", "Why"), _differences)
