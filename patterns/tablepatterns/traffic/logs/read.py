"""Read Azure Monitor's resource logs of the Table service into a table of requests, with DuckDB.

A diagnostic setting writes JSON lines, with fields such as `operationName` and a `properties` object. Log Analytics
exports the table `StorageTableLogs` as CSV or JSON lines, with flat columns such as `OperationName`.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from ...errors import BadInput
from ...extras import importing

with importing("reading logs needs the package", extra="logs"):
    import duckdb

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SUFFIXES: Final = (".json", ".jsonl", ".log", ".csv")
_COMPRESSED: Final = ".gz"
_LONGEST: Final = 1 << 24
"""The length from which a record must be damaged: its end is missing."""
_MEMORY: Final = "512MB"
"""What DuckDB keeps in memory; the rest is in the temporary folder."""
_START: Final = 1 << 16
_ROWS: Final = 100
_OPEN_QUOTES: Final = "SELECT count(*) > 0 FROM reject_errors WHERE error_type = 'UNQUOTED VALUE'"
_UNREADABLE: Final = (EOFError, OSError, zlib.error)
# The columns of a request, its fields as written by a diagnostic setting, and the columns of StorageTableLogs
_FIELDS: Final = {
    "time": ("time", "TimeGenerated"),
    "operation": ("operationName", "OperationName"),
    "service": ("serviceType", "ServiceType"),
    "uri": ("uri", "Uri"),
    "status": ("statusCode", "StatusCode"),
    "status_text": ("statusText", "StatusText"),
    "duration": ("durationMs", "DurationMs"),
    "latency": ("serverLatencyMs", "ServerLatencyMs"),
    "bytes_in": ("requestBodySize", "RequestBodySize"),
    "bytes_out": ("responseBodySize", "ResponseBodySize"),
    "agent": ("userAgentHeader", "UserAgentHeader"),
}
_NUMBER: Final = "CREATE MACRO number(x) AS CASE WHEN coalesce(x, '') = '' THEN 0 ELSE TRY_CAST(x AS DOUBLE) END"
# As `traffic.request.named` reads a URL, and with the client's first two products: the rest is its operating system
_PARSE: Final = r"""
WITH parts AS (
    SELECT *,
        CASE WHEN coalesce(status, '') IN ('', 'Unknown') THEN 0 ELSE TRY_CAST(status AS SMALLINT) END AS code,
        coalesce(
            epoch(TRY_CAST(time[:19] AS TIMESTAMP)) + number(regexp_replace(time[20:], 'Z$', '')),
            epoch(try_strptime(time, '%m/%d/%Y, %I:%M:%S.%f %p'))
        ) AS moment,
        regexp_extract(uri, '^[^?]*?//[^/?]*/*([^?]*)', 1) AS path,
        regexp_extract(uri, '[?&](?:\$|%24)filter=([^&]*)', 1) AS encoded
    FROM fields
), decoded AS (
    SELECT *, coalesce(TRY(url_decode(path)), path) AS name,
        coalesce(TRY(url_decode(replace(encoded, '+', ' '))), encoded) AS condition
    FROM parts
), named AS (
    SELECT *, regexp_extract(
        name, '(?s)^([^()]*)\(PartitionKey=''((?:[^'']|'''')*)'',\s*RowKey=''(?:[^'']|'''')*''\)$', ['tbl', 'key']
    ) AS entity, regexp_matches(
        name, '(?s)^[^()]*\(PartitionKey=''(?:[^'']|'''')*'',\s*RowKey=''(?:[^'']|'''')*''\)$'
    ) AS is_point
    FROM decoded
)
SELECT line,
    CASE WHEN coalesce(service, 'table') NOT IN ('', 'table') THEN 'other'
        WHEN moment >= 0 AND moment < epoch(TIMESTAMP '2100-01-01')
            AND regexp_full_match(operation, '\w+') AND code >= 0
            AND length(uri) <= 32768 IS NOT FALSE AND length(agent) <= 8192 IS NOT FALSE
            AND length(status_text) <= 128 IS NOT FALSE
            AND number(duration) BETWEEN 0 AND 1e12 AND number(latency) BETWEEN 0 AND 1e12
            AND number(bytes_in) BETWEEN 0 AND 1e12 AND number(bytes_out) BETWEEN 0 AND 1e12
        THEN 'request' ELSE 'damaged' END AS state,
    moment,
    CASE operation WHEN 'EntityGroupTransaction' THEN 'Transaction' ELSE operation END AS operation,
    CASE WHEN name IN ('', '$batch', 'Tables') THEN NULL WHEN starts_with(name, 'Tables(') THEN name[9:-3]
        WHEN is_point THEN entity.tbl ELSE regexp_replace(name, '\(\)$', '') END AS tbl,
    CASE WHEN is_point THEN replace(entity.key, '''''', '''') END AS partition,
    CASE WHEN operation = 'QueryEntities' THEN condition END AS filter,
    code AS status, coalesce(status_text, '') AS status_text,
    number(duration) / 1000 AS seconds, number(latency) / 1000 AS server_seconds,
    TRY_CAST(number(bytes_in) AS BIGINT) AS bytes_in, TRY_CAST(number(bytes_out) AS BIGINT) AS bytes_out,
    coalesce(agent, '') AS agent
FROM named
"""


@dataclass
class Skipped:
    """The records that are not requests to the Table service.

    :param unreadable: records that are damaged, too long, or have no valid time, operation or number
    :param first: the position of the first of these, as file:line
    :param others: requests to other services
    """

    unreadable: int = 0
    first: str = ""
    others: int = 0

    def add(self, path: Path, line: int, unreadable: int = 1) -> None:
        """Count unreadable records of a file, of which the first is in this line."""
        self.unreadable += unreadable
        self.first = self.first or f"{path}:{line}"


def log_files(paths: Iterable[Path]) -> list[Path]:
    """Return the log files among some paths, and those in folders, sorted by name, which is the order of time."""
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise BadInput("logs", str(path), "there is no such file", "give log files, or a folder with log files")
        if path.is_file():
            files.append(path)
            continue
        names = tuple(f"{suffix}{compressed}" for suffix in _SUFFIXES for compressed in ("", _COMPRESSED))
        below = sorted(file for file in path.rglob("*") if file.is_file() and file.name.endswith(names))
        if not below:
            rule = f"it has no file named {', '.join(f'*{suffix}' for suffix in _SUFFIXES)}, compressed or not"
            raise BadInput("logs", str(path), rule, "name the files")
        files += below
    return files


def rows_of(result: DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while rows := result.fetchmany(_ROWS):
        yield from rows


@contextmanager
def requests_table(
    paths: Iterable[Path], skipped_records: Skipped, on_read: Callable[[int], None] | None = None
) -> Generator[DuckDBPyConnection, None, None]:
    """Load the requests of log files into the table `requests` of a database in a temporary folder.

    A file holds JSON lines, or CSV with a header; one named `.gz` is decompressed. DuckDB reads it with 512 MB of
    memory at most. Damaged records, and those over 16 MiB, are skipped and counted, since the file of the current hour
    often ends in one.

    :param on_read: called after each file with the number of bytes that it has
    """
    with TemporaryDirectory(prefix="tablepatterns-") as folder:
        settings: dict[str, Any] = {"memory_limit": _MEMORY, "temp_directory": folder, "threads": 2}
        settings |= {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
        with duckdb.connect(str(Path(folder, "logs.duckdb")), config=settings) as database:
            database.execute(_NUMBER)
            reader = _Reader(database, Path(folder), skipped_records)
            try:
                for path in paths:
                    reader.load(path)
                    if on_read is not None:
                        on_read(path.stat().st_size)
                yield database
            except duckdb.Error as error:
                raise OSError(f"DuckDB cannot process these logs: {error}") from error


class _Reader:
    def __init__(self, database: DuckDBPyConnection, folder: Path, skipped_records: Skipped) -> None:
        self._database, self._skipped = database, skipped_records
        self._copy = folder / "readable"
        empty = ", ".join(f"NULL::VARCHAR AS {name}" for name in _FIELDS)
        self._insert(f"SELECT 0 AS line, {empty} LIMIT 0", {}, "CREATE TABLE requests AS")

    def load(self, path: Path) -> None:
        """Load a file; if DuckDB rejects it as a whole, load its readable lines."""
        start = _start(path)
        if start.startswith("["):
            rule = "it is a JSON array, and records are read line by line"
            raise BadInput("logs", str(path), rule, "write each element to a line: jq -c '.[]'")
        columns = _csv_columns(path, start) if start and not start.startswith("{") else None
        try:
            self._load_csv(path, path, *columns) if columns else self._load_json(path, path)
        except duckdb.Error:
            self._database.rollback()
            with _open(path) as source, self._copy.open("wb") as lines:
                self._copy_lines(source, lines, path, is_csv=columns is not None)
            self._load_csv(self._copy, path, *columns) if columns else self._load_json(self._copy, path)

    def _load_json(self, file: Path, path: Path) -> None:
        settings, workspace = zip(*_FIELDS.values(), strict=True)
        paths = [f"$.{name}" for name in (*(f"properties.{name}" for name in settings), *settings, *workspace)]
        size = len(_FIELDS)
        columns = ", ".join(
            f"coalesce(v[{at}], v[{at + size}], v[{at + 2 * size}]) AS {name}" for at, name in enumerate(_FIELDS, 1)
        )
        damaged = self._insert(
            f"""SELECT line, {columns} FROM (
                SELECT line, json_extract_string(item, $paths) AS v FROM (
                    SELECT line, unnest(CASE WHEN json_type(json, '$.records') = 'ARRAY'
                        THEN json_extract(json, '$.records[*]') ELSE [json] END) AS item
                    FROM (SELECT row_number() OVER () AS line, CASE WHEN strlen(json) < $longest THEN json END AS json
                        FROM read_json_objects($file, compression=$compression, format='newline_delimited',
                            ignore_errors=true, maximum_object_size=$longest))))""",  # noqa: S608 - constants
            {"paths": paths, **_source(file)},
        )
        if damaged is not None:
            count, first = damaged
            self._skipped.add(path, _line_of(file, first), count)

    def _load_csv(self, file: Path, path: Path, positions: dict[str, int], width: int) -> None:
        columns = ", ".join(
            f"c{positions[names[1]]} AS {name}" if names[1] in positions else f"NULL::VARCHAR AS {name}"
            for name, names in _FIELDS.items()
        )
        types = ", ".join(f"'c{number}': 'VARCHAR'" for number in range(width))
        for table in ("reject_errors", "reject_scans"):
            self._database.execute(f"DROP TABLE IF EXISTS {table}")
        damaged = self._insert(
            f"""SELECT row_number() OVER () + 1 AS line, {columns} FROM read_csv($file, compression=$compression,
                delim=',', quote='"', escape='"', header=true, auto_detect=false, columns={{{types}}},
                max_line_size=$longest, store_rejects=true, rejects_limit=0, strict_mode=$strict)""",  # noqa: S608 - constants
            {"strict": file is path, **_source(file)},
            has_open_quotes=_OPEN_QUOTES if file is path else "SELECT false",
        )
        rejected = "SELECT count(DISTINCT line), min(line) FROM reject_errors"
        count, line = self._database.execute(rejected).fetchall()[0]
        if damaged is not None:
            self._skipped.add(path, min(damaged[1], line or damaged[1]), damaged[0])
        if count:
            self._skipped.add(path, line, count)

    def _insert(
        self,
        fields: str,
        parameters: dict[str, Any],
        into: str = "INSERT INTO requests",
        has_open_quotes: str = "SELECT false",
    ) -> tuple[int, int] | None:
        """Insert the requests of some records; return how many records are damaged, and the number of the first."""
        statement = f"{into} WITH fields AS ({fields}) SELECT * FROM ({_PARSE})"  # noqa: S608 - constants
        self._database.begin()
        self._database.execute(statement, parameters)
        if self._database.execute(has_open_quotes).fetchall()[0][0]:
            raise duckdb.DataError("an open quote swallows the lines that follow")
        self._database.commit()
        counts = """SELECT count(*) FILTER (state = 'other'), count(*) FILTER (state = 'damaged'),
            min(line) FILTER (state = 'damaged') FROM requests WHERE state <> 'request'"""
        other_count, damaged, line = self._database.execute(counts).fetchall()[0]
        self._database.execute("DELETE FROM requests WHERE state <> 'request'")
        self._skipped.others += other_count
        return (damaged, line) if damaged else None

    def _copy_lines(self, source: BinaryIO, copy: BinaryIO, path: Path, *, is_csv: bool) -> None:
        """Copy the lines that are neither too long nor have an open quote, up to where the file is damaged."""
        number = 0
        try:
            while line := source.readline(_LONGEST):
                number += 1
                if len(line) < _LONGEST and not (is_csv and line.count(b'"') % 2):
                    copy.write(line)
                    continue
                self._skipped.add(path, number)
                copy.write(b"\r\n" if line.endswith(b"\r\n") else b"\n")
                while line and not line.endswith(b"\n"):
                    line = source.readline(_LONGEST)
        except _UNREADABLE:
            self._skipped.add(path, number + 1)


def _open(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path)) if path.suffix == _COMPRESSED else path.open("rb")


def _source(file: Path) -> dict[str, Any]:
    """Return the parameters to read a file, whose name is not a pattern."""
    name = re.sub(r"[\[*?]", r"[\g<0>]", str(file.absolute()))
    return {"file": name, "compression": "gzip" if file.suffix == _COMPRESSED else "uncompressed", "longest": _LONGEST}


def _start(path: Path) -> str:
    """Return the first line that is not blank, up to 64 KiB; "" if it cannot be read."""
    with _open(path) as source, suppress(*_UNREADABLE):
        return source.read(_START).decode("utf-8-sig", "replace").lstrip().partition("\n")[0]
    return ""


def _line_of(file: Path, record: int) -> int:
    """Return the number of the line of a record; blank lines are no records."""
    number = 0
    with _open(file) as source, suppress(*_UNREADABLE):
        while record and (line := source.readline(_LONGEST)):
            number += 1
            record -= not line.isspace()
    return number + (record > 0)


def _csv_columns(path: Path, header: str) -> tuple[dict[str, int], int]:
    names: list[str] = []
    with suppress(csv.Error, StopIteration):
        names = [name.strip().removesuffix(" [UTC]") for name in next(csv.reader([header]))]
    if not {"TimeGenerated", "OperationName"} <= set(names):
        rule = "this first line names no columns TimeGenerated and OperationName"
        hint = "give resource logs as JSON lines, or StorageTableLogs as CSV or JSON lines"
        raise BadInput(str(path), header.strip(), rule, hint)
    return {name: number for number, name in enumerate(names)}, len(names)
