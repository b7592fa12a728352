"""Errors, and the page on them: every class has a section, whose example raises it, and every message names it."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tablepatterns
from tablepatterns.cli import main
from tablepatterns.errors import BadInput, BadKey, ServiceRefusal, TablePatternsError, said
from tablepatterns.help import names, page, section

KEPT = Path(__file__).parents[1] / "docs" / "errors.md"
NEVER_RAISED = {"ServiceRefusal", "TablePatternsError"}
PLAIN = {"object", "BaseException", "Exception"}


def below(kind: type[TablePatternsError]) -> Iterator[type[TablePatternsError]]:
    yield kind
    for each in kind.__subclasses__():
        if each.__module__.startswith("tablepatterns."):
            yield from below(each)


def every_class() -> dict[str, type[TablePatternsError]]:
    for module in pkgutil.walk_packages(tablepatterns.__path__, "tablepatterns."):
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
    path = Path(tablepatterns.__path__[0]) / "help" / "errors.md"
    done = doctest.testfile(str(path), module_relative=False, optionflags=flags, encoding="utf-8")
    assert done.attempted > 80
    assert done.failed == 0


def test_every_class_has_a_section_and_no_other_has() -> None:
    assert set(names()) == set(CLASSES)


def test_the_page_of_the_docs_is_that_of_the_package() -> None:
    assert KEPT.read_text(encoding="utf-8") == page(), "make pages writes it anew"


@pytest.mark.parametrize("name", CLASSES)
class TestEverySection:
    def test_tells_by_what_else_the_error_is_caught(self, name: str) -> None:
        told = re.search(r"^Caught by: (.+?)\. HTTP\sstatus: .+?\.$", section(name), re.MULTILINE | re.DOTALL)
        assert told
        kinds = [kind.__name__ for kind in CLASSES[name].__mro__[1:] if kind.__name__ not in PLAIN]
        assert set(re.findall(r"`(\w+)`", told[1])) == set(kinds)

    def test_tells_why_and_the_way_out(self, name: str) -> None:
        if name not in NEVER_RAISED:
            assert re.search(r"^Why: .+^Way out: ", section(name), re.MULTILINE | re.DOTALL)

    def test_has_an_example_that_raises_it_and_no_other(self, name: str, raised: dict[str, list[Exception]]) -> None:
        kinds = {type(error).__name__ for error in raised.get(name, ())}
        assert kinds == (set() if name in NEVER_RAISED else {name})

    def test_tells_the_status_of_its_example(self, name: str, raised: dict[str, list[Exception]]) -> None:
        told = " ".join(section(name).rpartition("HTTP")[2].split())
        for error in raised.get(name, ()):
            status = getattr(error, "status_code", None)
            assert "none" in told if status is None else str(status) in told or "that of the answer" in told

    def test_is_named_once_at_the_end_of_what_the_error_says(self, name: str, raised: Any) -> None:
        for error in raised.get(name, ()):
            *_, last = str(error).splitlines()
            assert last == f"(more: tablepatterns help {error.help})"
            assert str(error).count("(more:") == 1
            assert said(error) == error.message == str(error).removesuffix(f"\n{last}")
            assert section(error.help) == section(name)

    def test_is_printed_without_a_network(self, name: str) -> None:
        told = CliRunner().invoke(main, ["help", name])
        assert told.exit_code == 0
        assert told.output.strip().startswith(name)
        assert "Caught by" in told.output


def test_an_error_of_a_users_own_is_helped_by_that_of_its_class() -> None:
    class BadNumber(BadKey):
        """A key of the user's own."""

    error = BadNumber("Number", 1, "it is odd", "give an even one")
    assert str(error).splitlines()[-1] == "(more: tablepatterns help BadKey)"


@pytest.mark.parametrize("value", [10**5_000, [-(10**5_000)]], ids=["int", "list"])
def test_a_value_that_has_no_text_is_shown_all_the_same(value: object) -> None:
    said_of_it = str(BadInput("Number", value, "it is too large", "give a smaller one"))
    assert said_of_it.startswith(f"Number = a value of the type {type(value).__name__}, too large or too deep to show:")


def test_what_others_say_is_said_as_it_is() -> None:
    assert said(ValueError("no")) == "no"
    assert said(ServiceRefusal("no")) == "no"


def test_help_alone_lists_every_error() -> None:
    told = CliRunner().invoke(main, ["help"])
    assert told.exit_code == 0
    assert [name for name in CLASSES if name not in told.output] == []
    assert max(map(len, told.output.splitlines())) <= 100


@pytest.mark.parametrize("asked", ["badkey", "bad-key", "BAD_KEY"])
def test_a_section_is_found_however_it_is_spelled(asked: str) -> None:
    assert section(asked) == section("BadKey")


def test_an_unknown_name_is_told_with_the_nearest_ones() -> None:
    told = CliRunner().invoke(main, ["help", "BadKay"])
    assert told.exit_code == 2
    assert "did you mean BadKey" in told.output
    assert "`tablepatterns help` lists them" in CliRunner().invoke(main, ["help", "xyz"]).output
