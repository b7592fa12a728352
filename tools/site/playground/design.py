"""The parts of a design in the playground."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from azure.core.exceptions import ResourceExistsError

from tablepatterns_engine import Engine

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Action:
    """An action of the reader, in both variants.

    :param method: the method of both variants that does it
    :param label: the text of its button
    :param fields: the arguments, with the values that the form has at first
    """

    method: str
    label: str
    fields: Fields = field(default_factory=dict)


@dataclass(frozen=True)
class Race:
    """Two processes that write at the same time, or one of which crashes.

    :param text: what they do
    :param actors: the method and its arguments, by the name of the process
    """

    text: str
    actors: Mapping[str, tuple[str, Fields]]
    lost_responses: int = 0


@dataclass(frozen=True)
class Design:
    """A design, with plain SDK calls and with a pattern.

    :param problems: returns what is inconsistent in an account, a sentence each; the same check for both variants
    :param sample: the method and the arguments of the first write, with which both accounts begin
    :param has_worker: whether the pattern needs a worker after a crash
    """

    title: str
    text: str
    pattern: str
    page: str
    plain: Callable[[Any], Any]
    patterned: Callable[[Any], Any]
    writes: tuple[Action, ...]
    reads: tuple[Action, ...]
    sample: tuple[str, Fields]
    problems: Callable[[Engine], Iterable[str]]
    race: Race
    has_worker: bool = True


async def create_tables(storage: Any, *names: str) -> None:
    """Create the tables that do not exist."""
    for name in names:
        with suppress(ResourceExistsError):
            await storage.tables.create_table(name)


def rows_of(engine: Engine, table: str) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the rows of a table by key, none if the table does not exist."""
    if table not in engine.tables.names()[0]:
        return {}
    return {(each.partition_key, each.row_key): each.properties for each in engine.tables.query(table).entities}
