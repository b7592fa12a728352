"""Field types and required fields, enforced by the client: the service has no schema."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date, datetime
from typing import Any

from ..argument_types import checked
from ..edm import Int64, Ticks
from ..errors import MISSING, NOT_SHOWN, BadDesign, BadFilter, BadProperty
from ..filters import Filter, comparisons
from ..limits import SYSTEM_PROPERTIES


class Schema:
    """The types of an entity's fields. An entity that does not fit is rejected before any request.

    It is optional: a set without a schema takes any fields.

    >>> staff = Schema({"Department": str, "EmployeeId": int, "Age": int}, required=["Age"])
    >>> staff.check({"Department": "Sales", "EmployeeId": 223, "Age": "old"})
    Traceback (most recent call last):
        ...
    tablepatterns.errors.BadProperty: Age = 'old': the schema requires int; convert it, or change the schema

    :param fields: the type of each field. Instances of subclasses fit too, but a `bool` is not an `int`
    :param required: the fields that every entity must have
    :param is_open: whether undeclared fields are allowed
    :raises BadDesign: a required field has no type

    Guide: tables, entities, properties (a schema, if wanted, is enforced by the client).
    """

    @checked
    def __init__(self, fields: Mapping[str, type], *, required: Collection[str] = (), is_open: bool = False) -> None:
        self.fields = dict(fields)
        self.required = frozenset(required)
        self.is_open = is_open
        for name in sorted(self.required - self.fields.keys()):
            raise BadDesign("required", name, "the field has no type", "add its type to `fields`")

    @checked
    def check(self, entity: Mapping[str, Any], *, in_part: bool = False, secret: Collection[str] = ()) -> None:
        """Reject an entity that does not fit.

        :param entity: its fields; a field that is None counts as missing
        :param in_part: whether the fields are only those of a merge, which may lack required ones
        :param secret: the fields whose values errors must not show
        :raises BadProperty: a field is missing, undeclared, or of a different type
        """
        values = {name: value for name, value in entity.items() if value is not None}
        for name, value in values.items():
            field_type = self.fields.get(name)
            shown_value = NOT_SHOWN if name in secret else value
            if field_type is None:
                if not self.is_open:
                    rule = f"the schema has only {', '.join(self.fields)}"
                    raise BadProperty(name, shown_value, rule, "leave it out, or add it there")
            elif not isinstance(value, field_type) or (isinstance(value, bool) and field_type is int):
                rule = f"the schema requires {field_type.__name__}"
                raise BadProperty(name, shown_value, rule, "convert it, or change the schema")
        for name in sorted(self.required - values.keys()):
            if not in_part:
                raise BadProperty(name, MISSING, "the schema requires the field", "give it a value")


def check_filter(schema: Schema, where: Filter) -> None:
    """Reject a filter on fields that entities do not have, and with values that their fields never equal."""
    for comparison in comparisons(where):
        field_type = schema.fields.get(comparison.name)
        if field_type is None:
            if not schema.is_open and comparison.name not in SYSTEM_PROPERTIES:
                rule = f"the schema has only {', '.join(schema.fields)}"
                raise BadFilter("where", comparison.name, rule, "use one of them, or add it there")
        elif not _is_comparable(comparison.value, field_type):
            rule = f"the schema requires {field_type.__name__}, which never equals another type"
            hint = f"compare with a value of type {field_type.__name__}"
            raise BadFilter(comparison.name, comparison.value, rule, hint)


def _is_comparable(value: object, field_type: type) -> bool:
    if isinstance(value, field_type):
        return field_type is not int or not isinstance(value, (bool, Ticks))
    if issubclass(field_type, datetime):
        return isinstance(value, Ticks)
    if issubclass(field_type, date):
        return isinstance(value, str)
    is_number = isinstance(value, int) and not isinstance(value, (bool, Ticks))
    return is_number and field_type in (float, int, Int64)
