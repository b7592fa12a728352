"""Query options: those that an operation cannot do without, and those that are numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Final

from ..parameters import invalid_parameter
from ..refusal import Refusal
from ..texts import MISSING_QUERY_PARAMETER

_NUMBER: Final = re.compile(r"-?\d{1,18}", re.ASCII)


def required(query: Mapping[str, str], name: str) -> str:
    """Return what an option says.

    :raises Refusal: MissingRequiredQueryParameter where it is missing
    """
    text = query.get(name)
    if text is None:
        raise Refusal(MISSING_QUERY_PARAMETER.about(QueryParameterName=name))
    return text


def read_words(query: Mapping[str, str], name: str, known: Set[str]) -> Set[str]:
    """Return the words of a list that an option says.

    :raises Refusal: InvalidQueryParameterValue for one that is not known
    """
    words = frozenset(query.get(name, "").split(",")) - {""}
    if not words <= known:
        raise invalid_parameter(name, query[name])
    return words


def read_number(query: Mapping[str, str], name: str, default: int | None = None) -> int:
    """Return the number that an option says, or the default where the option is missing.

    :raises Refusal: InvalidQueryParameterValue where it says no number; MissingRequiredQueryParameter where it is
        missing without a default
    """
    if default is not None and name not in query:
        return default
    text = required(query, name)
    if not _NUMBER.fullmatch(text):
        raise invalid_parameter(name, text)
    return int(text)
