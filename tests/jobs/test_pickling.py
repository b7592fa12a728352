"""Sets and patterns are pickled by their names in a module: other processes get their own, and a pickle has no key."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.maintained_set import person
from support.worker_sets import served
from tablepatterns import EntitySet, Key, connect
from tablepatterns.errors import BadInput
from tablepatterns_engine.account import Engine

MODULE = """
from tablepatterns import (
    EncryptedProperties, EntitySet, InterPartitionIndex, IntraPartitionIndex, Key, LocalKey, PartitionSpread, connect
)
from tablepatterns_transfer import TableTransfer

storage = connect("env")
key = Key("empid_{Department}", "id_{EmployeeId:06d}")
near = IntraPartitionIndex(Key("empid_{Department}", "email_{Email}"), name="near")
secret = EncryptedProperties(["LastName"], keys=[LocalKey("new", bytes(range(32)))])
employees = EntitySet(storage, "Staff", key, derived=[near], mappings=[secret])
spread = PartitionSpread(storage, "Log", Key("{Hour}", "{Id:06d}"))
transfer = TableTransfer(storage, employees)


def read(entities, number):
    found = entities.find(near, Department="Sales", Email=f"{number}@contoso.com")
    return found["LastName"], entities is employees
"""


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[Any, Engine]]:
    """A module that declares sets, which each process imports."""
    (tmp_path / "pickled_app.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    with served(monkeypatch) as engine:
        yield __import__("pickled_app"), engine
    del sys.modules["pickled_app"]


def test_a_set_is_used_by_another_process(app: tuple[Any, Engine]) -> None:
    module, _ = app
    module.employees.insert(person(7, LastName="Secret"))
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        assert executor.submit(module.read, module.employees, 7).result() == ("Secret", True)


@pytest.mark.parametrize("name", ["employees", "spread", "transfer"])
def test_a_pickle_is_a_name(app: tuple[Any, Engine], name: str) -> None:
    module, engine = app
    pickled = pickle.dumps(getattr(module, name))
    assert len(pickled) < 120
    assert engine.account_key.encode() not in pickled
    assert bytes(range(32)) not in pickled
    assert pickle.loads(pickled) is getattr(module, name)  # noqa: S301 - our own


def test_what_no_module_has_is_rejected(app: tuple[Any, Engine]) -> None:
    module, _ = app
    unnamed = EntitySet(connect(), "Staff", Key("{Department}", "{EmployeeId}"))
    for pattern in (unnamed, copy.copy(module.employees)):
        with pytest.raises(BadInput, match=r"no module has it; declare it in a module, or send a function"):
            pickle.dumps(pattern)
    pickled = pickle.dumps(module.employees)
    del module.employees
    with pytest.raises(BadInput, match=r"'pickled_app' of this process has no such attribute"):
        pickle.loads(pickled)  # noqa: S301 - our own


def test_a_module_without_its_connection_says_so(app: tuple[Any, Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    pickled = pickle.dumps(app[0].employees)
    monkeypatch.delitem(sys.modules, "pickled_app")
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING")
    with pytest.raises(BadInput, match="AZURE_STORAGE_CONNECTION_STRING"):
        pickle.loads(pickled)  # noqa: S301 - our own
    monkeypatch.setitem(sys.modules, "pickled_app", app[0])
