"""Drafts of designs from logged requests: the access patterns of an application, with their rates."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from typer.testing import CliRunner

from support.resource_logs import ResourceLog
from tablepatterns import EntitySet, IntraPartitionIndex, Key, QueryClass, between, connect, prefix, prop
from tablepatterns.cli.main import main
from tablepatterns.recipe import as_async, finish
from tablepatterns.review.design.file import read_design
from tablepatterns.review.design.model import Design, Query, Write
from tablepatterns.review.draft.from_table import Draft, draft_of_tables
from tablepatterns.review.draft.from_traffic import logged_calls, with_traffic
from tablepatterns.review.draft.write import design_text
from tablepatterns.traffic.logs import LogRecord, read_logs

NOW = datetime(2026, 11, 1, 9, 30, tzinfo=timezone.utc)
MEMORY = "memory://traffic-drafted"
HOURS = 2
DEPARTMENTS = ("Sales", "Research", "Legal", "Marketing")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of two hours of an application: 120 point reads, 60 by e-mail, 12 ranges, 6 scans, 31 writes."""
    log = ResourceLog(NOW, timedelta(0))
    by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    storage = connect(MEMORY, raw_response_hook=log)
    people = EntitySet(storage, "Staff", Key("{Department}", "empid_{EmployeeId:06d}"), derived=[by_email])
    notes = EntitySet(storage, "Notes", Key("{Topic}", "note_{NoteId:05d}"))
    for number in range(40):
        department = DEPARTMENTS[number % 4]
        people.insert({"Department": department, "EmployeeId": number, "Email": f"{number}@a.com", "Age": number % 7})
    # Only what follows is logged
    log.records.clear()
    step = timedelta(hours=HOURS) / 120
    for number in range(120):
        log.now = NOW + number * step
        employee = number % 40
        department = DEPARTMENTS[employee % 4]
        people.get(Department=department, EmployeeId=employee)
        if number % 2:
            list(people.range(by_email, Department=department, Email=prefix(f"{employee}@")))
        if number % 10 == 0:
            list(people.range(Department=department, EmployeeId=between(3, 30)))
        if number % 20 == 0:
            list(people.query(prop("Age") > 5, allow=QueryClass.TABLE_SCAN))
        if number % 4 == 0:
            notes.insert({"Topic": department, "NoteId": number, "Text": "x"})
    log.now = NOW + timedelta(hours=HOURS)
    people.get(Department="Sales", EmployeeId=0)
    path = tmp_path_factory.mktemp("logs") / "PT1H.json"
    path.write_text(log.json_lines(), encoding="utf-8")
    return path


def drafted(logs: Path, tables: list[str]) -> Design:
    found = Draft("", (), ())
    if tables:
        found = finish(draft_of_tables(as_async(connect(MEMORY)), tables, 50))
    return read_design(design_text(with_traffic(found, logged_calls(read_logs([logs])))))


def queries(design: Design, name: str) -> dict[tuple[tuple[str, str], ...], Query]:
    declared = next(each for each in design.sets if each.name == name)
    return {tuple(sorted(each.known.items())): each for each in declared.queries}


class TestWithTables:
    def test_maps_requests_to_fields_of_keys_and_indexes(self, logs: Path) -> None:
        found = queries(drafted(logs, ["Staff", "Notes"]), "Staff")
        assert set(found) == {
            (("EmployeeId", "="), ("Partition", "=")),
            (("Email", "prefix"), ("Partition", "=")),
            (("EmployeeId", "range"), ("Partition", "=")),
            (("Age", "range"),),
        }

    def test_rates_are_requests_per_second(self, logs: Path) -> None:
        found = queries(drafted(logs, ["Staff", "Notes"]), "Staff")
        seconds = HOURS * 3_600
        rates = {known: each.rate * seconds for known, each in found.items()}
        assert rates[("EmployeeId", "="), ("Partition", "=")] == pytest.approx(121, rel=0.01)
        assert rates[("Email", "prefix"), ("Partition", "=")] == pytest.approx(60, rel=0.01)
        assert rates[("EmployeeId", "range"), ("Partition", "=")] == pytest.approx(12, rel=0.01)
        assert rates[(("Age", "range"),)] == pytest.approx(6, rel=0.01)
        assert all(each.busiest >= each.rate for each in found.values())

    def test_inserts_give_writes_and_growth(self, logs: Path) -> None:
        notes = next(each for each in drafted(logs, ["Staff", "Notes"]).sets if each.name == "Notes")
        (write,) = notes.writes
        assert write.operation == "insert"
        assert write.rate == pytest.approx(31 / 7_200, rel=0.01)
        assert notes.shape.growth == pytest.approx(write.rate * 365.25 * 86_400, rel=0.01)

    def test_the_draft_can_be_reviewed(self, logs: Path, tmp_path: Path) -> None:
        path = tmp_path / "design.toml"
        options = ["--from-table", "Staff", "--from-traffic", str(logs), "--storage", MEMORY, "--output", str(path)]
        assert CliRunner().invoke(main, ["design", *options]).exit_code == 0
        found = CliRunner().invoke(main, ["review", str(path), "--format", "json", "--fail-on", "never"])
        assert found.exit_code == 0, found.output
        measured = json.loads(found.stdout)["access_patterns"]
        assert {each["query_class"] for each in measured} == {"point query", "range query", "table scan", None}


