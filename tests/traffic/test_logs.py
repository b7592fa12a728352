"""Azure's resource logs of the Table service: read in every form, and summed up as `Traffic` sums up requests."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from support.resource_logs import ResourceLog
from tablepatterns import EntitySet, Key, Traffic, connect
from tablepatterns.cli.main import main
from tablepatterns.errors import BadInput
from tablepatterns.extras import how_to_install
from tablepatterns.traffic.logs import LogSummary, summarize, summary
from tablepatterns.traffic.logs.read import Skipped, log_files, requests_table, rows_of
from tablepatterns.traffic.request import purpose_of

NOW = datetime(2026, 11, 1, 9, 30, tzinfo=timezone.utc)


class LogRecord(NamedTuple):
    """One request of a log."""

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


def read_logs(
    paths: Iterable[Path], skipped_records: Skipped | None = None, on_read: Callable[[int], None] | None = None
) -> Iterator[LogRecord]:
    """Yield the requests of log files."""
    rows = """SELECT moment, operation, tbl, partition, filter, status, status_text, seconds, server_seconds, bytes_in,
        bytes_out, agent FROM requests"""
    with requests_table(paths, skipped_records or Skipped(), on_read) as database:
        for row in rows_of(database.execute(rows)):
            yield LogRecord(*row)


SCAN = LogRecord(0.0, "QueryEntities", "Claims", None, "Amount gt 100", 200, "Success", 2.5, 2.4, 0, 900, "sdk")


@pytest.fixture(scope="module")
def recorded() -> tuple[ResourceLog, Traffic]:
    """The log of an application, and what `Traffic` recorded of it."""
    log = ResourceLog(NOW)
    storage = connect(raw_response_hook=log)
    employees = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
    with Traffic(storage) as traffic:
        for number in range(20):
            employees.insert({"Department": "Sales" if number % 2 else "O'Neil & Söhne", "EmployeeId": number})
        for number in (1, 3, 1, 99):
            employees.get(Department="Sales", EmployeeId=number)
        list(employees.range(Department="O'Neil & Söhne"))
        table = storage.tables.get_table_client("Employees")
        for text in ("EmployeeId gt 3", "EmployeeId gt 17", "PartitionKey eq 'Sales' and EmployeeId lt 9"):
            list(table.query_entities(text))
    return log, traffic


def _written(form: str, log: ResourceLog, folder: Path) -> Path:
    path = folder / {"lines": "PT1H.json", "gzip": "PT1H.json.gz", "csv": "query_data.csv"}.get(form, f"{form}.json")
    rows = log.workspace_rows()
    match form:
        case "lines":
            path.write_text(log.json_lines(), encoding="utf-8")
        case "gzip":
            path.write_bytes(gzip.compress(log.json_lines().encode()))
        case "event_hub":
            path.write_text(json.dumps({"records": log.records}), encoding="utf-8")
        case "csv":
            out = io.StringIO(newline="")
            writer = csv.DictWriter(out, ["TimeGenerated [UTC]", *list(rows[0])[1:]])
            writer.writeheader()
            writer.writerows({"TimeGenerated [UTC]": row.pop("TimeGenerated"), **row} for row in rows)
            path.write_text(out.getvalue(), encoding="utf-8-sig")
    return path


@pytest.mark.parametrize("form", ["lines", "gzip", "event_hub", "csv"])
class TestForms:
    def test_holds_the_requests_that_were_sent(
        self, form: str, recorded: tuple[ResourceLog, Traffic], tmp_path: Path
    ) -> None:
        log, traffic = recorded
        path = _written(form, log, tmp_path)
        found = list(read_logs([path]))
        sent = [(each.operation, each.resource, each.status, each.is_scan) for each in traffic.requests]
        assert [each[:3] for each in sent] == [
            (each.operation, each.table or _table_created(each, traffic), each.status) for each in found
        ]
        assert all(each.moment == NOW.timestamp() + 7e-7 for each in found)
        assert summarize([path]).scans == sum(each[3] for each in sent)

    def test_reports_all_bytes_as_read(self, form: str, recorded: tuple[ResourceLog, Traffic], tmp_path: Path) -> None:
        path = _written(form, recorded[0], tmp_path)
        read: list[int] = []
        list(read_logs([path], on_read=read.append))
        assert sum(read) == path.stat().st_size


def _table_created(record: LogRecord, traffic: Traffic) -> str | None:
    # The URI of CreateTable does not name the table
    created = next(each.resource for each in traffic.requests if each.operation == "CreateTable")
    return created if record.operation == "CreateTable" else None


class TestSummary:
    def test_agrees_with_traffic_of_the_same_requests(self, recorded: tuple[ResourceLog, Traffic]) -> None:
        log, traffic = recorded
        found = _summary(log.records)
        assert found.overall.requests == traffic.overall.requests
        assert found.overall.transactions == traffic.overall.transactions
        assert found.overall.failed == sum(each.status >= 400 for each in traffic.requests) > 0
        assert {name: sums.requests for name, sums in found.operations.items()} == dict(
            Counter(each.operation for each in traffic.requests)
        )
        classes = Counter[Any]()
        for query in found.queries:
            classes[query.query_class] += query.sums.requests
        sent = (each.query_class for each in traffic.requests if each.operation == "QueryEntities")
        assert classes == Counter(sent)

    def test_queries_that_differ_in_values_are_one(self, recorded: tuple[ResourceLog, Traffic]) -> None:
        filters = {query.filter: query.sums.requests for query in _summary(recorded[0].records).queries}
        assert filters["EmployeeId gt ?"] == 2
        assert not any("Sales" in text or "3" in text for text in filters)

    def test_queries_for_different_numbers_of_keys_are_one(self) -> None:
        keys = ["(PartitionKey eq 'a' and RowKey eq '1')", "(PartitionKey eq 'b' and RowKey eq '2')"]
        both, three = " or ".join(keys), " or ".join([*keys, keys[0]])
        found = _summary([SCAN._replace(filter=both), SCAN._replace(filter=three)]).queries
        assert [query.filter for query in found] == ["(PartitionKey eq ? and RowKey eq ?) or ..."]

    def test_knows_the_partitions_of_point_queries_and_ranges(self, recorded: tuple[ResourceLog, Traffic]) -> None:
        found = {each.partition: each.requests for each in _summary(recorded[0].records).partitions}
        assert found == {"Sales": 5, "O'Neil & Söhne": 1}

    def test_finds_the_busiest_interval_of_a_partition(self) -> None:
        get = SCAN._replace(operation="QueryEntity", filter=None, partition="Sales")
        moments = [0.0, 59.0, *(60.0 + each / 100 for each in range(50)), 120.0]
        (found,) = _summary((get._replace(moment=each) for each in moments), interval=60).partitions
        assert (found.requests, found.peak, found.start.timestamp()) == (53, 50, 60.0)
        assert found.share_of_target == pytest.approx(50 / 60 / 2_000)

    @pytest.mark.parametrize("status", [429, 503])
    def test_what_is_throttled_is_not_billed(self, status: int) -> None:
        busy = SCAN._replace(status=status, status_text="ServerBusy")
        found = _summary([SCAN, busy])
        assert found.overall.throttled == 1
        assert found.overall.failed == 0
        assert found.errors == {"ServerBusy": 1}
        assert found.overall.transactions == (2 if status == 429 else 1)

    def test_hashes_keys_differently_each_time(self) -> None:
        get = SCAN._replace(operation="QueryEntity", filter=None, partition="jones@contoso.com")
        found = [_summary([get, get], hash_keys=True).partitions for _ in range(2)]
        assert [each[0].requests for each in found] == [2, 2]
        assert found[0][0].partition != found[1][0].partition
        assert "jones" not in str(found)

    @given(st.lists(st.floats(0.001, 100), min_size=1, max_size=200), st.sampled_from([0.5, 0.9, 0.99]))
    def test_a_percentile_is_exact_to_some_percent(self, latencies: list[float], share: float) -> None:
        sums = _summary(SCAN._replace(seconds=each) for each in latencies).overall
        rank = next(at for at in range(1, len(latencies) + 1) if at >= share * len(latencies))
        assert sums.percentile(share) == pytest.approx(sorted(latencies)[rank - 1], rel=0.026)

    def test_counts_a_frequent_partition_exactly_among_very_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(summary, "_MAX_ROWS", 50)
        get = SCAN._replace(operation="QueryEntity", filter=None)
        names = [*["busy"] * 900, *(f"rare{number}" for number in range(3_000))]
        random.Random(1).shuffle(names)
        found = _summary(get._replace(partition=each) for each in names)
        busiest = found.partitions[0]
        assert (busiest.partition, busiest.requests, busiest.peak) == ("busy", 900, 900)
        assert len(found.partitions) <= 100
        assert found.overall.requests == 3_900

    def test_a_log_without_requests_is_an_error(self) -> None:
        with pytest.raises(BadInput, match="no request to the Table service"):
            _summary([])


def _fields(record: LogRecord) -> dict[str, Any]:
    """Return a record as a diagnostic setting logs it."""
    address = f"https://contoso.table.core.windows.net/{record.table}"
    if record.partition is not None:
        address += quote(f"(PartitionKey='{record.partition}',RowKey='r')")
    elif record.filter is not None:
        address += f"()?$filter={quote(record.filter)}"
    return {
        "time": f"{datetime.fromtimestamp(record.moment, timezone.utc):%Y-%m-%dT%H:%M:%S.%f}Z",
        "operationName": record.operation,
        "statusCode": record.status,
        "statusText": record.status_text,
        "durationMs": record.seconds * 1000,
        "uri": address,
        "properties": {"userAgentHeader": record.user_agent, "responseBodySize": record.bytes_out},
    }


def _summary(records: Iterable[LogRecord | dict[str, Any]], **options: Any) -> LogSummary:
    """Sum up a log of some records."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "PT1H.json")
        rows = (each if isinstance(each, dict) else _fields(each) for each in records)
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        return summarize([path], **options)


