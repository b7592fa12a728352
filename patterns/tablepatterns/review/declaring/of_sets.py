"""Of sets: what a set is, read from the recipe that keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from ...entity_set import EntitySet
from ...errors import BadInput
from ...mapping import Mappings
from ...recipe import Account, Pattern
from ...recipes.compound_key import CompoundKey
from ...recipes.data_series import DataSeries
from ...recipes.log_tail import LogTail
from ...recipes.partition_spread import PartitionSpread
from ...recipes.period_tables import PeriodTables
from ...recipes.wide_entity import WideEntity
from .declared import DeclaredSet, Field, Query, Retention, Shape, Write

_PERIOD_DAYS: Final = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.44}


def declared(
    entities: Pattern[Any],
    shape: Shape,
    name: str | None,
    queries: Sequence[Query],
    writes: Sequence[Write],
    retention: Retention | None,
) -> DeclaredSet:
    """Return the declaration of a set that a recipe keeps; see `DeclaredSet.of`."""
    found = _read(entities)
    return replace(
        found,
        name=name or found.table,
        shape=_with_log_fields(shape, found),
        queries=tuple(queries),
        writes=tuple(writes),
        retention=retention or found.retention,
    )


def _read(entities: Pattern[Any]) -> DeclaredSet:
    match entities:
        case PartitionSpread():
            return _spread(entities)
        case PeriodTables():
            return _period_tables(entities)
        case DataSeries():
            return _series(entities)
        case WideEntity():
            settings = {"fixed": bool(entities.layout.names)}
            return DeclaredSet("", entities.table.name, entities.key, _NO_SHAPE, "wide_entity", settings)
        case EntitySet():
            return _entity_set(entities)
        case _:
            rule = f"a {type(entities).__name__} keeps no set of entities"
            kinds = "an EntitySet, LogTail, PartitionSpread, PeriodTables, DataSeries or WideEntity"
            raise BadInput("entities", entities, rule, f"give {kinds}")


def _entity_set(entities: EntitySet[Account]) -> DeclaredSet:
    pattern, settings = "entity_set", dict[str, Any]()
    if isinstance(entities, LogTail):
        pattern, settings = "log_tail", {"at": entities.at, "entry": entities.entry}
    elif isinstance(entities, CompoundKey):
        pattern = "compound_key"
    return DeclaredSet(
        "",
        entities.table.name,
        entities.key,
        _NO_SHAPE,
        pattern,
        settings,
        entities.derived,
        _mappings(entities.mappings),
    )


def _spread(entities: PartitionSpread[Account]) -> DeclaredSet:
    inner = _entity_set(entities.entities)
    buckets = entities.buckets
    settings = {"buckets": buckets.count, "by": buckets.by, "bucket": entities.bucket}
    return replace(inner, key=entities.key, pattern="partition_spread", settings=settings)


def _period_tables(entities: PeriodTables[Account, EntitySet[Account]]) -> DeclaredSet:
    inner = _entity_set(entities.of(entities.account.now()))
    settings = {"period": entities.period.value, "inner": inner.pattern, **inner.settings, "at": entities.at}
    days: float | None = None
    if isinstance(entities.keep, timedelta):
        days = entities.keep / timedelta(days=1)
    elif entities.keep is not None:
        days = entities.keep * _PERIOD_DAYS[entities.period.value]
    kept = None if days is None else Retention(days, "table")
    return replace(inner, table=entities.name, pattern="period_tables", settings=settings, retention=kept)


def _series(entities: DataSeries[Account, Any]) -> DeclaredSet:
    settings: Mapping[str, Any] = {
        "points": entities.points,
        "name": entities.name,
        "of": entities.of.__name__,
        "split": entities.split,
    }
    return DeclaredSet("", entities.table.name, entities.key, _NO_SHAPE, "data_series", settings)


def _mappings(mappings: Mappings) -> tuple[Any, ...]:
    return mappings.each


def _with_log_fields(shape: Shape, found: DeclaredSet) -> Shape:
    """Return the shape with what a log tail adds to each entry, where that is not declared."""
    if "entry" not in found.settings:
        return shape
    own = {
        str(found.settings["at"]): Field("datetime", order="rising"),
        str(found.settings["entry"]): Field("guid"),
    }
    return replace(shape, fields={**own, **shape.fields})


_NO_SHAPE: Final = Shape("", 0, {})
