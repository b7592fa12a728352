"""Errors and their page: every class has a section with an example that raises it, and every message names it."""

from __future__ import annotations

import ast
import builtins
import doctest
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import azure.core.exceptions
import azure.data.tables
import pytest
from azure.core.exceptions import AzureError
from hypothesis import given
from hypothesis import strategies as st
from tools.pages import errors
from typer.testing import CliRunner

import tablepatterns
import tablepatterns_review
from tablepatterns import (
    EntitySet,
    IntraPartitionIndex,
    Key,
    LargeProperties,
    LargePropertyStore,
    WideEntity,
    aio,
    connect,
)
from tablepatterns.cli.help import names, page, section
from tablepatterns.cli.main import main
from tablepatterns.errors import (
    BadDesign,
    BadInput,
    BadKey,
    BadProperty,
    EntityNotFound,
    ServiceError,
    TablePatternsError,
    message_of,
    one_line,
)

pytestmark = pytest.mark.both_sdks

KEPT = Path(__file__).parents[1] / "docs" / "errors.md"
NEVER_RAISED = {"ServiceError", "TablePatternsError"}


def below(kind: type[TablePatternsError]) -> Iterator[type[TablePatternsError]]:
    yield kind
    for each in kind.__subclasses__():
        if each.__module__.startswith(("tablepatterns.", "tablepatterns_review.")):
            yield from below(each)


def every_class() -> dict[str, type[TablePatternsError]]:
    for package in (tablepatterns, tablepatterns_review):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    return {each.__name__: each for each in below(TablePatternsError)}


CLASSES = every_class()


@pytest.fixture(scope="module")
def raised() -> dict[str, list[Exception]]:
    """The errors that the examples of each section raise."""
    found: dict[str, list[Exception]] = {}
    names_so_far: dict[str, Any] = {}
    for name, text in [("", page().split("\n## ")[0]), *((name, section(name)) for name in names())]:
        for example in doctest.DocTestParser().get_examples(text.replace("\n```\n", "\n\n")):
            if error := refusal(example.source, names_so_far):
                found.setdefault(name, []).append(error)
    return found


def refusal(source: str, names_so_far: dict[str, Any]) -> Exception | None:
    """Run an example, and return what it raises."""
    try:
        exec(compile(source, "example", "single"), names_so_far)  # noqa: S102
    except Exception as error:  # noqa: BLE001 - whatever it is, a test looks at it
        return error
    return None


def test_the_examples_print_what_the_page_says() -> None:
    flags = doctest.ELLIPSIS
    path = Path(tablepatterns.__path__[0]) / "cli" / "errors.md"
    done = doctest.testfile(str(path), module_relative=False, optionflags=flags, encoding="utf-8")
    assert done.attempted > 80
    assert done.failed == 0


def test_bad_input_is_a_value_error_and_every_error_an_azure_error_as_the_page_says() -> None:
    assert issubclass(BadInput, ValueError)
    assert all(issubclass(kind, AzureError) for kind in CLASSES.values())


def test_every_class_has_a_section_and_no_other_has() -> None:
    assert set(names()) == set(CLASSES)


def test_the_page_of_the_docs_is_that_of_the_package() -> None:
    shown = KEPT.read_text(encoding="utf-8")
    assert shown == errors.render(), "run make pages to write it again"
    assert "Traceback" not in shown
    assert "\nBadTarget: target = 'nowhere': unrecognized target;" in shown


@pytest.mark.parametrize("name", CLASSES)
class TestEverySection:
    def test_lists_the_base_classes_of_the_error(self, name: str) -> None:
        caught_by = re.search(r"^Caught by: (.+?)\.(?: HTTP status: .+?\.)?$", section(name), re.MULTILINE | re.DOTALL)
        assert caught_by
        assert re.findall(r"`(\w+)`", caught_by[1]) == [kind.__name__ for kind in CLASSES[name].__bases__]

    def test_gives_the_reason_and_the_fix(self, name: str) -> None:
        if name not in NEVER_RAISED:
            reason, _, rest = section(name).partition("```pycon")
            assert len(reason.splitlines()) > 2
            assert re.search(r"^Fix: .+", rest, re.MULTILINE)

    def test_has_an_example_that_raises_it_and_no_other(self, name: str, raised: dict[str, list[Exception]]) -> None:
        kinds = {type(error).__name__ for error in raised.get(name, ())}
        assert kinds == (set() if name in NEVER_RAISED else {name})

    def test_has_the_status_of_its_example(self, name: str, raised: dict[str, list[Exception]]) -> None:
        statuses = " ".join(section(name).partition("HTTP status: ")[2].split()) or "none"
        for error in raised.get(name, ()):
            status = getattr(error, "status_code", None)
            assert "none" in statuses if status is None else str(status) in statuses or "that of the answer" in statuses

    def test_is_the_help_of_an_error_that_says_all_in_one_line(self, name: str, raised: Any) -> None:
        for error in raised.get(name, ()):
            assert len(str(error).splitlines()) == 1
            place = f" ({error.location})" if error.location else ""
            assert str(error) == one_line(message_of(error)) + place
            assert message_of(error) == error.message
            assert section(error.help) == section(name)

    def test_is_printed_without_a_network(self, name: str) -> None:
        result = CliRunner().invoke(main, ["help", name])
        assert result.exit_code == 0
        assert result.output.strip().startswith(name)
        assert "Caught by" in result.output


