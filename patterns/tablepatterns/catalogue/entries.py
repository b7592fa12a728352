"""The entries of the catalogue and the relations between them, read from `catalogue.toml`."""

from __future__ import annotations

import sys
from importlib.resources import files
from typing import Any, Final

from .entry import CatalogueEntry, Relation

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def _read() -> dict[str, list[dict[str, Any]]]:
    text = files("tablepatterns.catalogue").joinpath("catalogue.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _entry(fields: dict[str, Any]) -> CatalogueEntry:
    lists: dict[str, list[str]] = {name: value for name, value in fields.items() if isinstance(value, list)}
    values: dict[str, Any] = {**fields, **{name: tuple(value) for name, value in lists.items()}}
    return CatalogueEntry(**values)


_CATALOGUE: Final = _read()
ENTRIES: Final = tuple(_entry(fields) for fields in _CATALOGUE["entries"])
"""The whole catalogue, related entries together."""
RELATIONS: Final = tuple(Relation(**fields) for fields in _CATALOGUE["relations"])
"""Which entry leads to which other, and why."""
