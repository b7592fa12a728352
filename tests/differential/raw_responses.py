"""Responses of queues and blobs, what both have in common: relevant headers, and lists in XML."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any, Final
from xml.etree.ElementTree import Element

from conformance.raw import Answer
from differential.answers import members
from differential.differences import MISSING
from differential.exclusions import Case

# Of the connection, of the request, or of the moment
_MEANINGLESS: Final = frozenset(
    {
        *("connection", "date", "keep-alive", "server", "transfer-encoding", "vary"),
        *("x-ms-client-request-id", "x-ms-request-id", "x-ms-version"),
    }
)
_METADATA: Final = "x-ms-meta-"
_NEXT_MARKER: Final = "NextMarker"


def headers_of(answer: Answer) -> dict[str, Any]:
    """Return the headers that mean something; names of metadata are as they were spelled."""
    return {
        name if name.lower().startswith(_METADATA) else name.lower(): value
        for name, value in answer.headers.items()
        if name.lower() not in _MEANINGLESS
    }


def seconds_between(earlier: str, later: str) -> int:
    """Return how long after a moment another one is, both as headers have them."""
    return round((parsedate_to_datetime(later) - parsedate_to_datetime(earlier)).total_seconds())


def about_from_now(answer: Answer, moment: str) -> int:
    """Return in how many seconds from an answer a moment is, so rounded that a slow answer makes no difference."""
    return round(seconds_between(answer.headers["Date"], moment), -1)


def page_of(found: Element, base: str, items: str) -> tuple[dict[str, Any], list[Element]]:
    """Return what a page of a list says of itself, and what is on it.

    :param base: the account's URL, which is left out
    :param items: the name of the element that holds what is on it
    """
    about = {name: value for name, value in members(found).items() if name not in (items, "Marker")}
    about["@ServiceEndpoint"] = about["@ServiceEndpoint"].replace(base, "").strip("/")
    about[_NEXT_MARKER] = bool(about.get(_NEXT_MARKER))
    return about, list(found.find(items) or ())


def rows_apart(pages: list[tuple[dict[str, Any], list[Element]]], row: Callable[[Element], Any]) -> dict[str, Any]:
    """Return pages by themselves, and what is on them under their names, as `differences` compares a list.

    A snapshot has besides the name of its blob the number that it has among the snapshots of that, the oldest first.
    """
    elements = [element for _, found in pages for element in found]
    taken: defaultdict[str, list[str]] = defaultdict(list)
    for element in elements:
        if snapshot := element.findtext("Snapshot"):
            bisect.insort(taken[element.findtext("Name", "")], snapshot)

    def key(element: Element) -> tuple[Any, ...]:
        name, snapshot = element.findtext("Name", ""), element.findtext("Snapshot")
        return (element.tag, name, taken[name].index(snapshot)) if snapshot else (element.tag, name)

    rows = {key(element): row(element) for element in elements}
    return {"pages": [about for about, _ in pages], "sizes": [len(found) for _, found in pages], "rows": rows}


def is_about_text(case: Case) -> bool:
    """Return whether a difference is about metadata with the name that libraries of JavaScript have for text."""
    where = case.path[2:]
    text = case.engine.get("_") if where == ("Metadata",) and isinstance(case.engine, dict) else case.engine
    return where in (("Metadata",), ("Metadata", "_")) and case.azurite in (MISSING, text)
