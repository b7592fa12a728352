"""The differences between the service's answer and that of a backend, at three levels."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from typing import Any, Final, NamedTuple
from xml.etree.ElementTree import Element, ParseError

from defusedxml.ElementTree import fromstring

from recordings.counterparts import CHOSEN, Counterparts
from recordings.exchange import Answer, read_date

STATUS, BODY, HEADERS = "status", "body", "headers"
LEVELS: Final = (STATUS, BODY, HEADERS)
"""From the most important: the status and the code of an error, the body, the headers."""

_OF_TRANSPORT_NAMES: Final = """
    transfer-encoding connection keep-alive date vary content-length via x-ms-client-request-id server x-ms-version
    x-ms-request-id www-authenticate x-ms-lease-time
"""
OF_TRANSPORT: Final = frozenset(_OF_TRANSPORT_NAMES.split())
"""Headers that are not compared: those of the connection, of the server, and what depends on the second."""
_DATES_NAMES: Final = """
    last-modified insertiontime expirationtime timenextvisible x-ms-time-next-visible creation-time
    x-ms-creation-time x-ms-copy-completion-time copycompletiontime accesstierchangetime
    x-ms-access-tier-change-time expires
"""
_DATES: Final = frozenset(_DATES_NAMES.split())
_TOLERANCE: Final = timedelta(seconds=10)
"""How far dates of the engine may be from the recorded ones: requests are sent in whole seconds."""
_LISTS: Final = frozenset({"Containers", "Queues"})
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class Difference(NamedTuple):
    """What differs, at which level: the recorded value and the one of the backend."""

    level: str
    kind: str
    place: str
    recorded: object
    given: object


class Comparison:
    """Compares answers to the requests of one recording.

    :param names: the resources of the recording; lists of a shared account have others
    :param has_clock: whether the backend has the time of the recording
    """

    def __init__(self, counterparts: Counterparts, names: Collection[str], *, has_clock: bool = True) -> None:
        self._counterparts = counterparts
        self._names = names
        self._has_clock = has_clock

    def differences(self, recorded: Answer, given: Answer) -> list[Difference]:
        return list(self._answers(recorded, given, ""))

    def _answers(self, recorded: Answer, given: Answer, place: str) -> Iterator[Difference]:
        if str(recorded) != str(given):
            yield Difference(STATUS, "status", place, str(recorded), str(given))
        if recorded.status != given.status:
            return
        yield from self._headers(recorded.headers, given.headers, place)
        if recorded.body == given.body:
            return
        content_type = recorded.headers.get("content-type", "")
        try:
            if content_type.startswith("multipart/mixed"):
                yield from self._parts(recorded, given, place)
            elif "json" in content_type:
                documents = (json.loads(answer.body.decode("utf-8-sig")) for answer in (recorded, given))
                yield from self._json(next(documents), next(documents), f"{place}$")
            elif "xml" in content_type or b"<?xml" in recorded.body[:8]:
                marks = [answer.body.startswith(_BYTE_ORDER_MARK) for answer in (recorded, given)]
                if marks[0] != marks[1]:
                    yield Difference(BODY, "byte order mark", place, *marks)
                one, other = (fromstring(answer.body.removeprefix(_BYTE_ORDER_MARK)) for answer in (recorded, given))
                yield from self._xml(one, other, place)
            else:
                yield Difference(BODY, "content", place, recorded.body[:40], given.body[:40])
        except (ParseError, ValueError, LookupError) as error:
            yield Difference(BODY, f"unreadable ({error})", place, recorded.body[:80], given.body[:80])

    def _headers(self, recorded: Mapping[str, str], given: Mapping[str, str], place: str) -> Iterator[Difference]:
        for name in sorted((recorded.keys() | given.keys()) - OF_TRANSPORT):
            one, other = recorded.get(name), given.get(name)
            if one is None or other is None:
                yield Difference(HEADERS, "missing" if other is None else "extra", place + name, one, other)
            elif not (one.startswith("multipart/") and other.startswith("multipart/")):
                yield from self._value(HEADERS, name, one, other, place + name)

    def _value(self, level: str, name: str, recorded: str, given: str, place: str) -> Iterator[Difference]:
        if name.lower() in CHOSEN:
            # On the service, the entities of a transaction may share an ETag, and need not
            problem = self._counterparts.match(name.lower(), recorded, given, shared=place.startswith("part "))
            if problem:
                yield Difference(level, problem, place, recorded, given)
        elif (
            _comparable(name, recorded) != _comparable(name, given)
            and not (name == "QueryParameterValue" and self._counterparts.replace(recorded) == given)
            and name != "LastSyncTime"
            and not (name.lower() in _DATES and self._close(recorded, given))
        ):
            yield Difference(level, "value", place, recorded, given)

    def _close(self, recorded: str, given: str) -> bool:
        dates = read_date(recorded), read_date(given)
        if dates[0] is None or dates[1] is None:
            return False
        return not self._has_clock or abs(dates[0] - dates[1]) <= _TOLERANCE

    def _parts(self, recorded: Answer, given: Answer, place: str) -> Iterator[Difference]:
        ones, others = (list(_read_parts(answer.body, answer.headers["content-type"])) for answer in (recorded, given))
        if len(ones) != len(others):
            yield Difference(STATUS, "parts", place, len(ones), len(others))
        for one, other in zip(ones, others, strict=False):
            yield from self._answers(one, other, f"{place}part ")

    def _json(self, recorded: Any, given: Any, place: str) -> Iterator[Difference]:
        if isinstance(recorded, dict) and isinstance(given, dict):
            if list(recorded) != list(given):
                yield Difference(BODY, "members", place, list(recorded), list(given))
            for name in recorded.keys() & given.keys():
                yield from self._json(recorded[name], given[name], f"{place}.{name}")
        elif isinstance(recorded, list) and isinstance(given, list):
            own = [item for item in recorded if "TableName" not in item or item["TableName"] in self._names]
            if len(own) != len(given):
                yield Difference(BODY, "length", place, len(own), len(given))
            for one, other in zip(own, given, strict=False):
                yield from self._json(one, other, f"{place}[]")
        elif isinstance(recorded, str) and isinstance(given, str):
            name = "odata.etag" if place.endswith(".odata.etag") else place.rpartition(".")[2]
            # A property of an entity may be called so, too
            name = "property" if name == "etag" else name
            yield from self._value(BODY, name, _without_id(recorded), _without_id(given), place)
        elif recorded != given:
            yield Difference(BODY, "value", place, recorded, given)

    def _xml(self, recorded: Element, given: Element, place: str) -> Iterator[Difference]:
        place = f"{place}/{recorded.tag}"
        if (recorded.tag, recorded.attrib) != (given.tag, given.attrib):
            yield Difference(BODY, "element", place, recorded.attrib, given.attrib)
        ones, others = list(recorded), list(given)
        if not ones and not others:
            texts = [_without_id(element.text or "") for element in (recorded, given)]
            yield from self._value(BODY, recorded.tag, texts[0], texts[1], place)
            return
        if recorded.tag in _LISTS:
            ones = [item for item in ones if item.findtext("Name") in self._names]
        tags = [[element.tag for element in elements] for elements in (ones, others)]
        if tags[0] != tags[1]:
            yield Difference(BODY, "elements", place, *_only_there(*tags))
        for one, other in zip(ones, others, strict=True) if tags[0] == tags[1] else _same_tags(ones, others):
            yield from self._xml(one, other, place)


def _comparable(name: str, value: str) -> str | set[str]:
    """Return a value, or the names of exposed headers, in any order; some recordings leave out the client's id."""
    exposed = set(value.split(",")) - {"x-ms-client-request-id"}
    return exposed if name == "access-control-expose-headers" else value


