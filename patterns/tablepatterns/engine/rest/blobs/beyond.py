"""What the Blob service can be asked for beyond what the engine does: it is refused, so that nobody relies on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...refusal import Refusal
from ...texts import NOT_IMPLEMENTED

_HEADERS: Final = (
    "x-ms-encryption-key",
    "x-ms-encryption-scope",
    "x-ms-default-encryption-scope",
    "x-ms-immutability-policy-mode",
    "x-ms-immutability-policy-until-date",
    "x-ms-legal-hold",
)
_OPTIONS: Final = ("versionid", "deletetype")


def check_within(headers: Mapping[str, str], query: Mapping[str, str]) -> None:
    """Refuse a request for encryption with keys of one's own, for immutability, for a version or a final deletion.

    :raises Refusal: NotImplemented
    """
    asked = [headers.get(name, "") for name in _HEADERS] + [query.get(name, "") for name in _OPTIONS]
    if any(value and value.lower() != "false" for value in asked):
        raise Refusal(NOT_IMPLEMENTED)