def test_an_error_of_a_users_own_is_helped_by_that_of_its_class() -> None:
    class BadNumber(BadKey):
        """A key of the user's own."""

    error = BadNumber("Number", 1, "it is odd", "give an even one")
    assert error.help == "BadKey"


@pytest.mark.parametrize("value", [10**5_000, [-(10**5_000)]], ids=["int", "list"])
def test_a_value_that_has_no_text_is_shown_all_the_same(value: object) -> None:
    said_of_it = str(BadInput("Number", value, "it is too large", "give a smaller one"))
    assert said_of_it.startswith(f"Number = a value of the type {type(value).__name__}, too large or too deep to show:")


def test_what_others_say_is_said_as_it_is() -> None:
    assert message_of(ValueError("no")) == "no"
    assert message_of(ServiceError("no")) == "no"


def test_help_alone_lists_every_error() -> None:
    result = CliRunner().invoke(main, ["help"])
    assert result.exit_code == 0
    assert [name for name in CLASSES if name not in result.output] == []
    assert max(map(len, result.output.splitlines())) <= 100


@pytest.mark.parametrize("asked", ["badkey", "bad-key", "BAD_KEY"])
def test_a_section_is_found_however_it_is_spelled(asked: str) -> None:
    assert section(asked) == section("BadKey")


def test_an_unknown_name_is_reported_with_similar_ones() -> None:
    result = CliRunner().invoke(main, ["help", "BadKay"])
    assert result.exit_code == 2
    assert "did you mean BadKey" in result.output
    assert "`tablepatterns help` lists them" in CliRunner().invoke(main, ["help", "xyz"]).output


@given(st.text(), st.text() | st.binary() | st.lists(st.text()), st.text(), st.text())
def test_what_an_error_says_is_one_line_whatever_is_in_it(subject: str, value: object, rule: str, table: str) -> None:
    error = BadInput(subject, value, rule, "give another\nvalue")
    error.locate(f"table {table}")
    assert len(str(error).splitlines()) == 1
    assert error.location is not None
    assert str(error).endswith(one_line(f"({error.location})"))
    assert len(str(ServiceError(f"{subject}\r\n{rule}\u2028")).splitlines()) <= 1


KEY = Key("{Department}", "empid_{EmployeeId:06d}")
NOBODY: dict[str, Any] = {"Department": "Sales", "EmployeeId": 1}
MISTAKES: dict[str, Callable[[Any], Any]] = {
    "no such field": lambda one: one.get(Division="Sales"),
    "a bad key": lambda one: one.get(Department="a/b", EmployeeId=1),
    "a missing field of the key": lambda one: one.insert({"Department": "Sales"}),
    "a bad property": lambda one: one.insert({**NOBODY, "Age": object()}),
    "a bad name": lambda one: one.insert({**NOBODY, "1st": 1}),
    "not read before": lambda one: one.replace(NOBODY),
    "there twice": lambda one: [one.insert(NOBODY), one.insert(NOBODY)],
    "changed": lambda one: _changed_twice(one),
}
CHANGES: dict[str, Callable[[Any], Any]] = {
    "inserting": lambda one: one.inserting({"PartitionKey": "Sales"}),
    "replacing": lambda one: one.replacing(NOBODY),
    "merging": lambda one: one.merging(NOBODY, {}),
    "deleting": lambda one: one.deleting(NOBODY),
}


def _changed_twice(one: Any) -> None:
    first = one.insert({"Department": "Sales", "EmployeeId": 7, "Age": 1})
    second = one.get(Department="Sales", EmployeeId=7)
    one.replace(first)
    one.replace(second)


@pytest.mark.parametrize("kind", [EntitySet, WideEntity])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_error_names_the_table_and_the_set(kind: Any, mistake: str) -> None:
    one = kind(connect(), "Employees", KEY)
    with pytest.raises(TablePatternsError) as raised:
        MISTAKES[mistake](one)
    assert str(raised.value).endswith(" (table Employees)")