def _only_there(recorded: list[str], given: list[str]) -> tuple[list[str], list[str]]:
    missing, extra = [tag for tag in recorded if tag not in given], [tag for tag in given if tag not in recorded]
    return (missing, extra) if missing or extra else (recorded, given)


def _same_tags(ones: list[Element], others: list[Element]) -> Iterator[tuple[Element, Element]]:
    """Yield the elements whose names occur once on both sides."""
    by_tag = {element.tag: element for element in others}
    tags = [element.tag for element in ones]
    for element in ones:
        if element.tag in by_tag and tags.count(element.tag) == 1:
            yield element, by_tag[element.tag]


def _without_id(text: str) -> str:
    """Return the message of an error without the request's id and time."""
    return re.sub(r"\s*RequestId:.*", "", text, flags=re.DOTALL).strip() if "RequestId:" in text else text


def _read_parts(body: bytes, content_type: str) -> Iterator[Answer]:
    """Yield the answers of a batch, with changesets flattened."""
    boundary = re.search(r'boundary="?([^";]+)', content_type)
    if not boundary:
        raise ValueError("no boundary")
    for piece in body.replace(b"\r\n", b"\n").split(b"--" + boundary[1].encode())[1:-1]:
        head, _, content = piece.lstrip(b"\n").partition(b"\n\n")
        inner = re.search(rb"(?i)content-type:\s*(multipart.*)", head)
        if inner:
            yield from _read_parts(content, inner[1].decode())
            continue
        lines, _, text = content.lstrip(b"\n").partition(b"\n\n")
        status, *fields = lines.decode().split("\n")
        pairs = (field.partition(":") for field in fields if field)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        yield Answer(int(status.split()[1]), headers, text.strip(b"\n"))
