"""The programs of the tutorials: on the engine and on Azurite, and a worker as in its container, without Docker."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
import yaml

from support.example_programs import EXAMPLES, example
from support.page_programs import cleaned
from tablepatterns import Storage, connect
from tablepatterns.connection import resolve
from tablepatterns_engine import Engine
from tablepatterns_engine.serving import serving

DESK = example("help_desk", "help_desk")
FLEET = example("iot_fleet", "fleet")
FOLDER = EXAMPLES / "help_desk"
DOCKERFILE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: Any = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
COMMAND = json.loads(re.findall(r"^CMD (.*)$", DOCKERFILE, re.MULTILINE)[0])
PRINTED = {
    "help_desk": [
        "kim has [1, 2]",
        "Report(received=1, handled=1, failed=0, poisoned=0, lost=0, released=0)",
        "kim has [2]",
        "1 the printer smokes 200000 bytes",
        "['closed: it was a feature', 'opened: the printer smokes']",
    ],
    "fleet": [
        "2000 devices",
        "334 devices of oslo have the firmware 2.0",
        "[78.25, 78.5, 78.75, 79.0, 79.25, 79.5]",
        "critical 95.75",
        "critical 95.5",
    ],
}


@pytest.fixture(params=["memory", pytest.param("azurite", marks=pytest.mark.azurite)])
def account(request: pytest.FixtureRequest, engine: Engine) -> Iterator[Storage]:
    target = engine if request.param == "memory" else request.getfixturevalue("azurite")
    with connect(target) as storage, cleaned(storage):
        yield storage


def test_the_help_desk_runs(account: Storage, capsys: pytest.CaptureFixture[str]) -> None:
    DESK.demo(DESK.HelpDesk(account))
    assert capsys.readouterr().out.splitlines() == PRINTED["help_desk"]


def test_the_fleet_runs(account: Storage, capsys: pytest.CaptureFixture[str]) -> None:
    FLEET.demo(FLEET.Fleet(account), datetime.now(timezone.utc))
    assert capsys.readouterr().out.splitlines() == PRINTED["fleet"]


def test_heartbeats_of_a_minute_are_read_in_order_of_time(engine: Engine) -> None:
    with connect(engine) as storage:
        fleet = FLEET.Fleet(storage)
        for device in (3, 1, 2):
            fleet.beat(device, FLEET.NOON + timedelta(seconds=device))
        found = fleet.seen.take(9, day=FLEET.NOON.date())
        assert [each["device_id"] for each in found] == [1, 2, 3]


def test_the_container_has_what_its_command_needs() -> None:
    copied = re.findall(r"^COPY (.*) \S+$", DOCKERFILE, re.MULTILINE)
    for path in " ".join(copied).split():
        assert (EXAMPLES.parent / path).exists(), path
    assert COMMAND == ["tablepatterns", "worker", "help_desk:worker"]
    assert "ENV STORAGE=env" in DOCKERFILE


def test_compose_starts_azurite_and_then_the_worker() -> None:
    azurite, worker = COMPOSE["services"]["azurite"], COMPOSE["services"]["worker"]
    assert worker["depends_on"] == {"azurite": {"condition": "service_healthy"}}
    assert (FOLDER / worker["build"]["context"]).resolve() == EXAMPLES.parent
    assert EXAMPLES.parent / worker["build"]["dockerfile"] == FOLDER / "Dockerfile"
    urls = resolve(worker["environment"]["AZURE_STORAGE_CONNECTION_STRING"], None).urls
    ports = {
        service: f"http://azurite:{port}/" for service, port in (("blob", 10000), ("queue", 10001), ("table", 10002))
    }
    assert all(urls[service].startswith(url) for service, url in ports.items())
    own: Any = yaml.safe_load((EXAMPLES.parent / "docker-compose.yml").read_text(encoding="utf-8"))
    assert {**azurite, "command": ""} == {**own["services"]["azurite"], "command": ""}


def worker_on(connection_string: str) -> subprocess.Popen[str]:
    """Start the command of the container, with its variables."""
    environment = os.environ | {"STORAGE": "env", "AZURE_STORAGE_CONNECTION_STRING": connection_string}
    command = [sys.executable, "-m", *COMMAND]
    return subprocess.Popen(command, cwd=FOLDER, env=environment, stderr=subprocess.PIPE, text=True)


def closes_a_ticket(connection_string: str) -> None:
    with connect(connection_string) as storage, cleaned(storage):
        desk = DESK.HelpDesk(storage)
        ticket = desk.open(DESK.Ticket("contoso", 1, "no network", "kim", storage.now()))
        desk.request_close(ticket, "closed")
        with worker_on(connection_string) as worker:
            end = time.monotonic() + 60
            while desk.of_customer("contoso", DESK.Status.OPEN) and worker.poll() is None and time.monotonic() < end:
                time.sleep(0.1)
            worker.send_signal(signal.SIGTERM)
            _, errors = worker.communicate(timeout=30)
        assert worker.returncode == 0, errors
        assert [each.number for each in desk.of_customer("contoso", DESK.Status.CLOSED)] == [1]
        assert [each.text for each in desk.events.latest(1, customer="contoso", number=1)] == ["closed"]


def test_the_worker_runs_by_the_command_of_its_container() -> None:
    with serving(Engine()) as connection_string:
        closes_a_ticket(connection_string)


@pytest.mark.azurite
def test_it_does_so_on_azurite(azurite: str) -> None:
    closes_a_ticket(azurite)
