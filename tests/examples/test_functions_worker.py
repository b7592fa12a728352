"""The example of a queue handler: the same messages by the host of Azure Functions, and by a worker of ours."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import azure.functions as func
import pytest

from tablepatterns import Storage
from tablepatterns.errors import StepFailed

FOLDER = Path(__file__).parents[2] / "examples" / "functions_worker"
JONES = {"Department": "Sales", "EmployeeId": 223, "Name": "Jones", "Building": "North"}


@pytest.fixture
def function_app(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(FOLDER)
    import function_app

    yield function_app
    for name in ("function_app", "onboarding"):
        del sys.modules[name]


@pytest.fixture
def onboarding(function_app: Any, storage: Storage, monkeypatch: pytest.MonkeyPatch) -> Any:
    found = function_app.Onboarding(storage)
    monkeypatch.setattr(function_app, "onboarding", lambda: found)
    return found


@pytest.fixture
def storage(engine: Any) -> Iterator[Storage]:
    from tablepatterns import connect

    with connect(engine) as storage:
        yield storage


def handed_over(function_app: Any, body: bytes) -> None:
    """Do what the host does with a message: it has decoded it, and calls the function."""
    (function,) = function_app.app.get_functions()
    function.get_user_function()(func.QueueMessage(body=body))


def badges(onboarding: Any) -> list[Any]:
    return [dict(badge) for badge in onboarding.badges.range(Building="North")]


def test_the_function_listens_to_the_queue_that_messages_are_sent_to(function_app: Any) -> None:
    (function,) = function_app.app.get_functions()
    (trigger,) = function.get_bindings()
    assert (trigger.type, trigger.queue_name) == ("queueTrigger", "onboarding")


def test_the_host_and_the_worker_do_the_same_for_the_same_message(
    function_app: Any, onboarding: Any, storage: Storage
) -> None:
    onboarding.transaction.start(JONES)
    (message,) = storage.queues.get_queue_client("onboarding").peek_messages()
    handed_over(function_app, message.content.encode())
    by_host = badges(onboarding)
    assert onboarding.worker.drain().handled == 1
    assert badges(onboarding) == by_host == [{"Building": "North", "EmployeeId": 223, "Name": "Jones"}]


def test_what_fails_is_raised_so_that_the_host_tries_again(function_app: Any, onboarding: Any) -> None:
    body = b'{"v":1,"kind":"onboard","body":{"Department":"Sales","EmployeeId":"x","Name":"J","Building":"N"}}'
    with pytest.raises(StepFailed, match="the step 'register' failed"):
        handed_over(function_app, body)
    assert badges(onboarding) == []


def test_whoever_dies_between_the_steps_the_badge_is_ordered(onboarding: Any, engine: Any) -> None:
    onboarding.transaction.start(JONES)
    with engine.faults.refuse_connection(service="table", table="Badges"):
        assert onboarding.worker.run_once().failed == 1
    assert badges(onboarding) == []
    engine.clock.advance(60)
    assert onboarding.worker.drain().handled == 1
    assert len(badges(onboarding)) == 1


def test_the_program_runs_by_its_command() -> None:
    command = [sys.executable, str(FOLDER / "onboarding.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[0].startswith("Report(received=1, handled=1, failed=0")
    assert done.stdout.splitlines()[1] == "badges to print: ['Jones']"
