"""The example of a queue handler: the same messages by the host of Azure Functions, and by a worker of ours."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import azure.functions as func
import pytest

from tablepatterns import Storage
from tablepatterns.errors import StepFailed
from tablepatterns.jobs import verify

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


def functions_of(function_app: Any) -> dict[str, Any]:
    return {each.get_function_name(): each for each in function_app.app.get_functions()}


def handed_over(function_app: Any, body: bytes, name: str = "onboard") -> None:
    """Do what the host does with a message: it has decoded it, and calls the function."""
    functions_of(function_app)[name].get_user_function()(func.QueueMessage(body=body))


def badges(onboarding: Any) -> list[Any]:
    return [dict(badge) for badge in onboarding.badges.range(Building="North")]


def test_each_function_listens_to_the_queue_that_messages_are_sent_to(function_app: Any, onboarding: Any) -> None:
    triggers = {name: each.get_bindings()[0] for name, each in functions_of(function_app).items()}
    queues = [each.queue_name for each in triggers.values() if each.type == "queueTrigger"]
    assert sorted(queues) == sorted(onboarding.worker.queues)
    assert triggers["maintain"].type == "timerTrigger"
    assert triggers["maintain"].schedule == "0 0 3 * * *"


def test_the_settings_of_the_host_fit_the_messages() -> None:
    host = json.loads((FOLDER / "host.json").read_text())
    assert host["extensions"]["queues"]["messageEncoding"] == "none"
    settings = json.loads((FOLDER / "local.settings.template.json").read_text())
    assert settings["Values"]["STORAGE"] == "azurite"


def test_the_timer_repairs_the_index(
    function_app: Any, onboarding: Any, storage: Storage, caplog: pytest.LogCaptureFixture
) -> None:
    onboarding.transaction.start(JONES)
    onboarding.worker.drain()
    key = {"Name": "Jones", "Department": "Sales", "EmployeeId": 223}
    storage.tables.get_table_client("Employees").delete_entity("name_Jones", "empid_Sales_000223")
    assert onboarding.employees.find(index_of(onboarding), key) is None
    maintain = functions_of(function_app)["maintain"].get_user_function()
    for _ in range(2):
        maintain(None)
    assert [text for text in caplog.messages if "index" in text] == ["1 rows of the index were repaired"]
    assert onboarding.employees.find(index_of(onboarding), key)["EmployeeId"] == 223


def index_of(onboarding: Any) -> Any:
    (index,) = onboarding.employees.derived
    return index


def test_a_function_finishes_the_update_of_the_index(
    function_app: Any, onboarding: Any, storage: Storage, engine: Any
) -> None:
    employees = onboarding.employees
    with engine.faults.refuse_connection(service="table", partition="name_Jones"):
        employees.insert({"Department": "Sales", "EmployeeId": 223, "Name": "Jones"})
    assert not verify(employees, index_of(onboarding)).is_clean
    engine.clock.advance(120)
    (message,) = storage.queues.get_queue_client("employees-intents").peek_messages()
    handed_over(function_app, message.content.encode(), "update_index")
    assert verify(employees, index_of(onboarding)).is_clean


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


def test_the_badge_is_ordered_after_a_crash_between_the_steps(onboarding: Any, engine: Any) -> None:
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
