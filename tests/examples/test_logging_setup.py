"""The example of a logging setup: warnings on the console, everything in blobs, without waiting."""

from __future__ import annotations

import logging
import runpy
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tablepatterns import BlobLog, connect
from tablepatterns_engine import Engine

PROGRAM = Path(__file__).parents[2] / "examples" / "logging_setup" / "shop.py"


def test_the_program_reads_the_errors_back() -> None:
    done = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "ERROR shop.orders order 4711 was lost\n"
    assert "WARNING shop.orders order 4711 is waiting for payment" in done.stderr
    assert "has come" not in done.stderr


def test_everything_that_is_logged_is_in_the_blobs_when_the_block_ends(engine: Engine) -> None:
    shop: Any = runpy.run_path(str(PROGRAM))
    log = BlobLog(connect(engine), "logs", "shop")
    start = log.account.now()
    with shop["logging_to"](log):
        for number in range(3):
            logging.getLogger("shop").debug("%d", number)
    assert [entry.message for entry in log.between(start)] == ["0", "1", "2"]
    assert logging.getLogger("shop").handlers == []


def test_no_thread_that_logs_asks_the_service_itself(engine: Engine) -> None:
    shop: Any = runpy.run_path(str(PROGRAM))
    asked, asked_in = threading.Event(), []

    def note(_: Any) -> None:
        asked_in.append(threading.get_ident())
        asked.set()

    log = BlobLog(connect(engine, raw_request_hook=note), "logs", "shop")
    with shop["logging_to"](log):
        logging.getLogger("shop").error("late")
        assert asked.wait(timeout=10)
        assert threading.get_ident() not in asked_in
