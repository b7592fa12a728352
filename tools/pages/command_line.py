"""Write the output of each command below it, on the page on the command line."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from unittest import mock
from uuid import uuid4

from typer.testing import CliRunner

from tablepatterns import EntitySet, InterPartitionIndex, Key, Storage, Worker, connect
from tablepatterns.cli.main import main
from tools import ROOT

PAGE = "docs/command-line.md"
_MODULE = re.compile(r"^```python\n# app.py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_VARYING = {
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}": "35d98dd7-60e6-4911-9dd5-000000000001",
    r"\d{4}-\d\d-\d\dT[\d:.+]+": "2026-08-22T09:30:00+00:00",
}
"""Ids and times, which differ in each run."""
_COMMANDS = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def render() -> str:
    """Return the page with the output of its commands, run in order on a new in-memory account."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    account = f"memory://{uuid4().hex}"
    module = _MODULE.findall(text)[0].replace('connect("env")', f"connect({account!r})")
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(sys, "path", [folder, *sys.path]),
        mock.patch.dict(sys.modules),
        connect(account) as storage,
    ):
        sys.modules.pop("app", None)
        Path(folder, "app.py").write_text(module, encoding="utf-8")
        _fill(storage)
        return _COMMANDS.sub(lambda found: f"```console\n{_with_output(found[1])}```", text)


def _with_output(block: str) -> str:
    commands = [line.removeprefix("$ tablepatterns ") for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"$ tablepatterns {each}\n{_output(each)}" for each in commands)


def _output(command: str) -> str:
    text = CliRunner().invoke(main, command.split()).stdout
    for pattern, shown in _VARYING.items():
        text = re.sub(pattern, shown, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _fill(storage: Storage) -> None:
    """Store employees of whom one has no copy, a message that is not one, and a table of an expired period."""
    by_email = InterPartitionIndex(Key("email_{Department}", "{Email}"), name="by_email")
    key = Key("empid_{Department}", "id_{EmployeeId:06d}")
    employees = EntitySet(storage, "Employees", key, derived=[by_email])
    for number, name in enumerate(("jones", "smith", "lee"), 223):
        employees.insert({"Department": "Sales", "EmployeeId": number, "Email": f"{name}@contoso.com"})
    storage.tables.get_table_client("Employees").delete_entity("email_Sales", "lee@contoso.com")
    storage.queues.get_queue_client(employees.reconciler().queue).send_message("not a message of this library")
    Worker(storage, [employees.reconciler()]).run_once()
    storage.tables.create_table("Logins20260101")
