"""A blob log in a design: as a file and a program declare it, and in every part of a review."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from math import isfinite
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.examples import examples
from tablepatterns import BlobLog, connect
from tablepatterns_review import (
    BadDesignFile,
    DeclaredLog,
    Design,
    Finding,
    LogRead,
    LogWrite,
    Reviewed,
    Severity,
    declare_log,
    read_design,
    review,
)
from tablepatterns_review.design.checks import faults
from tablepatterns_review.kinds.log import line_bytes
from tablepatterns_review.report.comparison import comparison

FILE = """
name = "Requests"

[[blob_log]]
name = "Requests"
container = "request-log"
service = "shop"
size = 220
retention_days = 30
flush_seconds = 20

[[blob_log.write]]
name = "log a request"
rate = 400
peak = 1_500
writers = 24

[[blob_log.read]]
name = "ten minutes"
seconds = 600
rate = 0.01
"""


def from_file() -> Design:
    return read_design(FILE)


def detailed() -> Reviewed:
    return review(from_file(), detailed=True)


def test_a_file_and_a_program_declare_the_same() -> None:
    log = BlobLog(connect(), "request-log", "shop", flush_age=timedelta(seconds=20))
    declared = declare_log(
        log,
        name="Requests",
        size=220,
        retention_days=30,
        writes=[LogWrite("log a request", 400, 1_500, 24)],
        reads=[LogRead("ten minutes", 600, 0.01)],
    )
    assert from_file() == Design("Requests", (), logs=(declared,))


def test_the_service_is_by_default_the_container() -> None:
    assert read_design(FILE.replace('service = "shop"\n', "")).logs[0].prefix == "request-log"


ERRORS = {
    'container = "Request_Log"': (4, "'Request_Log'"),
    'service = "shop/web"': (4, "'shop/web'"),
    "size = -1": (8, "size"),
    "retention_days = 0": (9, "retention_days"),
    "flush_seconds = inf": (10, "flush_seconds"),
    "flush_second = 5": (10, "flush_seconds"),
    "blob_blocks = 50_001": (10, "50,000"),
    'writers = "many"': (16, "writers"),
    "seconds = -600": (20, "seconds"),
}


@pytest.mark.parametrize("line", ERRORS)
def test_an_error_names_file_line_and_key(line: str) -> None:
    key = line.split(" ")[0]
    number, said = ERRORS[line]
    lines = FILE.splitlines()
    at = next((at for at, each in enumerate(lines) if each.startswith(f"{key} ")), 9)
    lines[at] = line
    with pytest.raises(BadDesignFile) as error:
        read_design("\n".join(lines))
    ((where, says),) = error.value.problems
    assert (where, said in says) == (number, True), says


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "Requests", "container": "other"}, "this name"),
        ({"name": "Other", "container": "request-log"}, "entries mix"),
        ({"name": "Other", "reads": (LogRead("a", 1), LogRead("a", 2))}, "another access pattern of the log"),
        ({"name": "Other", "writes": (LogWrite("a", 2, 1),)}, "below rate"),
        ({"name": "Other", "service": "b", "flush_count": 0}, "flush_count = 0"),
    ],
)
def test_faults_of_a_program(change: dict[str, object], said: str) -> None:
    log = from_file().logs[0]
    given: dict[str, object] = {"container": "other", **change}
    other = replace(log, **given)  # type: ignore[arg-type]
    (fault,) = faults(Design("Logs", (), logs=(log, other)))
    assert said in fault.says
    assert fault.path[:2] == ("blob_log", 1)


def test_a_file_without_sets_and_logs_is_rejected() -> None:
    with pytest.raises(BadDesignFile, match="there is no set"):
        read_design('name = "Empty"\n')


def test_the_review_of_a_log() -> None:
    found = review(from_file())
    assert not found.findings
    assert not found.heats
    read, write, expired = found.measured
    assert (read.kind, write.kind, expired.kind) == ("query", "insert", "delete")
    assert "334 entries each 20 s" in write.how
    assert [each.examined + each.written for each in found.measured] == [0, 0, 0]
    assert expired.blob_deletes == 24 * 24
    bill = {(line.subject, line.unit): line.amount for line in found.bill.lines}
    assert bill["Requests: log a request", "blob writes"] == pytest.approx(
        write.blob_writes * 400 * 30.44 * 86_400 / 10_000 * 0.05
    )
    stored = 400 * 86_400 * 30 * line_bytes(from_file().logs[0]) / 2**30
    assert bill["Requests", "GB in blobs"] == pytest.approx(stored * 0.0184)
    assert found.bill.then == pytest.approx(found.bill.total)
    assert found.account.peak > 0


def test_a_log_without_retention_grows_with_its_rate() -> None:
    log = replace(from_file().logs[0], retention_days=None, count=1_000)
    found = review(Design("Requests", (), years=2, logs=(log,)))
    now, then = found.bill.total, found.bill.then
    more = 400 * 2 * 365.25 * 86_400 * line_bytes(log) / 2**30 * 0.0184
    assert then - now == pytest.approx(more)


def test_a_crash_loses_the_buffer() -> None:
    promised = {each.access.name: each for each in review(from_file()).promises}
    assert "up to 334 entries" in promised["log a request"].crash
    through = replace(from_file().logs[0], write_through=True)
    safe = {each.access.name: each for each in review(Design("Requests", (), logs=(through,))).promises}
    assert safe["log a request"].crash == "no partial change"


def test_each_access_pattern_is_shown_request_by_request() -> None:
    simulation = detailed().simulation
    assert simulation is not None
    assert [(each.kind, each.where) for each in simulation.places] == [("log", "request-log")]
    steps = {walk.access.name: walk.steps for walk in simulation.walkthroughs}
    created, appended = steps["log a request"]
    assert created.request.startswith("PutBlob request-log/shop/2014/")
    assert appended.request.startswith("AppendBlock request-log/shop/2014/")
    assert created.crash is not None
    assert "3 entries of the buffer are lost" in created.crash
    assert [each.request.split()[0] for each in steps["ten minutes"]] == ["ListBlobs", "GetBlob"]
    _, first, last = steps["retention of 30 days"]
    assert first.crash is not None
    assert "the next drop_before" in first.crash
    assert last.crash is None


def test_two_designs_with_logs_are_compared_by_access_pattern() -> None:
    slower = replace(from_file().logs[0], flush_seconds=60.0)
    patterns, *_ = comparison(review(from_file()), review(Design("Slower", (), logs=(slower,))))
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in patterns.rows}
    assert "→" in rows["Requests: log a request"][1]
    assert "→" not in rows["Requests: retention of 30 days"][1]


def test_an_entry_that_is_too_large_is_a_finding() -> None:
    found = review(Design("Requests", (), logs=(replace(from_file().logs[0], size=5_000_000),)), detailed=True)
    assert any(each.subject.startswith("Requests") and each.severity == 3 for each in found.findings)


def findings(**options: object) -> dict[str, Finding]:
    log = replace(from_file().logs[0], **options)  # type: ignore[arg-type]
    return {each.rule: each for each in review(Design("Requests", (), logs=(log,))).findings}


def test_small_flushes_are_found_by_what_they_cost_more() -> None:
    assert not findings()
    few = findings(flush_count=50)["small-flushes"]
    assert few.severity is Severity.WARNING
    assert few.change == "flush entries after 60 s, or when there are 1,000; a crash loses them"
    assert "50 entries each 3 s from each of 24 writers" in few.says
    rare = findings(flush_count=50, writes=(LogWrite("log a request", 20, writers=24),))["small-flushes"]
    assert rare.severity is Severity.NOTE
    assert rare.change is not None
    assert rare.change.startswith("flush entries after 60 s")
    assert not findings(flush_count=1, writes=(LogWrite("log a request", 0.01),))


def test_a_buffer_is_advised_instead_of_writing_through() -> None:
    found = findings(write_through=True)["small-flushes"]
    assert found.change == "keep entries in the buffer for up to 20 s; a crash loses them"
    assert found.before is not None
    assert found.after is not None
    assert found.before.cost_a_month > 50 * found.after.cost_a_month


def test_reads_that_open_many_blobs_for_little_are_found() -> None:
    short = LogRead("a minute", 60, 0.1)
    many = replace(from_file().logs[0].writes[0], writers=200)
    found = findings(reads=(short,), writes=(many,), flush_seconds=600.0)["many-log-blobs"]
    assert found.severity is Severity.NOTE
    assert not findings(reads=(replace(short, rate=1e-5),), writes=(many,), flush_seconds=600.0)
    # A whole day is read for its entries
    assert not findings(reads=(LogRead("a day", 86_400, 0.001),), flush_seconds=60.0)


def test_a_log_that_grows_fast_without_retention_is_found() -> None:
    assert findings(retention_days=None)["unbounded-growth"].severity is Severity.WARNING
    slow = (LogWrite("log a request", 5),)
    assert findings(retention_days=None, writes=slow, flush_seconds=60.0)["unbounded-growth"].severity is Severity.NOTE
    assert not findings(retention_days=None, writes=(LogWrite("log a request", 1),), flush_seconds=60.0)


sizes = st.sampled_from([0, 1, 200, 70_000, 3_000_000])
rates = st.sampled_from([0.0, 1e-6, 0.1, 5.0, 1_000.0, 1e6])


@st.composite
def logs(draw: st.DrawFn) -> DeclaredLog:
    return DeclaredLog(
        name="Log",
        container="log",
        size=draw(sizes),
        count=draw(st.sampled_from([None, 0, 10**12])),
        retention_days=draw(st.sampled_from([None, 0.5, 30, 4_000])),
        write_through=draw(st.booleans()),
        flush_count=draw(st.sampled_from([1, 1_000, 10**9])),
        flush_bytes=draw(st.sampled_from([1, 10**6, 10**9])),
        flush_seconds=draw(st.sampled_from([0.0, 10.0, 1e6])),
        ahead_seconds=draw(st.sampled_from([0.0, 60.0, 1e6])),
        blob_bytes=draw(st.sampled_from([1, 10**6, 10**9])),
        blob_blocks=draw(st.sampled_from([1, 50_000])),
        writes=tuple(
            LogWrite(f"write {number}", draw(rates), writers=draw(st.sampled_from([1, 7, 1_000])))
            for number in range(draw(st.integers(0, 2)))
        ),
        reads=tuple(
            LogRead(f"read {number}", draw(st.sampled_from([0.0, 600.0, 86_400.0, 1e7])), draw(rates))
            for number in range(draw(st.integers(0, 2)))
        ),
    )


# Its second blob is created in one hour out of three
SELDOM: Final = DeclaredLog(
    name="Log",
    container="log",
    size=0,
    flush_count=1_000,
    flush_seconds=1e6,
    ahead_seconds=0.0,
    blob_blocks=1,
    writes=(LogWrite("write", 0.1),),
)


@examples(30)
@given(logs())
@example(SELDOM)
def test_any_log_is_reviewed(log: DeclaredLog) -> None:
    found = review(Design("Any", (), logs=(log,)))
    for each in found.measured:
        figures = (each.requests, each.transactions, each.bytes_in, each.bytes_out, each.blob_reads, each.blob_writes)
        assert all(isfinite(figure) and figure >= -1e-9 for figure in figures), each
    assert isfinite(found.bill.total)
    assert found.bill.then >= 0
