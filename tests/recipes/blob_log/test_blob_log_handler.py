"""The handler for `logging`: records of loggers are in the blob log, except those that the handler itself causes."""

from __future__ import annotations

import logging
import logging.handlers
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest

import tablepatterns.aio
from tablepatterns import BlobLog, BlobLogHandler, LogEntry, connect
from tablepatterns.errors import BadDesign
from tablepatterns_engine.account import Engine


@pytest.fixture
def log(engine: Engine) -> Any:
    return BlobLog(connect(engine), "logs", "shop")


@pytest.fixture
def start(log: Any) -> datetime:
    moment: datetime = log.account.now()
    return moment


@pytest.fixture
def handler(log: Any, start: datetime) -> Iterator[BlobLogHandler]:
    handler = BlobLogHandler(log)
    yield handler
    handler.close()


@pytest.fixture
def logger(handler: BlobLogHandler) -> Iterator[logging.Logger]:
    """A logger whose records, and those below it, go to the handler and nowhere else."""
    logger = logging.getLogger(f"shop{uuid4().hex}")
    logger.propagate = False
    logger.setLevel(logging.DEBUG)
    logger.addHandler(handler)
    yield logger
    logger.removeHandler(handler)


@pytest.fixture
def root(handler: BlobLogHandler) -> Iterator[logging.Logger]:
    """The root of all loggers, which hands everything to the handler."""
    root, level = logging.getLogger(), logging.getLogger().level
    root.setLevel(logging.DEBUG)
    root.addHandler(handler)
    yield root
    root.removeHandler(handler)
    root.setLevel(level)


def entries(log: Any, start: datetime) -> list[LogEntry]:
    log.flush()
    return list(log.between(start))


def test_records_are_entries(log: Any, start: datetime, logger: logging.Logger) -> None:
    logger.getChild("orders").warning("order %d is late", 4711)
    logger.debug("multi\nline")
    found = [(entry.level, entry.message, entry.fields) for entry in entries(log, start)]
    assert found == [
        ("WARNING", "order 4711 is late", {"logger": f"{logger.name}.orders"}),
        ("DEBUG", "multi\nline", {"logger": logger.name}),
    ]


def test_the_instant_is_that_of_the_account(engine: Engine, log: Any, start: datetime, logger: logging.Logger) -> None:
    engine.clock.advance(7200)
    moment = log.account.now()
    logger.warning("late")
    (entry,) = entries(log, start)
    assert entry.at >= moment


def test_the_formatter_is_asked(log: Any, start: datetime, handler: Any, logger: logging.Logger) -> None:
    handler.setFormatter(logging.Formatter("%(levelname)s %(funcName)s: %(message)s"))
    logger.warning("hello")
    (entry,) = entries(log, start)
    assert entry.message == "WARNING test_the_formatter_is_asked: hello"


def test_a_traceback_is_a_part_of_the_message(log: Any, start: datetime, logger: logging.Logger) -> None:
    try:
        raise KeyError("Sales")
    except KeyError:
        logger.exception("no such department")
    (entry,) = entries(log, start)
    first, *_, last = entry.message.splitlines()
    assert (first, last) == ("no such department", "KeyError: 'Sales'")


def test_levels_are_respected(log: Any, start: datetime, handler: Any, logger: logging.Logger) -> None:
    handler.setLevel("WARNING")
    logger.info("no")
    logger.log(35, "a level without a name")
    assert [(entry.level, entry.message) for entry in entries(log, start)] == [("Level 35", "a level without a name")]


