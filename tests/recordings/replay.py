"""Replay a recording: send each request to a backend, and compare its answer with the service's."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from recordings.backends import Backend
from recordings.comparison import LEVELS, Comparison, Difference
from recordings.counterparts import Counterparts
from recordings.exchange import Answer, Exchange, read_recording
from recordings.preparation import Preparation
from recordings.scope import NO_REQUEST, Scope, is_of_old_version, names_blob_version


@dataclass
class Result:
    """An exchange that was replayed.

    :param number: its place in the recording
    :param set_aside: why it cannot be compared; None if it can
    """

    recording: str
    number: int
    exchange: Exchange
    answer: Answer
    differences: list[Difference]
    set_aside: str | None

    @property
    def level(self) -> int:
        """How many levels agree, from none to all three."""
        levels = [LEVELS.index(difference.level) for difference in self.differences]
        return min(levels, default=len(LEVELS))


def replay(path: Path, backend: Backend) -> Iterator[Result]:
    """Yield the results of a recording, in its order."""
    exchanges = read_recording(path)
    if not all(exchange.is_complete for exchange in exchanges):
        for number, exchange in enumerate(exchanges):
            if exchange.service:
                yield Result(path.stem, number, exchange, exchange.answer, [], NO_REQUEST)
        return
    backend.keeps_versions = any(names_blob_version(exchange.answer) for exchange in exchanges)
    names = {segment for exchange in exchanges for segment in (*exchange.path, exchange.resource)}
    counterparts = Counterparts()
    comparison = Comparison(counterparts, names, has_clock=backend.has_clock)
    scope = Scope(Preparation(backend, exchanges).run(), has_clock=backend.has_clock)
    clock = _Clock()
    for number, exchange in enumerate(exchanges):
        if not exchange.service:
            continue
        url, headers, body = _request(exchange, counterparts)
        now = clock.at(exchange.date)
        answer = backend.send(exchange.method, url, headers, body, now, signed=exchange.is_signed)
        differences = comparison.differences(exchange.answer, answer)
        kept = [difference for difference in differences if not is_of_old_version(exchange, difference)]
        yield Result(path.stem, number, exchange, answer, kept, scope.set_aside(exchange, answer))


class _Clock:
    """The time of each request: the recorded second, but always later than the request before it."""

    def __init__(self) -> None:
        self._last: datetime | None = None

    def at(self, date: datetime | None) -> datetime | None:
        if date is None:
            return self._last
        if self._last is None:
            self._last = date
        elif date > self._last.replace(microsecond=0):
            self._last = date + timedelta(milliseconds=500)
        else:
            self._last += timedelta(milliseconds=1)
        return self._last


def _request(exchange: Exchange, counterparts: Counterparts) -> tuple[str, dict[str, str], bytes]:
    """Return the URL, the headers and the body to send."""
    body = counterparts.replace_bytes(exchange.body)
    headers: dict[str, str] = {}
    for name, value in exchange.headers.items():
        field = name.lower()
        if field in ("authorization", "connection", "accept-encoding", "user-agent", "host"):
            continue
        headers[name] = counterparts.replace(value)
        if field == "content-length":
            headers[name] = str(len(body))
        elif field == "content-md5" and body != exchange.body:
            headers[name] = b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
        elif field == "x-ms-copy-source":
            headers[name] = counterparts.replace(exchange.source, encoded=True)
    if exchange.has_sas and not exchange.has_date:
        headers["x-ms-date"] = exchange.answer.headers.get("date", "")
    return counterparts.replace(exchange.url, encoded=True), headers, body
