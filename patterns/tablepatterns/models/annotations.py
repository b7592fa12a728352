"""The fields that a class declares, and how they are stored: `Annotated[str, Stored("Email")]`.

The class is a dataclass, or of pydantic or attrs, neither of which is imported here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from ..errors import BadDesign
from ..limits import SYSTEM_PROPERTIES

T = TypeVar("T")


@dataclass(frozen=True)
class Stored:
    """Store a field of a model under another name.

    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> from tablepatterns import EntitySet, Key, connect
    >>> @dataclass
    ... class Employee:
    ...     department: str
    ...     employee_id: int
    ...     email: Annotated[str, Stored("Email")]
    >>> storage = connect()
    >>> key = Key("{department}", "empid_{employee_id:06d}")
    >>> employees = EntitySet(storage, "Employees", key, model=Employee)
    >>> _ = employees.insert(Employee("Sales", 223, "jonesj@contoso.com"))
    >>> storage.tables.get_table_client("Employees").get_entity("Sales", "empid_000223")["Email"]
    'jonesj@contoso.com'

    Keys, derived data, mappings and filters use the names of the fields.

    :param name: the name of the property
    :raises BadDesign: it cannot be the name of a property

    Guide: tables, entities, properties.
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise BadDesign("name", self.name, "a property name is an identifier", "use letters, digits and _")


class Streamed:
    """The base of values that are sent in chunks, in place of bytes."""


class StoredBy:
    """The base of annotations of fields that a property mapping stores."""

    def mapping(self, table: str, names: Sequence[str]) -> Any:
        """Return the property mapping to use if the set was not given one; BadDesign if it must be."""
        raise NotImplementedError


def check_whole(field: str, annotations: Sequence[object]) -> None:
    """Reject annotations that say how to store a part of a field's type, or a field of a nested class."""
    for annotation in annotations:
        if isinstance(annotation, (Stored, StoredBy)):
            rule = "it annotates a part of what is stored, which would have no effect"
            hint = "annotate the whole field of the model: Annotated[str | None, ...]"
            raise BadDesign(field, annotation, rule, hint)


def field_types(model: type[Any]) -> dict[str, Any]:
    # Before they are resolved: Python 3.10 cannot resolve an InitVar in quotes
    for name, field in getattr(model, "__dataclass_fields__", {}).items():
        if isinstance(field.type, InitVar) or str(field.type).startswith(("InitVar[", "dataclasses.InitVar[")):
            rule = "an InitVar is not stored, so an instance could not be built as it was"
            raise BadDesign("field", f"{model.__name__}.{name}", rule, "make it a field, or leave it out")
    try:
        return get_type_hints(model, include_extras=True)
    except (NameError, TypeError) as error:
        rule = f"the types of its fields cannot be resolved ({error})"
        raise BadDesign("type", model, rule, "define and import them at module level") from error


def field_annotations(model: type[Any], kind: type[T]) -> Iterator[tuple[str, T]]:
    """Yield each annotation of a field that is some kind of object, with the field; it may have several."""
    for name, hint in field_types(model).items():
        for annotation in get_args(hint)[1:] if get_origin(hint) is Annotated else ():
            if isinstance(annotation, kind):
                yield name, annotation


def annotated(model: type[Any], kind: type[T]) -> Mapping[str, T]:
    """Return the fields of a class that are annotated with some kind of object, each with the object."""
    return dict(field_annotations(model, kind))


def stored_names(model: type[Any]) -> Mapping[str, str]:
    """Return the names of the properties of fields that are stored under another name."""
    names = {name: annotation.name for name, annotation in annotated(model, Stored).items() if annotation.name != name}
    for name, stored in names.items():
        if stored in SYSTEM_PROPERTIES:
            rule = f"the service has a property {stored}"
            raise BadDesign("field", f"{model.__name__}.{name}", rule, "store it under another name")
        if list(names.values()).count(stored) > 1 or (stored in get_type_hints(model) and stored not in names):
            rule = f"another field is stored as {stored}"
            raise BadDesign("field", f"{model.__name__}.{name}", rule, "store it under another name")
    return names


class DeclaredField(NamedTuple):
    """A field that `__init__` takes."""

    name: str
    parameter: str
    """The name of its parameter."""
    has_default: bool


def declared_fields(record_class: type[Any]) -> Sequence[DeclaredField] | None:
    """Return the fields of a class; None if it is not a dataclass, nor a class of pydantic or attrs."""
    if not isinstance(record_class, type):
        return None
    if dataclasses.is_dataclass(record_class):
        return [_of_dataclass(field) for field in dataclasses.fields(record_class) if field.init]
    if "__attrs_attrs__" in record_class.__dict__:
        # NOTHING of attrs, which is not imported here, is of the class _Nothing
        return [
            DeclaredField(field.name, field.alias, type(field.default).__name__ != "_Nothing")
            for field in record_class.__attrs_attrs__
            if field.init
        ]
    if hasattr(record_class, "__pydantic_fields__"):
        if record_class.model_config.get("extra") == "allow":
            rule = 'with extra="allow" it takes fields that it does not declare, and that would not be stored'
            raise BadDesign("type", record_class.__name__, rule, 'declare them, or use extra="forbid"')
        return [_of_pydantic(name, field) for name, field in record_class.model_fields.items()]
    return None


def _of_dataclass(field: dataclasses.Field[Any]) -> DeclaredField:
    has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
    return DeclaredField(field.name, field.name, has_default)


def _of_pydantic(name: str, field: Any) -> DeclaredField:
    aliases = [*getattr(field.validation_alias, "choices", [field.validation_alias]), field.alias, name]
    return DeclaredField(name, next(alias for alias in aliases if isinstance(alias, str)), not field.is_required())
