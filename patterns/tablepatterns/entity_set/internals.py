"""Parts of a set that patterns, reviews and commands need, but users do not."""

# These functions use private members of the set, which keeps them out of its public API
# pyright: reportPrivateUsage=false

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from ..entity import Entity
from ..errors import NOT_SHOWN, BadDesign, BadInput
from ..filters import Filter, QueryClass
from ..recipe import Account, Account_co, is_sync
from ..sdk.table import Table
from ..set_identity import SetIdentity, check_unmoved
from .call_types import Modeled
from .compatibility import tables_of
from .derived import Derived, Keys, RowLayout
from .entity_set import EntitySet
from .hooks import Selection
from .intents import Intents
from .mapping import Mappings
from .model_adapter import ModelAdapter
from .reconcile import DerivedRows


class _AnySet(Protocol):
    _identity: SetIdentity
    _mappings: Mappings


def mappings_of(entity_set: _AnySet) -> Mappings:
    return entity_set._mappings


def set_identity(entity_set: _AnySet) -> SetIdentity:
    return entity_set._identity


def check_not_moved(entity_set: _AnySet, subject: str) -> None:
    """Reject a pattern that would write one table of a move to new keys and not the other one."""
    check_unmoved(entity_set._identity, subject)


def check_read_from(entity_set: _AnySet, entity: Mapping[str, Any]) -> None:
    entity_set._identity.check(entity)


def check_own(entity_set: EntitySet[Any, Any], derived: Derived) -> None:
    entity_set._check_own(derived)


def primary_layout(entity_set: EntitySet[Any, Any]) -> RowLayout:
    return entity_set._primary


def primary_keys(entity_set: EntitySet[Any, Any], fields: Mapping[str, Any]) -> Keys:
    """Return the PartitionKey and RowKey of an entity that was read, or of the entity with these fields."""
    return entity_set.key.format(entity_set._primary.key_fields(fields))


def check_new_row(entity_set: EntitySet[Any, Any], row: Entity) -> None:
    """Reject a row with an entity that the set would not look for under its key."""
    if entity_set._place is not None and entity_set._primary.fits(row):
        entity_set._place(dict(entity_set._primary.entity(row)))


def derived_rows(entity_set: EntitySet[Any, Any]) -> DerivedRows:
    rows = DerivedRows(entity_set.account, entity_set._tables, entity_set.table, entity_set.key, entity_set.derived)
    adapter = adapter_or_none(entity_set)
    rows.report = None if adapter is None else adapter.report
    return rows


def intents_or_none(entity_set: EntitySet[Any, Any]) -> Intents | None:
    return entity_set._intents


def adapter_or_none(entity_set: Modeled[Any, Any]) -> ModelAdapter[Any] | None:
    return None if entity_set._layer is None else entity_set._layer.adapter


def check_both_sync(subject: str, one: Account, other: Account) -> None:
    """Reject a sync account beside an async one."""
    if is_sync(one) != is_sync(other):
        rule = "one of the two accounts is sync, and the other is not"
        raise BadDesign(subject, other, rule, "connect to both in the same way")


def check_same_model(subject: str, models: ModelAdapter[Any] | None, other: Modeled[Any, Any]) -> None:
    """Reject a set that would not read entities of these models, or none, as they were written."""
    own, others = (
        adapter and (set(adapter.types.classes), adapter.types.type_property, adapter.model.version)
        for adapter in (models, adapter_or_none(other))
    )
    if own != others:
        rule = "the sets have different models, or their type property or the version of the model differs"
        raise BadDesign(subject, other, rule, "give both the same model, or none")


def stored_form(adapter: ModelAdapter[Any] | None, entity: object) -> Mapping[str, Any]:
    """Return an entity as it is, and an instance of a set's model as it is stored."""
    if isinstance(entity, Mapping):
        return cast("Mapping[str, Any]", entity)
    if adapter is None:
        rule = f"it must be a mapping, not {type(entity).__name__}"
        raise BadInput("entity", NOT_SHOWN, rule, "pass an entity that was read, or a mapping of its fields")
    return adapter.types.of_instance(entity).encoded(entity)


def stored_fields(adapter: ModelAdapter[Any] | None, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return key fields with stored values, for recipes that work on the set without its model."""
    return fields if adapter is None else adapter.model.key_fields(fields)


def entity_or_instance(adapter: ModelAdapter[Any] | None, entity: Entity) -> Any:
    """Return what a recipe returns for an entity: its instance if the set has a model, None if that skips it."""
    return entity if adapter is None else adapter.recognized_instance(entity)


def as_stored(
    entity_set: EntitySet[Any, Any], where: Filter | None, fields: Mapping[str, Any]
) -> tuple[Filter | None, dict[str, Any]]:
    """Return a filter and key fields of a set's model with stored values, for reads of the set without its model."""
    adapter = adapter_or_none(entity_set)
    if adapter is None:
        return where, dict(fields)
    model = adapter.model
    return None if where is None else model.filter(where), model.key_fields(fields)


def rows_filter(
    entity_set: EntitySet[Any, Any], where: Filter | None, fields: Mapping[str, Any], allow: QueryClass
) -> Filter | None:
    """Return the filter for the primary rows of the entities of a range, or of those that match a filter."""
    if fields:
        return entity_set._question(Selection(fields, None, where, allow)).filter
    return entity_set._rows_filter(where, allow)


def with_table(entity_set: EntitySet[Account_co], table: Table) -> EntitySet[Account_co]:
    """Return a view of a set without a model that reads and writes its primary rows through another `Table`."""
    view = copy.copy(entity_set)
    view._inner, view._plain, view.table = None, {}, table
    view._tables = tables_of(table, view.account, view.derived, view._names)
    return view


def selected_properties(entity_set: EntitySet[Any, Any], names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the properties of primary rows to select for these fields of entities; None for all."""
    return entity_set._primary.selected(None if names is None else entity_set._stored(names))


async def entity_of(entity_set: EntitySet[Account], row: Entity, select: Sequence[str] | None = None) -> Entity | None:
    """Return the entity in a primary row that was read without the set; None for a row of another kind.

    :param select: the fields whose properties were read; None for a complete row
    """
    entity = entity_set._primary.decode_copy(row)
    return None if entity is None else await entity_set._read(entity, entity_set._primary, select)
