"""A message's content is in no log, poison reason, repr or error."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from tablepatterns import (
    Archive,
    EntitySet,
    EventualTransaction,
    InterPartitionIndex,
    Key,
    PartitionMove,
    Worker,
    connect,
)
from tablepatterns.errors import BadMessage, TablePatternsError
from tablepatterns.recipe import as_async, finish

KEY = Key("{Department}", "empid_{EmployeeId:06d}")
BY_EMAIL = InterPartitionIndex(Key("email_{Department}", "mail_{Email}"))
SECRET = "zq078-05-1120qz"
NUMBER = 780_511_209_417

secrets = st.sampled_from([SECRET, f"{SECRET}/", NUMBER, [SECRET], {SECRET: SECRET}, f"\n{SECRET}\x1b", 1.5e300])
bodies = st.dictionaries(
    st.sampled_from(["Department", "EmployeeId", "Email", "Ssn", "id", "entities", "entity", "from", "to", SECRET]),
    secrets | st.lists(secrets, max_size=3) | st.fixed_dictionaries({"row": secrets, "traces": secrets}),
)


class Everything(logging.Handler):
    """Keeps all that a record says or carries, with what a formatter makes of its exception."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        shown = logging.Formatter("%(message)s").format(record)
        self.said.append(f"{shown} {vars(record)} {record.exc_info}")


@contextmanager
def everything() -> Iterator[list[str]]:
    heard, logger = Everything(), logging.getLogger("tablepatterns")
    before = logger.level
    logger.addHandler(heard)
    logger.setLevel(logging.DEBUG)
    try:
        yield heard.said
    finally:
        logger.removeHandler(heard)
        logger.setLevel(before)


def staff(storage: Any) -> Any:
    return EntitySet(storage, "Employees", KEY, derived=[BY_EMAIL])


def chained(body: Mapping[str, Any]) -> None:
    try:
        raise LookupError(str(body))
    except LookupError as error:
        raise RuntimeError(f"with {body}") from error


def refused(body: Mapping[str, Any]) -> None:
    raise BadMessage("Ssn", body, "it is no number of social security", "send one")


FAILING: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "int": lambda _: lambda body: [int(value) for value in [*body.values(), SECRET]],
    "lookup": lambda _: lambda body: {}[json.dumps(body)],
    "chained": lambda _: chained,
    "a message that is refused": lambda _: refused,
    "an entity": lambda storage: lambda body: staff(storage).insert({**body, "EmployeeId": SECRET}),
    "an entity that is not there": lambda storage: (
        lambda body: staff(storage).delete({"Department": SECRET, "EmployeeId": 7}, force=True)
    ),
    "a property": lambda storage: (
        lambda body: staff(storage).insert({"Department": SECRET, "EmployeeId": 7, SECRET: body})
    ),
    "the sdk": lambda storage: lambda _: storage.tables.get_table_client("Missing").get_entity(SECRET, SECRET),
    "a value of its own": lambda _: lambda body: (_ for _ in ()).throw(type("Odd", (Exception,), {})(body)),
}


def is_hidden(*said: object) -> bool:
    return not any(secret in str(each) for each in said for secret in (SECRET, str(NUMBER)))


def work_off(storage: Any, worker: Any) -> list[str]:
    """Let a worker try all messages twice, and return what it logged."""
    with everything() as said:
        for _ in range(4):
            worker.drain()
            storage.engine.clock.advance(60)
    return said


def shown_of(worker: Any, queue: str) -> list[str]:
    notes = worker.poisoned(queue)
    assert notes
    return [f"{note.error} {note.reason} {note!r}" for note in notes]


@examples(10)
@given(body=bodies, remember=st.booleans())
@pytest.mark.parametrize("failing", FAILING)
def test_the_error_of_a_step_is_reported_without_the_message(
    failing: str, body: dict[str, Any], remember: bool
) -> None:
    storage = connect()
    steps = {"first": lambda _: None, "second": FAILING[failing](storage)}
    paying = EventualTransaction(storage, "paying", "pay", steps, remember=remember)
    paying.start(body)
    worker = Worker(storage, [paying], max_deliveries=2)
    said = work_off(storage, worker)
    assert len(said) > 1
    assert is_hidden(*said, *shown_of(worker, "paying"))


@examples(40)
@given(body=bodies, which=st.integers(0, 4), version=st.sampled_from([1, 1, 2, SECRET]), cut=st.sampled_from([0, 0, 3]))
def test_no_handler_leaks_its_message(body: dict[str, Any], which: int, version: object, cut: int) -> None:
    storage = connect()
    entities = staff(storage)
    handlers = [
        EventualTransaction(storage, "all", "pay", [lambda body: int(body["Ssn"])]),
        Archive(entities, EntitySet(storage, "Former", KEY), queue="all"),
        PartitionMove(EntitySet(storage, "Employees", KEY), queue="all"),
        entities.reconciler(),
    ]
    worker = Worker(storage, {"all": handlers}, max_deliveries=2)
    kinds = [*(handler.kind for handler in handlers), SECRET]
    text = json.dumps({"v": version, "kind": kinds[which], "body": body})
    text = text[: len(text) - cut]
    finish(as_async(storage).queue("all").send(text))
    assert is_hidden(*work_off(storage, worker))
    assert is_hidden(*(f"{note.error} {note.reason} {note!r}" for note in worker.poisoned("all")))
    if cut or version != 1 or kinds[which] == SECRET:
        with pytest.raises(BadMessage) as raised:
            worker.handle_text(text)
        assert is_hidden(raised.value, repr(raised.value))


@given(value=st.sampled_from([{SECRET}, [object()], {1: {SECRET}}]))
def test_a_body_that_cannot_be_sent_is_rejected_without_showing_it(value: object) -> None:
    storage = connect()
    paying = EventualTransaction(storage, "paying", "pay", [lambda _: None])
    for body in ({"Ssn": value, "Other": SECRET}, {"Ssn": SECRET * 10_000}, {"_done": SECRET}):
        with pytest.raises(TablePatternsError) as raised:
            paying.start(body)
        assert is_hidden(raised.value, repr(raised.value), raised.value.__cause__)


def test_the_reason_says_where_it_failed_and_what_the_service_answered() -> None:
    storage = connect()

    def hire(body: Mapping[str, Any]) -> None:
        int(body["Ssn"])

    def find(_: object) -> None:
        storage.tables.get_table_client("Missing").get_entity("a", "b")

    for step, expected in (
        (hire, "ValueError at test_worker_redaction.py:"),
        (find, "ResourceNotFoundError 404 TableNotFound at "),
    ):
        task = EventualTransaction(storage, step.__name__, "do", [step])
        task.start({"Ssn": SECRET})
        worker = Worker(storage, [task], max_deliveries=1)
        worker.drain()
        (note,) = worker.poisoned(step.__name__)
        assert note.error == "StepFailed"
        with pytest.raises(TablePatternsError, match=expected):
            worker.handle_text('{"v": 1, "kind": "do", "body": {"Ssn": "x"}}')
        assert "test_worker_redaction.py:" in note.reason
