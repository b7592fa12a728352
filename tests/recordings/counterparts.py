"""What a backend chose in place of each ETag, lease id, receipt and token that the service chose."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, quote_plus

_CHOSEN_NAMES: Final = """
    etag x-ms-lease-id x-ms-copy-id x-ms-snapshot x-ms-popreceipt x-ms-continuation-nextpartitionkey
    x-ms-continuation-nextrowkey x-ms-continuation-nexttablename messageid popreceipt nextmarker snapshot odata.etag
    timestamp copyid marker leaseid x-ms-version-id versionid
"""
CHOSEN: Final = frozenset(_CHOSEN_NAMES.split())
"""The names of headers, elements and members whose values the service chooses."""
_IDENTITIES: Final = frozenset(("etag", "messageid", "popreceipt", "leaseid", "lease-id", "versionid", "version-id"))
"""What is the same again if, and only if, it names the same thing."""
_TIMES: Final = frozenset({"popreceipt"})
"""What the service may choose again for something else: its receipts of one second are the same."""
_MIN_LENGTH: Final = 8
"""Shorter values, such as "*", are not replaced in later requests."""


class Counterparts:
    """A one-to-one relation between the values that the service chose and those of a backend."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._recorded: dict[tuple[str, str], set[str]] = {}

    def match(self, name: str, recorded: str, given: str, *, shared: bool = False) -> str | None:
        """Relate two values; return how they contradict the values before them, or None.

        :param shared: whether a backend may choose one value for several of the service's
        """
        if not recorded or not given:
            return None if recorded == given else "missing"
        kind = "etag" if "etag" in name else name.removeprefix("x-ms-")
        problem = None
        known = self._recorded.setdefault((kind, given), set())
        if kind in _IDENTITIES:
            if known and recorded not in known and not shared:
                problem = "same as before"
            elif kind not in _TIMES and self._given.get(recorded, given) != given:
                problem = "changed"
        self._given[recorded] = given
        known.add(recorded)
        return problem

    def replace(self, text: str, *, encoded: bool = False) -> str:
        """Return a text of a request with the backend's values."""
        for recorded, given in self._pairs():
            text = text.replace(recorded, given)
            if encoded:
                for spelling in {quote(recorded, safe=""), quote(recorded), quote(recorded, "~()*!.'")} | {
                    quote_plus(recorded)
                }:
                    text = text.replace(spelling, quote(given, safe=""))
        return text

    def replace_bytes(self, body: bytes) -> bytes:
        for recorded, given in self._pairs():
            body = body.replace(recorded.encode(), given.encode())
        return body

    def _pairs(self) -> list[tuple[str, str]]:
        """Return the values that differ, the longest first, since one may contain another."""
        pairs = [(recorded, given) for recorded, given in self._given.items() if recorded != given]
        return sorted((pair for pair in pairs if len(pair[0]) >= _MIN_LENGTH), key=lambda pair: -len(pair[0]))