class TestLogsAlone:
    def test_each_table_becomes_a_set(self, logs: Path) -> None:
        found = drafted(logs, [])
        assert {each.name for each in found.sets} == {"Staff", "Notes"}
        staff = next(each for each in found.sets if each.name == "Staff")
        assert staff.shape.fields["Age"].type == "int64"
        assert {tuple(sorted(each.known)) for each in staff.queries} >= {("Partition", "Row"), ("Age",)}

    def test_shows_no_values(self, logs: Path) -> None:
        text = design_text(with_traffic(Draft("", (), ()), logged_calls(read_logs([logs]))))
        assert "@a.com" not in text
        assert "Sales" not in text

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Age gt 37 or Name eq 'O''Neil'", "Age gt 0 or Name eq 'x'"),
            ("Born ne datetime'1980-01-02T00:00:00Z'", "Born ne datetime'2014-08-22T00:00:00Z'"),
            ("Score ne 3.75 and Id ne 12345678901L", "Score ne 0.5 and Id ne 0L"),
        ],
    )
    def test_filters_keep_their_form_without_values(self, text: str, expected: str) -> None:
        read = LogRecord(0.0, "QueryEntities", "Claims", None, text, 200, "Success", 1, 1, 9, 0, "sdk")
        found = read_design(design_text(with_traffic(Draft("", (), ()), logged_calls([read]))))
        assert [each.filter for each in found.sets[0].queries] == [expected]

    def test_says_what_logs_do_not(self, logs: Path) -> None:
        batch = LogRecord(0.0, "Transaction", None, None, None, 202, "Success", 0.01, 0.01, 700, 0, "sdk")
        records = [batch, *read_logs([logs])]
        text = design_text(with_traffic(Draft("", (), ()), logged_calls(records)))
        assert "entity group transactions" in text
        assert "set max_staleness" in text

    def test_the_pages_of_a_query_are_one_call(self) -> None:
        uri = "https://a.table.core.windows.net/Claims()?$filter=Amount%20gt%20100"
        page = LogRecord(
            0.0, "QueryEntities", "Claims", None, "Amount gt 100", 200, "Success", 1, 1, 0, 900, "sdk", uri
        )
        following = page._replace(uri=f"{uri}&NextPartitionKey=1!8!YQ--&NextRowKey=1!8!YQ--", moment=1.0)
        found = logged_calls([page, following, following, page._replace(moment=2.0)])
        (calls,) = found.calls.values()
        assert (calls.count, calls.bytes_out) == (2, 3_600)

    def test_writes_without_an_etag_overwrite(self) -> None:
        write = LogRecord(0.0, "InsertOrReplaceEntity", "Claims", "a", None, 204, "Success", 1, 1, 9, 0, "sdk")
        found = read_design(design_text(with_traffic(Draft("", (), ()), logged_calls([write]))))
        assert found.sets[0].writes == (Write("update Claims", "update", rate=1.0, overwrite=True),)

    def test_throttled_requests_are_not_calls(self) -> None:
        read = LogRecord(0.0, "QueryEntity", "Claims", "a", None, 200, "Success", 1, 1, 9, 0, "sdk")
        found = logged_calls([read, read._replace(status=503, status_text="ServerBusy")])
        assert [each.count for each in found.calls.values()] == [1]