@pytest.mark.parametrize("name", ["", "HINWEIS für alle", "x" * 33])
def test_a_level_whose_name_no_log_takes_goes_by_its_number(
    log: Any, start: datetime, logger: logging.Logger, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(logging, "getLevelName", {35: name}.get)
    logger.log(35, "kept")
    assert [(entry.level, entry.message) for entry in entries(log, start)] == [("Level 35", "kept")]


def test_an_error_is_written_at_once_and_all_that_waits(engine: Engine, log: Any, start: datetime, logger: Any) -> None:
    logger.info("1")
    assert engine.ledger.totals.requests == 0
    logger.error("2")
    assert [entry.message for entry in log.between(start)] == ["1", "2"]


def test_the_level_of_what_is_written_at_once_can_be_chosen(log: Any, start: datetime, logger: logging.Logger) -> None:
    logger.handlers[0].flush_level = logging.CRITICAL  # type: ignore[attr-defined]
    logger.error("1")
    assert list(log.between(start)) == []
    logger.critical("2")
    assert [entry.message for entry in log.between(start)] == ["1", "2"]


# ------------------------------------------------------------------ never its own doing


def test_what_the_sdk_reports_is_left_out(log: Any, start: datetime, root: logging.Logger) -> None:
    logging.getLogger("azure").warning("no")
    logging.getLogger("azure.core.pipeline").warning("no")
    logging.getLogger("azurestack").error("yes")
    log.flush()
    assert [entry.message for entry in entries(log, start)] == ["yes"]


def test_what_is_logged_while_the_handler_writes_is_left_out(
    log: Any, start: datetime, handler: Any, root: logging.Logger
) -> None:
    class Chatty(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            logging.getLogger("urllib3.connectionpool").error("POST")
            return super().format(record)

    handler.setFormatter(Chatty())
    root.error("1")
    root.error("2")
    assert [entry.message for entry in entries(log, start)] == ["1", "2"]


def test_everything_at_debug_makes_no_more_of_itself(
    log: Any, start: datetime, handler: Any, root: logging.Logger
) -> None:
    for number in range(3):
        root.error("%d", number)
    handler.flush()
    assert [entry.message for entry in entries(log, start)] == ["0", "1", "2"]


# ------------------------------------------------------------------ threads, ends, failures


def test_threads_share_a_handler(log: Any, start: datetime, logger: logging.Logger) -> None:
    def work(part: int) -> None:
        for number in range(20):
            logger.log(logging.ERROR if number % 7 == 0 else logging.INFO, "%d", part * 20 + number)

    threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(entry.message) for entry in entries(log, start)) == list(range(80))


def test_it_works_behind_a_queue(log: Any, start: datetime, handler: Any) -> None:
    waiting: Any = queue.SimpleQueue()
    listener = logging.handlers.QueueListener(waiting, handler)
    front = logging.handlers.QueueHandler(waiting)
    listener.start()
    front.handle(logging.makeLogRecord({"name": "shop", "levelname": "INFO", "levelno": 20, "msg": "1"}))
    listener.stop()
    assert [entry.message for entry in entries(log, start)] == ["1"]


@pytest.mark.guide("G-264")
def test_closing_writes_what_waits(log: Any, start: datetime, handler: Any, logger: logging.Logger) -> None:
    logger.info("1")
    handler.close()
    assert [entry.message for entry in log.between(start)] == ["1"]


AT_EXIT = """
import atexit, logging
from tablepatterns import connect
from tablepatterns.recipes.blob_log.blob_log import BlobLog, BlobLogHandler

log = BlobLog(connect(), "logs", "shop")
start = log.account.now()
# Runs after `logging.shutdown`, which was registered later
atexit._clear()
atexit.register(lambda: print([entry.message for entry in log.between(start)]))
atexit.register(logging.shutdown)
logging.getLogger().addHandler(BlobLogHandler(log))
logging.getLogger("shop").warning("the last words")
"""


@pytest.mark.guide("G-264")
def test_at_exit_what_waits_is_written() -> None:
    done = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("['the last words']\n", "")


def test_what_goes_wrong_is_reported_and_never_raised(
    engine: Engine, log: Any, start: datetime, handler: Any, logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    with engine.faults.refuse_connection(service="blob"):
        logger.error("1")
        handler.flush()
        output = capsys.readouterr().err
    assert output.count("--- Logging error ---") == 2
    assert "ServiceRequestError" in output
    handler.flush()
    assert [entry.message for entry in log.between(start)] == ["1"]


def test_a_record_that_cannot_be_formatted_is_reported(
    log: Any, start: datetime, handler: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for values in ("no number", 2):
        handler.handle(logging.makeLogRecord({"name": "shop", "levelname": "INFO", "msg": "%d", "args": (values,)}))
    assert "TypeError" in capsys.readouterr().err
    assert [entry.message for entry in entries(log, start)] == ["2"]


async def test_a_log_that_is_awaited_is_rejected() -> None:
    async with tablepatterns.aio.connect() as storage:
        log: Any = BlobLog(storage, "logs", "shop")
        with pytest.raises(BadDesign, match="sync account"):
            BlobLogHandler(log)


def test_records_reach_azurite(azurite: str) -> None:
    with connect(azurite) as storage:
        log = BlobLog(storage, f"logs{uuid4().hex}", "shop")
        start, handler = storage.now(), BlobLogHandler(log)
        handler.handle(logging.makeLogRecord({"name": "shop", "levelname": "ERROR", "levelno": 40, "msg": "1"}))
        assert [entry.message for entry in log.between(start)] == ["1"]
        handler.close()
        storage.blobs.delete_container(log.container.name)
