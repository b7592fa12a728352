"""The fields of a dataclass, or of a class of pydantic or attrs, without importing either."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import BadDesign


class DeclaredField(NamedTuple):
    """A field that `__init__` takes."""

    name: str
    parameter: str
    """The name of its parameter."""
    has_default: bool


def declared_fields(record_class: type[Any]) -> Sequence[DeclaredField] | None:
    """Return the fields of a class; None if it is not one of these.

    >>> @dataclasses.dataclass
    ... class Employee:
    ...     EmployeeId: int
    ...     Name: str = ""
    >>> [(each.name, each.has_default) for each in declared_fields(Employee)]
    [('EmployeeId', False), ('Name', True)]
    """
    if not isinstance(record_class, type):
        return None
    if dataclasses.is_dataclass(record_class):
        return [_of_dataclass(field) for field in dataclasses.fields(record_class) if field.init]
    if "__attrs_attrs__" in record_class.__dict__:
        return [_of_attrs(field) for field in record_class.__attrs_attrs__ if field.init]
    if hasattr(record_class, "__pydantic_fields__"):
        if record_class.model_config.get("extra") == "allow":
            rule = 'with extra="allow" it takes fields that it does not declare, and that would not be stored'
            raise BadDesign("type", record_class.__name__, rule, 'declare them, or use extra="forbid"')
        return [_of_pydantic(name, field) for name, field in record_class.model_fields.items()]
    return None


def _of_dataclass(field: dataclasses.Field[Any]) -> DeclaredField:
    has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
    return DeclaredField(field.name, field.name, has_default)


def _of_attrs(field: Any) -> DeclaredField:
    # Its NOTHING is of this class, and not imported here
    return DeclaredField(field.name, field.alias, type(field.default).__name__ != "_Nothing")


def _of_pydantic(name: str, field: Any) -> DeclaredField:
    aliases = [*getattr(field.validation_alias, "choices", [field.validation_alias]), field.alias, name]
    return DeclaredField(name, next(alias for alias in aliases if isinstance(alias, str)), not field.is_required())
