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
_WITHOUT_VERSIONS: Final = "_without_versions"
_PARTS: Final = {
    "Tables": ("table", ""),
    "Queues": ("queue", ""),
    "Blobs": ("blob", ""),
    "Blobs, without answers that name a version": ("blob", _WITHOUT_VERSIONS),
}


def shares() -> str:
    """Return the rows of the table of shares: for each service, those of the engine and those of Azurite."""
    return rows_of_table(
        (
            part,
            f"{FIGURES['common'][f'engine{scope}'][service]['exchanges']:,}",
            *_shares(f"engine{scope}", service),
            *_shares(f"azurite{scope}", service),
        )
        for part, (service, scope) in _PARTS.items()
    )


def _shares(backend: str, service: str) -> Iterable[str]:
    counts = FIGURES["common"][backend][service]
    return [f"{counts[level] / counts['exchanges']:.1%}" for level in _LEVELS]


def share_of_engine(level: str, *, with_versions: bool = True) -> str:
    """Return the share of all compared answers of the service that the engine gives.

    :param with_versions: whether answers count that name a version of a blob
    """
    counts = FIGURES["engine" if with_versions else f"engine{_WITHOUT_VERSIONS}"].values()
    return f"{sum(count[level] for count in counts) / sum(count['exchanges'] for count in counts):.1%}"


def compared(*, with_versions: bool = True) -> int:
    counts = FIGURES["engine" if with_versions else f"engine{_WITHOUT_VERSIONS}"].values()
    return sum(count["exchanges"] for count in counts)


def _differences() -> Iterator[tuple[str, ...]]:
    """Yield why exchanges cannot be compared, and why the engine's answers to others differ."""
    for part, result in (("set_aside", "not compared"), ("differences", "different")):
        for entry in sorted(FIGURES[part], key=lambda entry: -entry["exchanges"]):
            yield result, str(entry["exchanges"]), entry["reason"]


DIFFERENCES: Final = DataFile("docs/data/recorded-differences.tsv", ("Result", "Exchanges", "Why"), _differences)
