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


def declared_fields(given: type[Any]) -> Sequence[DeclaredField] | None:
    """Return the fields of a class; None if it is not one of these.

    :raises BadDesign: it is a class of pydantic that takes fields which it does not declare

    >>> @dataclasses.dataclass
    ... class Employee:
    ...     EmployeeId: int
    ...     Name: str = ""
    >>> [(each.name, each.has_default) for each in declared_fields(Employee)]
    [('EmployeeId', False), ('Name', True)]
    """
    if not isinstance(given, type):
        return None
    if dataclasses.is_dataclass(given):
        return [_of_dataclass(each) for each in dataclasses.fields(given) if each.init]
    if "__attrs_attrs__" in given.__dict__:
        return [_of_attrs(each) for each in given.__attrs_attrs__ if each.init]
    if hasattr(given, "__pydantic_fields__"):
        if given.model_config.get("extra") == "allow":
            rule = 'with extra="allow" it takes fields that it does not declare, and that would not be stored'
            raise BadDesign("type", given.__name__, rule, 'declare them, or use extra="forbid"')
        return [_of_pydantic(name, each) for name, each in given.model_fields.items()]
    return None


def _of_dataclass(each: dataclasses.Field[Any]) -> DeclaredField:
    has_default = each.default is not dataclasses.MISSING or each.default_factory is not dataclasses.MISSING
    return DeclaredField(each.name, each.name, has_default)


def _of_attrs(each: Any) -> DeclaredField:
    # Its NOTHING is of this class, and not imported here
    return DeclaredField(each.name, each.alias, type(each.default).__name__ != "_Nothing")


def _of_pydantic(name: str, each: Any) -> DeclaredField:
    aliases = [*getattr(each.validation_alias, "choices", [each.validation_alias]), each.alias, name]
    return DeclaredField(name, next(each for each in aliases if isinstance(each, str)), not each.is_required())
