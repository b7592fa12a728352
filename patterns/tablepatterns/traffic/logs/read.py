"""Read Azure Monitor's resource logs of the Table service, one record at a time.

A diagnostic setting writes JSON lines, with fields such as `operationName` and a `properties` object. Log Analytics
exports the table `StorageTableLogs` as CSV or JSON, with flat columns such as `OperationName`.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, NamedTuple, TextIO, TypeAlias, cast

from ...errors import BadInput
from ..request import Named, named

_SUFFIXES: Final = (".json", ".jsonl", ".log", ".csv")
_COMPRESSED: Final = ".gz"
_REPORTED: Final = 1_000
"""The number of records after which progress is reported."""
_CHUNK: Final = 1 << 20
_LONGEST: Final = 1 << 24
"""The length from which a record must be damaged: its end is missing."""
_BETWEEN: Final = re.compile(r"[\s,\]]*")
_PORTAL_TIME: Final = "%m/%d/%Y, %I:%M:%S.%f %p"
"""The time in the CSV that the portal exports."""
_OPERATIONS: Final = {"EntityGroupTransaction": "Transaction"}
"""The log's names of operations that have other names in `Traffic`."""
_NO_STATUS: Final = (None, "", "Unknown")
# The fields of a record, as written by a diagnostic setting and as columns of StorageTableLogs
_NAMES: Final = (
    ("time", "TimeGenerated"),
    ("operationName", "OperationName"),
    ("serviceType", "ServiceType"),
    ("uri", "Uri"),
    ("statusCode", "StatusCode"),
    ("statusText", "StatusText"),
    ("durationMs", "DurationMs"),
    ("serverLatencyMs", "ServerLatencyMs"),
    ("requestBodySize", "RequestBodySize"),
    ("responseBodySize", "ResponseBodySize"),
    ("userAgentHeader", "UserAgentHeader"),
)
_SETTING_NAMES, _WORKSPACE_NAMES = zip(*_NAMES, strict=True)

Fields: TypeAlias = Mapping[str, Any]


class LogRecord(NamedTuple):
    """One request, as the Table service logged it.

    :param moment: when the service received it, in seconds since 1970
    :param operation: the service's name of the operation, as in `Traffic`
    :param table: the table, or None
    :param partition: the PartitionKey of a point operation; the log has none for an insert or a transaction
    :param filter: the value of `$filter`; None if it is not a query
    :param status: the HTTP status; 0 if the request was aborted
    :param status_text: such as Success, ServerBusy or ResourceNotFound
    :param seconds: the time until the client had the response
    :param server_seconds: the part of it that the service took
    :param bytes_in: the size of the request's body
    :param bytes_out: the size of the response's body
    :param user_agent: the client, with its version
    :param uri: the URL of the request
    """

    moment: float
    operation: str
    table: str | None
    partition: str | None
    filter: str | None
    status: int
    status_text: str
    seconds: float
    server_seconds: float
    bytes_in: int
    bytes_out: int
    user_agent: str
    uri: str = ""


@dataclass
class Skipped:
    """The records that are not requests to the Table service.

    :param unreadable: records that are damaged, or have no time or operation
    :param first: the position of the first of these, as file:line
    :param others: requests to other services
    """

    unreadable: int = 0
    first: str = ""
    others: int = 0


def log_files(paths: Iterable[Path]) -> list[Path]:
    """Return the log files among some paths: each file, and those in each folder, in the order of their names.

    A diagnostic setting names a blob by year, month, day and hour, so that this is the order of time.

    :raises BadInput: a path does not exist, or a folder has no log file
    """
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise BadInput("logs", str(path), "there is no such file", "give log files, or a folder with log files")
        if path.is_file():
            found.append(path)
            continue
        below = sorted(each for each in path.rglob("*") if each.is_file() and _is_log(each))
        if not below:
            rule = f"it has no file named {', '.join(f'*{each}' for each in _SUFFIXES)}, compressed or not"
            raise BadInput("logs", str(path), rule, "name the files")
        found += below
    return found


def _is_log(path: Path) -> bool:
    return path.name.removesuffix(_COMPRESSED).endswith(_SUFFIXES)


def read_logs(
    paths: Iterable[Path], *, skipped: Skipped | None = None, on_read: Callable[[int], None] | None = None
) -> Iterator[LogRecord]:
    """Yield the requests to the Table service from log files.

    A file holds JSON lines, a JSON array, or CSV with a header; one named `.gz` is decompressed. It is read in constant
    memory. Damaged records are skipped and counted, since the file of the current hour often ends in one.

    :param paths: the files, as `log_files` returns them
    :param skipped: counts what is skipped
    :param on_read: called from time to time with the number of stored bytes read since the last call
    :raises BadInput: a file is neither JSON nor CSV of this table
    :raises OSError: a file cannot be read
    """
    skipped = Skipped() if skipped is None else skipped
    for path in paths:
        with path.open("rb") as stored, _text(stored, is_compressed=path.suffix == _COMPRESSED) as text:
            reported = 0
            for number, (line, fields) in enumerate(_rows(path, text), start=1):
                try:
                    found = _record(fields)
                except (KeyError, TypeError, ValueError):
                    skipped.unreadable += 1
                    skipped.first = skipped.first or f"{path}:{line}"
                    continue
                if found is None:
                    skipped.others += 1
                else:
                    yield found
                if on_read is not None and number % _REPORTED == 0:
                    position = stored.tell()
                    on_read(position - reported)
                    reported = position
            if on_read is not None:
                on_read(stored.tell() - reported)


