"""The names of queues and containers."""

from __future__ import annotations

import re
from typing import Final

from ..limits import QUEUE_NAME_MAX_LENGTH, QUEUE_NAME_MIN_LENGTH
from . import texts
from .refusal import Refusal

_CHARACTERS: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def check_resource_name(name: str) -> None:
    """Refuse a name that is not 3 to 63 lower-case letters, digits and single hyphens between them.

    >>> check_resource_name("employee-photos")

    :raises Refusal: OutOfRangeInput, InvalidResourceName
    """
    if not QUEUE_NAME_MIN_LENGTH <= len(name) <= QUEUE_NAME_MAX_LENGTH:
        raise Refusal(texts.RESOURCE_NAME_LENGTH)
    if not _CHARACTERS.fullmatch(name):
        raise Refusal(texts.RESOURCE_NAME_CHARACTERS)
