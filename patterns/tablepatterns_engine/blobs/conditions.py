"""The conditions of a request on a blob or a container, and of its tags as `x-ms-if-tags` writes them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Final, TypeAlias
from uuid import UUID

from tablepatterns.edm import Ticks

from .. import errors
from ..clock import SECOND
from ..errors import ErrorMessage, ServiceError
from .blob import Blob, is_tag
from .state import ContainerProperties

ANY: Final = "*"
"""In place of an ETag: any version."""


TagCondition: TypeAlias = Callable[[Mapping[str, str]], bool]
"""Whether the tags of a blob meet a condition."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Conditions and a lease; None means no condition. Times are compared in whole seconds, as in headers.

    :param match: the version must be one of these, or `ANY`
    :param none_match: the version must not be one of these; with `ANY`, none may exist
    :param tier_modified_since: the tier must have been changed later
    :param lease: the id of the lease that the request uses
    :param create_only: whether the sender may create a blob, but not replace one
    """

    match: Set[str] | None = None
    none_match: Set[str] | None = None
    modified_since: Ticks | None = None
    unmodified_since: Ticks | None = None
    tags: TagCondition | None = None
    tier_modified_since: Ticks | None = None
    tier_unmodified_since: Ticks | None = None
    lease: UUID | None = None
    create_only: bool = False

    def check_single(self) -> None:
        """Reject what only reads may combine: several ETags, or conditions other than an ETag and a time."""
        if any(etags is not None and len(etags) > 1 for etags in (self.match, self.none_match)):
            raise ServiceError(errors.INVALID_HEADER)
        asks_for_this = self.match is not None or self.unmodified_since is not None
        asks_for_other = self.none_match is not None or self.modified_since is not None
        if asks_for_this and asks_for_other:
            raise ServiceError(errors.MULTIPLE_CONDITIONS)


NO_TERMS: Final = Terms()


Versioned: TypeAlias = Blob | ContainerProperties


def check_read(terms: Terms, version: Versioned) -> None:
    if terms.none_match is not None and ANY in terms.none_match:
        raise ServiceError(errors.UNSATISFIABLE_CONDITION)
    if terms.tags is not None and not terms.tags(version.tags):
        raise ServiceError(errors.CONDITION_NOT_MET)
    if not _is(terms.match, version) or _later(version.modified, terms.unmodified_since):
        raise ServiceError(errors.CONDITION_NOT_MET)
    if terms.none_match is None and terms.modified_since is None:
        return
    other = terms.none_match is not None and not _is(terms.none_match, version)
    if not other and not _later(version.modified, terms.modified_since):
        raise ServiceError(errors.NOT_MODIFIED)


def check_write(terms: Terms, version: Versioned | None, unmet: ErrorMessage = errors.CONDITION_NOT_MET) -> None:
    """Reject a write whose conditions are not met with the error `unmet`; an ETag takes precedence over a time."""
    terms.check_single()
    if version is not None and terms.tags is not None and not terms.tags(version.tags):
        raise ServiceError(errors.CONDITION_NOT_MET)
    if version is None:
        met = terms.match is None and terms.tags is None and terms.modified_since is None
    elif terms.match is not None:
        met = _is(terms.match, version)
    elif terms.none_match is not None:
        met = not _is(terms.none_match, version)
    elif terms.modified_since is not None:
        met = _later(version.modified, terms.modified_since)
    else:
        met = not _later(version.modified, terms.unmodified_since)
    if not met:
        raise ServiceError(unmet)


def check_create(terms: Terms, version: Versioned | None, unmet: ErrorMessage = errors.CONDITION_NOT_MET) -> None:
    if version is not None and terms.none_match is not None and ANY in terms.none_match:
        terms.check_single()
        raise ServiceError(errors.BLOB_ALREADY_EXISTS)
    if version is not None and terms.create_only:
        raise ServiceError(errors.UNAUTHORIZED_OVERWRITE)
    check_write(terms, version, unmet)


def check_tier(terms: Terms, changed: Ticks) -> None:
    """Reject a deletion whose conditions on the tier's change, or else the blob's creation, are not met."""
    since, until = terms.tier_modified_since, terms.tier_unmodified_since
    if since is not None and until is not None:
        raise ServiceError(errors.MULTIPLE_CONDITIONS)
    if (since is not None and changed // SECOND <= since // SECOND) or _later(changed, until):
        raise ServiceError(errors.CONDITION_NOT_MET)


def _is(etags: Set[str] | None, version: Versioned) -> bool:
    return etags is None or ANY in etags or version.etag in etags


def _later(modified: Ticks, moment: Ticks | None) -> bool:
    return moment is not None and modified // SECOND > moment // SECOND


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
    """Parse comparisons of tags with strings, joined by AND (which binds tighter) and OR.

    A blob without the tag meets `<>` and no other comparison. Parentheses are a `NotImplementedError`: the service's
    documentation does not describe them.
    """
    choices: list[list[TagCondition]] = [[]]
    place = 0
    while True:
        comparison = _COMPARISON.match(text, place)
        if not comparison:
            if "(" in text[place : place + 2]:
                raise NotImplementedError("parentheses")
            raise ValueError(f"no comparison of a tag at position {place}")
        quoted, word, sign, value = comparison.groups()
        choices[-1].append(_comparison(word if quoted is None else quoted, sign, value))
        place = comparison.end()
        if place == len(text):
            return lambda tags: any(all(is_met(tags) for is_met in choice) for choice in choices)
        joined = _JOINED.match(text, place)
        if not joined:
            raise ValueError(f"neither AND nor OR at position {place}")
        if joined[1].upper() == "OR":
            choices.append([])
        place = joined.end()


def _comparison(name: str, sign: str, value: str) -> TagCondition:
    if not is_tag(name, value):
        raise ValueError(f"no blob has the tag {name!r} with the value {value!r}")
    compare = _OPERATORS[sign]

    def meets(tags: Mapping[str, str]) -> bool:
        tag = tags.get(name)
        return sign == "<>" if tag is None else compare(tag, value)

    return meets
