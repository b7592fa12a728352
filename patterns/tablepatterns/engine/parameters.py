"""Numbers that come as query parameters, and the ranges they must be in."""

from __future__ import annotations

from . import texts
from .refusal import Refusal


def check_range(name: str, value: int, lowest: int, highest: int) -> None:
    """Refuse a number outside its range.

    :param name: the query parameter, as the service calls it
    :raises Refusal: OutOfRangeQueryParameterValue, with the range in its details
    """
    if not lowest <= value <= highest:
        raise Refusal(
            texts.OUT_OF_RANGE_QUERY_PARAMETER_VALUE.about(
                QueryParameterName=name, QueryParameterValue=value, MinimumAllowed=lowest, MaximumAllowed=highest
            )
        )


def invalid_parameter(name: str, value: object, reason: str = "") -> Refusal:
    """Return the refusal of a query parameter that is wrong in another way than by its range."""
    why = {"Reason": reason} if reason else {}
    return Refusal(texts.INVALID_QUERY_PARAMETER_VALUE.about(QueryParameterName=name, QueryParameterValue=value, **why))
