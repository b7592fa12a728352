"""Conditions on the tags of a blob, as `x-ms-if-tags` writes them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

TagCondition: TypeAlias = Callable[[Mapping[str, str]], bool]
"""Whether the tags of a blob meet a condition."""

_COMPARISON: Final = re.compile(r"""\s*(?:"([^"]*)"|([A-Za-z_]\w*))\s*(<>|<=|>=|=|<|>)\s*'([^']*)'\s*""", re.ASCII)
_JOINED: Final = re.compile(r"(AND|OR)\b", re.IGNORECASE)
_OPERATORS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def parse_tag_condition(text: str) -> TagCondition:
    """Parse a condition: comparisons of tags with strings, joined by AND (which binds tighter) and OR.

    >>> condition = parse_tag_condition("team = 'Sales' AND year >= '2014' OR team = 'IT'")
    >>> condition({"team": "Sales", "year": "2015"}), condition({"team": "Sales"}), condition({"team": "IT"})
    (True, False, True)

    A blob without the tag meets `<>` and no other comparison.

    :raises NotImplementedError: parentheses, which the service's documentation does not describe
    :raises ValueError: it is not a condition
    """
    choices: list[list[TagCondition]] = [[]]
    place = 0
    while True:
        found = _COMPARISON.match(text, place)
        if not found:
            if "(" in text[place : place + 2]:
                raise NotImplementedError("parentheses")
            raise ValueError(f"no comparison of a tag at position {place}")
        quoted, word, sign, value = found.groups()
        choices[-1].append(_comparison(word if quoted is None else quoted, sign, value))
        place = found.end()
        if place == len(text):
            return lambda tags: any(all(each(tags) for each in choice) for choice in choices)
        joined = _JOINED.match(text, place)
        if not joined:
            raise ValueError(f"neither AND nor OR at position {place}")
        if joined[1].upper() == "OR":
            choices.append([])
        place = joined.end()


def _comparison(name: str, sign: str, value: str) -> TagCondition:
    compare = _OPERATORS[sign]

    def meets(tags: Mapping[str, str]) -> bool:
        found = tags.get(name)
        return sign == "<>" if found is None else compare(found, value)

    return meets
