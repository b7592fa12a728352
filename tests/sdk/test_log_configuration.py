"""An error is logged once, also where a program configures its logging after the import."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import logging.config
from tablepatterns import EntitySet, Key, connect
from tablepatterns.errors import EntityAlreadyExists

storage = connect()
staff = EntitySet(storage, "Staff", Key("{Department}", "{Number:06d}"))
staff.insert({"Department": "Sales", "Number": 1})
console = {"console": {"class": "logging.StreamHandler", "stream": "ext://sys.stdout"}}
root = {"level": "DEBUG", "handlers": ["console"]}
logging.config.dictConfig({"version": 1, "disable_existing_loggers": False, "handlers": console, "root": root})
try:
    staff.insert({"Department": "Sales", "Number": 1})
except EntityAlreadyExists:
    pass
"""


def test_an_error_is_logged_once_after_the_logging_was_configured_again() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True)
    assert done.stdout.count("Response status: 409") == 1
