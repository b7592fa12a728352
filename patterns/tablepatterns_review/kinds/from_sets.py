"""Declare a set for a review from the recipe that stores it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tablepatterns.errors import BadInput
from tablepatterns.recipe import Pattern, set_profile_of

from ..design.model import Access, ArchivePolicy, DeclaredSet, Field, Query, Retention, Shape, Write
from . import KINDS


def declare_set(
    entities: Pattern[Any],
    *,
    shape: Shape,
    name: str | None = None,
    queries: Iterable[Query] = (),
    writes: Iterable[Write] = (),
    retention: Retention | None = None,
    access: Iterable[Access] = (),
    archive: ArchivePolicy | None = None,
) -> DeclaredSet:
    """Declare a set from the object that a program uses: its table, key, derived data, mappings and settings.

    No request is sent, and the account is not kept.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
    >>> from tablepatterns_review import Field, Shape
    >>> fields = {"Department": Field(distinct=12), "EmployeeId": Field("int32")}
    >>> declare_set(employees, shape=Shape("Employee", 20_000, fields)).key
    Key('{Department}', 'empid_{EmployeeId:06d}')

    :param entities: an `EntitySet`, `LogTail`, `PartitionSpread`, `PeriodTables`, `DataSeries` or `WideEntity`
    :param shape: the shape of its entities; the timestamp and the id of a `LogTail` may be left out
    :param name: the name in reports; by default the table's name
    :param access: who may read which entities
    :param archive: which entities are archived, and where; None if none are
    :param retention: how long entities are kept; by default as declared by a `PeriodTables`
    :raises BadInput: the argument is not a set of entities
    """
    set_profile = set_profile_of(entities)
    if set_profile is None:
        rule = f"a {type(entities).__name__} holds no set of entities"
        kinds = "an EntitySet, LogTail, PartitionSpread, PeriodTables, DataSeries or WideEntity"
        raise BadInput("entities", entities, rule, f"give {kinds}")
    settings, kept = set_profile.settings, KINDS[set_profile.pattern].retention(set_profile)
    if "entry" in settings:
        # The fields that a log tail adds to each entry, unless declared
        own = {str(settings["at"]): Field("datetime", order="rising"), str(settings["entry"]): Field("guid")}
        shape = replace(shape, fields={**own, **shape.fields})
    return DeclaredSet(
        name or set_profile.table,
        set_profile.table,
        set_profile.key,
        shape,
        set_profile.pattern,
        settings,
        set_profile.derived,
        set_profile.mappings,
        tuple(queries),
        tuple(writes),
        retention or kept,
        tuple(access),
        archive,
    )
