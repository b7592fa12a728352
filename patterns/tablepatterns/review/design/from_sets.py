"""Declare a set for a review from the recipe that stores it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import mappings_of
from ...entity_set.mapping import Mappings
from ...errors import BadInput
from ...recipe import Account, Pattern
from ...recipes.compound_key import ChildSet
from ...recipes.data_series import DataSeries
from ...recipes.log_tail import LogTail
from ...recipes.partition_spread.partition_spread import PartitionSpread
from ...recipes.period_tables.period_tables import PeriodTables
from ...recipes.wide_entity.wide_entity import WideEntity, has_fixed_parts
from .model import DeclaredSet, Field, Query, Retention, Shape, Write

_PERIOD_DAYS: Final = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.44}


def declare_set(
    entities: Pattern[Any],
    *,
    shape: Shape,
    name: str | None = None,
    queries: Iterable[Query] = (),
    writes: Iterable[Write] = (),
    retention: Retention | None = None,
) -> DeclaredSet:
    """Declare a set as a program has it: table, key, derived data, mappings and settings are read from the object.

    No request is made, and no account is kept.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
    >>> from tablepatterns.review import Field, Shape
    >>> fields = {"Department": Field(distinct=12), "EmployeeId": Field("int32")}
    >>> declare_set(employees, shape=Shape("Employee", 20_000, fields)).key
    Key('{Department}', 'empid_{EmployeeId:06d}')

    :param entities: an `EntitySet`, `LogTail`, `PartitionSpread`, `PeriodTables`, `DataSeries` or `WideEntity`
    :param shape: what its entities look like; the instant and the id of a `LogTail` need not be among the fields
    :param name: what the report calls it; by default the table's name
    :param retention: how long entities are kept; by default what a `PeriodTables` keeps
    :raises BadInput: it is no set of entities
    """
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
            settings = {"fixed": has_fixed_parts(entities)}
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
    elif isinstance(entities, ChildSet):
        pattern = "compound_key"
    return DeclaredSet(
        "",
        entities.table.name,
        entities.key,
        _NO_SHAPE,
        pattern,
        settings,
        entities.derived,
        _mappings(mappings_of(entities)),
    )


def _spread(entities: PartitionSpread[Account]) -> DeclaredSet:
    inner = _entity_set(entities.entity_set)
    buckets = entities.buckets
    settings = {"buckets": buckets.count, "by": buckets.by, "bucket": entities.bucket}
    return replace(inner, key=entities.key, pattern="partition_spread", settings=settings)


def _period_tables(entities: PeriodTables[Account, EntitySet[Account] | DataSeries[Account, Any]]) -> DeclaredSet:
    made = entities.of(entities.account.now())
    if isinstance(made, DataSeries):
        rule = "its tables hold data series, which a design does not describe by period"
        raise BadInput("entities", entities, rule, "declare the DataSeries that of(moment) gives for one period")
    inner = _entity_set(made)
    settings = {"period": entities.period.value, "inner": inner.pattern, **inner.settings, "at": entities.at}
    days: float | None = None
    if isinstance(entities.retention, timedelta):
        days = entities.retention / timedelta(days=1)
    elif entities.retention is not None:
        days = entities.retention * _PERIOD_DAYS[entities.period.value]
    kept = None if days is None else Retention(days, "table")
    return replace(inner, table=entities.table_prefix, pattern="period_tables", settings=settings, retention=kept)


def _series(entities: DataSeries[Account, Any]) -> DeclaredSet:
    settings: Mapping[str, Any] = {
        "points": entities.points,
        "name": entities.prefix,
        "of": entities.value_type.__name__,
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
