"""Write the output of each command on the page on the command line."""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime, timedelta, timezone
from pathlib import Path
from unittest import mock
from uuid import uuid4

from typer.testing import CliRunner

from support.resource_logs import ResourceLog
from tablepatterns import (
    EncryptedProperties,
    EntitySet,
    InterPartitionIndex,
    Key,
    LargeProperties,
    LocalKey,
    Storage,
    Worker,
    between,
    connect,
)
from tablepatterns.cli.main import main
from tools import ROOT

PAGE = "docs/command-line.md"
_MODULE = re.compile(r"^```python\n# app.py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.+]+")
_SHOWN_TIME = "2026-08-22T09:30:00+00:00"
_BLOB_ID = re.compile(r"[0-9a-f]{32}(?=\.bin)")
_SHOWN_BLOB_ID = "8d1f0c5e6b2a4f7f9a3c0d2e4b6f8a1c"
_SHOWN_ID = "35d98dd7-60e6-4911-9dd5-8a1f0c2b7d46"
"""A placeholder for the id of the poison message, which differs in each run."""
_KEYS = {"PAYROLL_2025": "25" * 32, "PAYROLL_2026": "26" * 32}
_COMMANDS = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def render() -> str:
    """Return the page with the output of its commands, run in order on a new in-memory account."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    account = f"memory://{uuid4().hex}"
    module = _MODULE.findall(text)[0].replace('connect("env")', f"connect({account!r})")
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(sys, "path", [folder, *sys.path]),
        mock.patch.dict(os.environ, _KEYS),
        connect(account) as storage,
        ExitStack() as cleanup,
    ):
        sys.modules.pop("app", None)
        # Only this module: duckdb, which a command imports, cannot be imported a second time
        cleanup.callback(sys.modules.pop, "app", None)
        Path(folder, "app.py").write_text(module, encoding="utf-8")
        message_id = _fill(storage)
        Path(folder, "logs").mkdir()
        Path(folder, "logs", "PT1H.json").write_text(_resource_log(), encoding="utf-8")
        places = {"logs/": f"{folder}/logs/", "monday": f"{folder}/monday"}
        places |= {"--storage env": f"--storage {account}", _SHOWN_ID: message_id}
        return _COMMANDS.sub(lambda found: f"```console\n{_with_output(found[1], places)}```", text)


def _with_output(block: str, places: Mapping[str, str]) -> str:
    commands = [line.removeprefix("$ tablepatterns ") for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"$ tablepatterns {each}\n{_output(each, places)}" for each in commands)


def _output(command: str, places: Mapping[str, str]) -> str:
    for written, place in places.items():
        command = command.replace(written, place)
    text = CliRunner().invoke(main, shlex.split(command)).stdout
    for shown in ("monday", _SHOWN_ID):
        text = text.replace(places[shown], shown)
    text = _BLOB_ID.sub(_SHOWN_BLOB_ID, _TIME.sub(_SHOWN_TIME, text))
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _fill(storage: Storage) -> str:
    """Store employees (one without its copy), payroll under an old key, and a table of an expired period.

    Returns the id of a poison message.
    """
    by_email = InterPartitionIndex(Key("email_{Department}", "{Email}"), name="by_email")
    key = Key("empid_{Department}", "id_{EmployeeId:06d}")
    employees = EntitySet(storage, "Employees", key, derived=[by_email])
    for number, name in enumerate(("jones", "smith", "lee"), 223):
        employees.insert({"Department": "Sales", "EmployeeId": number, "Email": f"{name}@contoso.com"})
    storage.tables.get_table_client("Employees").delete_entity("email_Sales", "lee@contoso.com")
    intents = storage.queues.get_queue_client(employees.reconciler().queue)
    intents.send_message("not a message of this library")
    worker = Worker(storage, [employees.reconciler()])
    worker.drain()
    old = EncryptedProperties(["Salary"], keys=[LocalKey("PAYROLL_2025", bytes.fromhex(_KEYS["PAYROLL_2025"]))])
    large = LargeProperties(["Contract"], container="contracts")
    payroll = EntitySet(storage, "Payroll", Key("{Department}", "{EmployeeId:06d}"), mappings=[old, large])
    for number in (223, 224):
        payroll.insert({"Department": "Sales", "EmployeeId": number, "Salary": 5000, "Contract": bytes(70_000)})
    payroll.delete(payroll.get(Department="Sales", EmployeeId=224), force=True)
    storage.engine.clock.advance(90_000)  # Only blobs older than a day are marked
    storage.tables.create_table("Logins20260101")
    (poison,) = worker.poisoned(intents.queue_name)
    return str(poison.id)


def _resource_log() -> str:
    """Return the resource log of an application that scans, and that has a hot partition."""
    log = ResourceLog(datetime(2026, 8, 22, 9, 30, tzinfo=timezone.utc), timedelta(seconds=0.7))
    with connect(raw_response_hook=log) as storage:
        employees = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
        for number in range(200):
            employees.insert({"Department": "Sales" if number % 4 else "Marketing", "EmployeeId": number})
        for number in range(1, 600):
            employees.get(Department="Sales", EmployeeId=number % 210)
        table = storage.tables.get_table_client("Employees")
        for age in range(30, 42):
            list(table.query_entities(f"Age gt {age}"))
        for number in range(40):
            list(employees.range(Department="Sales", EmployeeId=between(number, number + 10)))
    for each in log.records:
        is_scan = "Age" in each["uri"]
        each["durationMs"] = 2_900 if is_scan else each["durationMs"]
        each["properties"]["userAgentHeader"] = "azsdk-python-data-tables/12.7.0 Python/3.12.3 (Linux)"
    return log.json_lines()
