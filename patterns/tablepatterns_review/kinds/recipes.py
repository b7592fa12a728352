"""Create the recipes that store the sets of a design, on an account."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeAlias, cast

from azure.core.exceptions import HttpResponseError

from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.entity_set import EntitySet
from tablepatterns.errors import (
    BadDesign,
    BadInput,
    EntityAlreadyExists,
    EntityNotFound,
    TablePatternsError,
    message_of,
    one_line,
)
from tablepatterns.recipe import Pattern, set_profile_of
from tablepatterns.recipes.archive.archive import Archive
from tablepatterns.recipes.archive.stores import BlobArchive
from tablepatterns.recipes.data_series import DataSeries
from tablepatterns.recipes.denormalize import CopiedFields
from tablepatterns.recipes.encrypted_properties.keys import LocalKey
from tablepatterns.recipes.partition_spread.partition_spread import PartitionSpread
from tablepatterns.recipes.period_tables.period_tables import PeriodTables
from tablepatterns.recipes.wide_entity.wide_entity import WideEntity
from tablepatterns.storage import Storage

from ..design.model import YEAR_DAYS, Access, ArchivePolicy, DeclaredSet, Design, Field, Query, Retention, Shape, Write
from . import KINDS, kind_of

SetRecipe: TypeAlias = (
    EntitySet[Storage]
    | PartitionSpread[Storage]
    | PeriodTables[Storage, EntitySet[Storage]]
    | DataSeries[Storage, Any]
    | WideEntity[Storage]
)
"""A recipe that stores the entities of a set."""


@cache
def sample_key() -> LocalKey:
    """Return the key of encrypted entities, created on first use: a browser may lack the package cryptography."""
    return LocalKey("review", bytes(range(32)))


def holds_copies(declared_set: DeclaredSet) -> bool:
    return any(profile.filled_from for _, profile in declared_set.profiles())


def create_sets(design: Design, storage: Storage) -> dict[str, SetRecipe]:
    recipes: dict[str, SetRecipe] = {}
    for declared_set in sorted(design.sets, key=holds_copies):
        derived = [_bound(declared_set, via, recipes) for via in declared_set.derived]
        recipes[declared_set.name] = recipe_of_set(storage, declared_set, derived)
    return {declared_set.name: recipes[declared_set.name] for declared_set in design.sets}


def archive_of(
    account: Storage, declared_set: DeclaredSet, recipes: Mapping[str, SetRecipe]
) -> Archive[Storage] | None:
    """Return what archives the entities of a set, else None; `recipes` are those of all sets by name."""
    policy, source = declared_set.archive, recipes[declared_set.name]
    if policy is None:
        return None
    target = recipes.get(policy.to) if policy.to is not None else BlobArchive(account, policy.container or "")
    if target is None:
        raise BadDesign("to", policy.to, "the design has no such set", "name the set that holds archived entities")
    for entity_set in (source, target):
        if not isinstance(entity_set, (EntitySet, BlobArchive)):
            rule = f"entities are moved between sets of the EntitySet, and this is a {type(entity_set).__name__}"
            raise BadDesign("archive", policy.place, rule, "use the pattern entity_set or log_tail for both sets")
    return Archive(cast("EntitySet[Storage]", source), cast("EntitySet[Storage]", target))


def recipe_of_set(account: Storage, declared_set: DeclaredSet, derived: Sequence[Derived]) -> SetRecipe:
    """Return the recipe of a set; the sources of the derived data are on the same account."""
    kind = KINDS.get(declared_set.pattern)
    if kind is None:
        raise BadDesign("pattern", declared_set.pattern, "no set uses it", f"use one of {', '.join(KINDS)}")
    recipe: SetRecipe = kind.make(account, declared_set, derived)
    return recipe


def _bound(declared_set: DeclaredSet, derived: Derived, recipes: Mapping[str, SetRecipe]) -> Derived:
    """Return derived data whose source is on this account: copies refer to the set that they are filled from."""
    copies = declared_set.profile(derived).filled_from
    if copies is None:
        return derived
    for source in recipes.values():
        if isinstance(copies, CopiedFields) and isinstance(source, EntitySet) and copies in source.derived:
            return copies.filled_from(source)
    rule = "the design has no set to copy from"
    raise BadDesign("derived", derived.name, rule, "declare CopiedFields for that set too")


def rejection(call: Callable[[], object]) -> str | None:
    """Make a call, and return why it is rejected, else None; keys that exist, or do not, raise."""
    try:
        call()
    except (EntityAlreadyExists, EntityNotFound):
        raise
    except (TablePatternsError, HttpResponseError) as error:
        return one_line(message_of(error))
    return None


def oldest_days(declared_set: DeclaredSet) -> float:
    if declared_set.retention is not None:
        return declared_set.retention.days
    if declared_set.archive is not None and declared_set.archive.after_days is not None:
        return declared_set.archive.after_days
    growth = declared_set.shape.growth
    return YEAR_DAYS if growth <= 0 else max(1.0, min(10 * YEAR_DAYS, declared_set.shape.count / growth * YEAR_DAYS))


def number_of_tables(declared_set: DeclaredSet) -> int:
    return kind_of(declared_set).tables(declared_set, oldest_days(declared_set))


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
    permanent: bool = False,
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
    :param permanent: whether the entities must never be deleted, as those of a ledger
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
        permanent,
    )