class TestDamagedFiles:
    def test_skips_and_counts_damaged_records(self, recorded: tuple[ResourceLog, Traffic], tmp_path: Path) -> None:
        lines = recorded[0].json_lines().splitlines(keepends=True)
        blob = json.dumps(recorded[0].records[0] | {"properties": {"serviceType": "blob"}}) + "\n"
        path = tmp_path / "PT1H.json"
        damaged = [lines[0], "\n", lines[1][:50] + "\n", "[1]\n", "3\n", '{"time": 3}\n', blob, lines[2], lines[3][:-9]]
        path.write_text("".join(damaged), encoding="utf-8")
        skipped = Skipped()
        assert len(list(read_logs([path], skipped_records=skipped))) == 2
        assert (skipped.unreadable, skipped.others, skipped.first) == (5, 1, f"{path}:3")

    def test_an_array_is_rejected_with_how_to_convert_it(self, tmp_path: Path) -> None:
        path = tmp_path / "export.json"
        path.write_text(f"[{LINE},\n{LINE}]", encoding="utf-8")
        with pytest.raises(BadInput, match=r"it is a JSON array.*write each element to a line: jq"):
            list(read_logs([path]))

    @given(content=st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
    def test_any_content_is_skipped_or_rejected(self, content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
        path = tmp_path_factory.getbasetemp() / "any.json"
        path.write_bytes(content)
        with suppress(BadInput):
            assert not list(read_logs([path]))

    @pytest.mark.parametrize(
        ("time", "expected"),
        [
            ("2026-11-01T09:30:00.1234567Z", 0.1234567),
            ("2026-11-01T09:30:00Z", 0.0),
            ("2026-11-01 09:30:00.5", 0.5),
            ("11/1/2026, 9:30:00.250 AM", 0.25),
        ],
    )
    def test_reads_the_times_of_all_exports(self, time: str, expected: float, tmp_path: Path) -> None:
        path = tmp_path / "export.json"
        path.write_text(json.dumps({"TimeGenerated": time, "OperationName": "QueryTables", "StatusCode": "200"}))
        (found,) = read_logs([path])
        assert found.moment - NOW.timestamp() == pytest.approx(expected, abs=1e-6)


class TestCommand:
    @pytest.fixture
    def logs(self, recorded: tuple[ResourceLog, Traffic], tmp_path: Path) -> Path:
        """A folder as a diagnostic setting fills it."""
        for hour in ("h=09", "h=10"):
            folder = tmp_path / "logs" / "y=2026" / "m=11" / "d=01" / hour
            folder.mkdir(parents=True)
            (folder / "PT1H.json").write_text(recorded[0].json_lines(), encoding="utf-8")
        return tmp_path / "logs"

    def test_reports_a_folder(self, logs: Path, recorded: tuple[ResourceLog, Traffic]) -> None:
        found = _run(logs)
        assert found.exit_code == 0, found.output
        assert f"{2 * len(recorded[0].records)} requests" in found.stdout
        assert "Employees: EmployeeId gt ?" in found.stdout
        assert "no PartitionKey is given" in found.stdout

    def test_prints_json(self, logs: Path, recorded: tuple[ResourceLog, Traffic]) -> None:
        found = json.loads(_run(logs, "--json", "--top", 2).stdout)
        assert found["requests"] == 2 * len(recorded[0].records)
        assert len(found["queries"]) == 2
        assert found["skipped"] == {"unreadable": 0, "first": "", "others": 0}

    def test_never_shows_values_and_hashes_keys_on_request(self, logs: Path) -> None:
        assert "Sales" in _run(logs).stdout
        for options in ((), ("--json",)):
            assert "Sales" not in _run(logs, "--hash-keys", *options).stdout

    def test_rejects_what_is_no_log(self, tmp_path: Path) -> None:
        assert _run(tmp_path / "none").exit_code == 2
        assert "no file named" in _run(tmp_path).stderr
        (tmp_path / "notes.log").write_text("a,b\n1,2\n", encoding="utf-8")
        found = _run(tmp_path)
        assert found.exit_code == 2
        assert "notes.log" in found.stderr
        assert "TimeGenerated" in found.stderr

    def test_files_are_read_in_the_order_of_time(self, logs: Path) -> None:
        assert [path.parent.name for path in log_files([logs])] == ["h=09", "h=10"]


def _run(path: Path, *options: object) -> Result:
    return CliRunner().invoke(main, ["traffic", str(path), *map(str, options)])


GOOD = _fields(SCAN) | {"time": "2026-11-01T09:30:00Z"}
LINE = json.dumps(GOOD)
HEADER = "TimeGenerated,OperationName,Uri\n"
ROW = "2026-11-01T09:30:00Z,QueryEntities,https://contoso.table.core.windows.net/Claims()\n"
ODD_LINES = {
    "NaN": json.dumps(GOOD | {"durationMs": float("nan")}),
    "infinite": LINE.replace("2500.0", "1e999"),
    "negative": json.dumps(GOOD | {"durationMs": -1}),
    "year 9999": json.dumps(GOOD | {"time": "9999-12-31T23:59:59.9999999Z"}),
    "no time": json.dumps(GOOD | {"time": None}),
    "a time of another type": json.dumps(GOOD | {"time": {"a": 1}}),
    "an operation of another type": json.dumps(GOOD | {"operationName": ["a"]}),
    "a status that is no number": json.dumps(GOOD | {"statusCode": "OK"}),
    "a body of text": json.dumps(GOOD | {"properties": {"responseBodySize": "x"}}),
    "a URI of a megabyte": json.dumps(GOOD | {"uri": "x" * 1_000_000}),
    "deep": '{"a":' * 50_000 + "1" + "}" * 50_000,
    "a deep array": "[" * 50_000,
    "many digits": '{"a":' + "9" * 5_000 + "}",
    "NUL": "\0\0",
    "invalid UTF-8": LINE.replace("sdk", "\udcff\udcfe"),
    "half a surrogate": '{"time": "\\ud800"}',
    "too long": json.dumps(GOOD | {"a": "x" * (17 << 20)}),
}


def _stored(path: Path, text: str) -> tuple[list[LogRecord], Skipped]:
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    skipped = Skipped()
    return list(read_logs([path], skipped_records=skipped)), skipped


class TestOddRecords:
    """One odd record costs no other record, and is counted with its position."""

    @pytest.mark.parametrize("odd", ODD_LINES)
    def test_is_counted_among_lines(self, odd: str, tmp_path: Path) -> None:
        found, skipped = _stored(tmp_path / "PT1H.json", f"{LINE}\n\n{ODD_LINES[odd]}\n{LINE}\n")
        assert (len(found), skipped) == (2, Skipped(1, f"{tmp_path / 'PT1H.json'}:3"))

    @pytest.mark.parametrize(
        "odd",
        [
            '1,"unclosed,3\n',
            "1,2\n",
            "1,2,3,4\n",
            f"2026-11-01T09:30:00Z,Q,{'x' * 200_000}\n",
            'a,"b"c,d\n',
            "\udcff,b,c\n",
        ],
    )
    def test_is_counted_in_csv(self, odd: str, tmp_path: Path) -> None:
        found, skipped = _stored(tmp_path / "query.csv", HEADER + ROW * 3 + odd + ROW * 5)
        assert len(found) == 8
        assert skipped == Skipped(1, f"{tmp_path / 'query.csv'}:5")

    def test_a_field_over_the_limit_is_counted_in_csv(self, tmp_path: Path) -> None:
        found, skipped = _stored(tmp_path / "query.csv", f"{HEADER}{ROW}1,2,{'x' * (20 << 20)}\n{ROW}")
        assert (len(found), skipped.unreadable) == (2, 1)

    @pytest.mark.parametrize("damage", ["truncated", "flipped", "not gzip"])
    def test_a_damaged_file_gives_what_is_whole(self, damage: str, tmp_path: Path) -> None:
        draw = random.Random(1)
        lines = "".join(f"{json.dumps(GOOD | {'a': draw.random()})}\n" for _ in range(3_000)).encode()
        whole = gzip.compress(lines)
        half = len(whole) // 2
        path = tmp_path / "PT1H.json.gz"
        damaged = {
            "truncated": whole[:half],
            "flipped": whole[:half] + bytes(50) + whole[half + 50 :],
            "not gzip": lines,
        }
        path.write_bytes(damaged[damage])
        skipped = Skipped()
        found = list(read_logs([path], skipped_records=skipped))
        assert skipped.unreadable > 0
        assert skipped.first.startswith(f"{path}:")
        assert len(found) > 1_000 or damage == "not gzip"

    def test_a_file_name_is_not_a_pattern(self, tmp_path: Path) -> None:
        (tmp_path / "l1.json").write_text(f"{LINE}\n" * 5)
        found, _ = _stored(tmp_path / "l[1-9]*?.json", LINE)
        assert len(found) == 1

    # Not getrusage: its peak starts with that of the process that started this one
    @pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
    def test_memory_is_constant(self, tmp_path: Path) -> None:
        """A few hundred kilobytes of gzip that become 400 MB, read in a process of its own."""
        path = tmp_path / "PT1H.json.gz"
        with gzip.open(path, "wb", compresslevel=1) as file:
            file.write(f"{LINE}\n".encode() + b'{"a":"')
            for _ in range(400):
                file.write(b"x" * (1 << 20))
        program = f"""
import re
from pathlib import Path
from tablepatterns.traffic.logs import summarize
summary = summarize([Path({str(path)!r})])
print(summary.overall.requests, summary.skipped.unreadable)
print(int(re.search("VmHWM: *\\s*([0-9]+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        *counts, peak = map(int, done.stdout.split())
        print(f"peak {peak} MB")
        assert (counts, done.stderr) == ([1, 1], "")
        assert peak < 350

    @given(
        st.text("abc'%/()?&$= +;", max_size=30),
        st.sampled_from(
            ["/T(PartitionKey='{}',RowKey='r')", "/T()?$filter={}", "/{}", "/Tables('{}')", "/T?{}&comp=acl"]
        ),
    )
    @settings(max_examples=20, deadline=None)
    def test_a_uri_is_read_as_traffic_reads_it(self, text: str, form: str) -> None:
        uri = f"https://contoso.table.core.windows.net:443{form.format(text)}"
        with TemporaryDirectory() as folder:
            ((record,), _) = _stored(Path(folder, "PT1H.json"), json.dumps(GOOD | {"uri": uri}))
        expected = purpose_of("table", "", "GET", uri, {})
        filter_ = None if expected.resource is None or record.table is None else expected.filter or ""
        assert (record.table, record.partition) == (expected.resource, expected.partition)
        assert record.table is None or expected.partition is not None or record.filter == filter_

    def test_the_missing_extra_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "PT1H.json").write_text(LINE)
        for name in [name for name in sys.modules if name.startswith("tablepatterns.traffic.logs")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "duckdb", None)
        found = _run(tmp_path)
        assert found.exit_code == 1
        assert how_to_install("logs") in " ".join(found.stderr.split())