@pytest.mark.parametrize("change", CHANGES)
def test_an_error_of_a_change_that_is_not_sent_names_them_too(change: str) -> None:
    with pytest.raises(TablePatternsError, match=r" \(table Employees\)$"):
        CHANGES[change](EntitySet(connect(), "Employees", KEY))


def test_an_error_names_the_set_that_a_pattern_works_on() -> None:
    people = EntitySet(connect(), "Employees", KEY, mappings=[LargeProperties(["Photo"], container="photos")])
    with pytest.raises(EntityNotFound, match=r" \(table Employees\)$"):
        list(LargePropertyStore(people).open(NOBODY, "Photo"))
    with pytest.raises(TablePatternsError, match=r" \(table Employees\)$"):
        list(people.range(Department="Sales", Division=1))


async def test_an_error_of_an_async_account_names_them_too() -> None:
    async with aio.connect() as storage:
        people = EntitySet(storage, "Employees", KEY)
        with pytest.raises(BadKey, match=r" \(table Employees\)$"):
            await people.insert({"Department": "Sales"})
        with pytest.raises(BadKey, match=r" \(table Employees\)$"):
            [each async for each in people.range(Division=1)]


def test_a_design_that_cannot_work_names_them() -> None:
    with pytest.raises(BadDesign, match=r" \(table Employees\)$"):
        EntitySet(connect(), "Employees", KEY, derived=[IntraPartitionIndex(Key("{City}", "email_{Email}"))])


@pytest.mark.parametrize("entity", [{"Department": "Sales"}, {"Department": "Sales", "EmployeeId": None}])
def test_a_field_that_is_missing_is_said_to_be_missing(entity: dict[str, Any]) -> None:
    with pytest.raises(BadKey, match=r"^EmployeeId is missing: ") as raised:
        EntitySet(connect(), "Employees", KEY).insert(entity)
    assert "None" not in str(raised.value)


def test_a_hint_to_store_a_value_works() -> None:
    people = EntitySet(connect(), "Employees", KEY)
    for value, hint in (
        (Decimal("1.10"), "str(value)"),
        (["new"], "as_json(value)"),
        ({"a": 1}, "as_json(value)"),
        (object(), "such as str"),
        ([Decimal(1)], "such as str"),
    ):
        with pytest.raises(BadProperty) as raised:
            people.insert({**NOBODY, "Salary": value})
        assert hint in raised.value.hint


SOURCE = Path(tablepatterns.__path__[0]).parent
EXAMPLES_OWN = {
    "error",
    "worker",
    "old",
    "new",
    "index",
    "tables",
    "timezone",
    "utc",
    "tzinfo",
    "tablepatterns",
    "escape",
    "Name",
    "WriteId",
}
"""Names that the page gives to what a user has, and one of Python's and of the service each."""


def callables() -> dict[str, Any]:
    """Return what can be called by its name: Python's own, what is public, and the methods of public classes."""
    public = {name: getattr(tablepatterns, name) for name in tablepatterns.__all__} | vars(tablepatterns.jobs)
    methods = {name: getattr(each, name) for each in public.values() if isinstance(each, type) for name in dir(each)}
    return {name: each for name, each in {**methods, **vars(str), **vars(builtins), **public}.items() if callable(each)}


def named_in(span: str) -> Iterator[tuple[str, bool]]:
    """Hand out the names in a piece of code, each with whether it is called."""
    keyword = re.fullmatch(r"(\w+)=(.*)", span)
    if keyword:
        yield keyword[1], False
        span = keyword[2]
    with suppress(SyntaxError):
        nodes = list(ast.walk(ast.parse(span, mode="eval")))
        called = [node.func for node in nodes if isinstance(node, ast.Call)]
        for node in nodes:
            for name in (getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "arg", None)):
                if isinstance(name, str):
                    yield name, node in called


def test_every_call_that_the_page_names_exists() -> None:
    calls = callables()
    known = {
        *calls,
        *CLASSES,
        *EXAMPLES_OWN,
        *dir(tablepatterns),
        *vars(azure.core.exceptions),
        *vars(azure.data.tables),
    }
    for each in calls.values():
        with suppress(ValueError, TypeError):
            known.update(inspect.signature(each).parameters)
    for text in (path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")):
        known.update(re.findall(r"self\.(\w+) = ", text), re.findall(r"^ *(\w+)(?:: \w+)? = ", text, re.MULTILINE))
    prose = re.sub(r"```pycon.*?```|^Caught by:.*?(?=\n\n)", "", page(), flags=re.DOTALL | re.MULTILINE)
    names = {(name, is_call) for span in re.findall(r"`([^`]+)`", prose) for name, is_call in named_in(span)}
    assert len(names) > 50
    missing = {name for name, is_call in names if name not in (calls if is_call else known) and not name.isupper()}
    assert sorted(missing) == []
