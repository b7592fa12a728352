"""Compare stored values with those that were sent: the service returns some of them in another form."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from math import isnan
from typing import Any

from .edm import Ticks, type_of
from .entity import typed


def same_value(some: Mapping[str, Any], more: Mapping[str, Any], *, apart_from: Collection[str] = ()) -> bool:
    """Whether the service would store the same for both: the same names, types and values.

    Types count: 1, 1.0, True and `Int64(1)` are four values. An instant is the same in every time zone. A property that
    is None is ignored.

    :param apart_from: the names of properties to ignore
    """
    return _stored(some, apart_from) == _stored(more, apart_from)


def _stored(properties: Mapping[str, Any], apart_from: Collection[str]) -> dict[str, tuple[type, Any]]:
    return {
        name: _typed(typed(name, value))
        for name, value in properties.items()
        if value is not None and name not in apart_from
    }


def _typed(value: Any) -> tuple[type, Any]:
    if isinstance(value, datetime):
        # The SDK's datetimes keep the service's own text beside a value that lacks its seventh digit
        text = getattr(value, "tables_service_value", "")
        value = Ticks.parse(text) if text else Ticks.of(value)
    kind = type_of(value)
    # NaN is not equal to itself, but is stored the same
    return kind, "NaN" if isinstance(value, float) and isnan(value) else value