def _text(stored: BinaryIO, *, is_compressed: bool) -> TextIO:
    content = cast("IO[bytes]", gzip.GzipFile(fileobj=stored)) if is_compressed else stored
    return io.TextIOWrapper(content, encoding="utf-8-sig", errors="replace", newline="")


def _rows(path: Path, text: TextIO) -> Iterator[tuple[int, Fields]]:
    """Yield the fields of each record and the line it ends in; a record that is not JSON has no fields."""
    start = text.read(1)
    while start.isspace():
        start = text.read(1)
    if start == "[":
        return _array(text)
    return _lines(start, text) if start in ("{", "") else _csv(path, start, text)


def _lines(start: str, text: TextIO) -> Iterator[tuple[int, Fields]]:
    for number, line in enumerate(text, start=1):
        whole = start + line
        start = ""
        if not whole.isspace():
            for fields in _parsed(whole):
                yield number, fields


def _parsed(text: str) -> Iterable[Fields]:
    try:
        found: Any = json.loads(text)
    except ValueError:
        return ({},)
    match found:
        case {"records": list()}:  # As Event Hubs delivers them
            return cast("list[Fields]", found["records"])
        case _:
            return (found,)


def _array(text: TextIO) -> Iterator[tuple[int, Fields]]:
    """Yield the elements of a JSON array of any length, without holding more than one and a chunk of text."""
    decode = json.JSONDecoder().raw_decode
    rest, line = "", 1
    while chunk := text.read(_CHUNK):
        rest, at = rest + chunk, 0
        while True:
            at = _BETWEEN.match(rest, at).end()  # type: ignore[union-attr]
            try:
                found, end = decode(rest, at)
            except ValueError:
                break
            line += rest.count("\n", at, end)
            yield line, found
            at = end
        rest = rest[at:]
        if len(rest) > _LONGEST:
            break
    if rest:
        yield line, {}


def _csv(path: Path, start: str, text: TextIO) -> Iterator[tuple[int, Fields]]:
    header = start + text.readline()
    rows = csv.DictReader(chain([header], text))
    names = {each: each.removesuffix(" [UTC]") for each in rows.fieldnames or ()}
    if not {"TimeGenerated", "OperationName"} <= set(names.values()):
        rule = "this first line names no columns TimeGenerated and OperationName"
        raise BadInput(
            str(path), header.strip(), rule, "give resource logs as JSON lines, or StorageTableLogs as CSV or JSON"
        )
    for row in rows:
        yield rows.line_num, {names[name]: value for name, value in row.items() if name in names}


def _record(fields: Fields) -> LogRecord | None:
    """Return the request of a record; None for one to another service.

    :raises KeyError, TypeError, ValueError: the record is damaged
    """
    if "TimeGenerated" in fields:
        flat, names = fields, _WORKSPACE_NAMES
    else:
        flat, names = {**fields, **fields["properties"]}, _SETTING_NAMES
    values: list[Any] = [flat.get(name) for name in names]
    time, operation, service, uri, status, text, duration, latency, bytes_in, bytes_out, agent = values
    if service and service != "table":
        return None
    operation = _OPERATIONS.get(operation) or flat[names[1]]
    about = _about(uri or "")
    return LogRecord(
        _seconds_since_1970(time),
        operation,
        about.resource,
        about.partition,
        (about.filter or "") if operation == "QueryEntities" else None,
        0 if status in _NO_STATUS else int(status),
        text or "",
        float(duration or 0) / 1000,
        float(latency or 0) / 1000,
        int(bytes_in or 0),
        int(bytes_out or 0),
        agent or "",
        uri or "",
    )


@lru_cache(maxsize=4_096)
def _about(uri: str) -> Named:
    # The method only determines the operation, which the log has
    return named("table", "", "GET", uri, {})


def _seconds_since_1970(time: str) -> float:
    # The service writes seven decimals, which Python 3.10 does not read
    try:
        return _second(time[:19]) + float(time[19:].removesuffix("Z") or 0)
    except ValueError:
        return datetime.strptime(time, _PORTAL_TIME).replace(tzinfo=timezone.utc).timestamp()


@lru_cache(maxsize=1_024)
def _second(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()
