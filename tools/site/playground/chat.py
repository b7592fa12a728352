"""Chat messages are stored by room, and found by author through a list of their keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from azure.core.exceptions import ResourceNotFoundError

from tablepatterns import EntitySet, IndexEntity, InTable, Key, Worker
from tablepatterns_engine import Engine

from .design import Action, Design, Race, create_tables, rows_of


class Plain:
    """A message is inserted; then the list of its author is read, extended and written."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage
        self.messages = storage.tables.get_table_client("Messages")
        self.authors = storage.tables.get_table_client("Authors")

    async def prepare(self) -> None:
        await create_tables(self.storage, "Messages", "Authors")

    async def post(self, Room: str, Number: int, Author: str, Text: str) -> None:
        message = {"PartitionKey": Room, "RowKey": f"{Number:06d}", "Author": Author, "Text": Text}
        await self.messages.create_entity(message)
        found = await self._list_of(Author)
        found["Ids"] = "/".join(filter(None, (found["Ids"], f"{Room}#{Number:06d}")))
        await self.authors.upsert_entity(found)

    async def messages_of(self, Author: str) -> Any:
        keys = [each.split("#") for each in (await self._list_of(Author))["Ids"].split("/") if each]
        return [(await self.messages.get_entity(*key))["Text"] for key in keys]

    async def _list_of(self, author: str) -> Any:
        key = f"author_{author}"
        try:
            return await self.authors.get_entity(key, "ids")
        except ResourceNotFoundError:
            return {"PartitionKey": key, "RowKey": "ids", "Ids": ""}


class Patterned:
    """The set keeps the lists. A worker completes the list of a message whose sender crashed."""

    def __init__(self, storage: Any) -> None:
        self.by_author = IndexEntity("Author", store=InTable("Authors"))
        self.messages = EntitySet(storage, "Messages", Key("{Room}", "{Number:06d}"), derived=[self.by_author])
        self.worker = Worker(storage, [self.messages.reconciler()])

    async def prepare(self) -> None:
        await self.messages.create_table()

    async def post(self, Room: str, Number: int, Author: str, Text: str) -> None:
        await self.messages.insert({"Room": Room, "Number": Number, "Author": Author, "Text": Text})

    async def messages_of(self, Author: str) -> Any:
        return [message["Text"] for message in await self.messages.find_all(self.by_author, Author=Author)]


def problems(engine: Engine) -> Iterator[str]:
    """Yield which messages are not in the list of their author."""
    lists = rows_of(engine, "Authors")
    for (room, number), message in rows_of(engine, "Messages").items():
        author = message["Author"]
        found = lists.get((f"author_{author}", "ids"), {"Ids": ""})
        if f"{room}#{number}" not in str(found["Ids"]).split("/"):
            yield f"Message {number} is not in the list of {author}: a search by author does not find it."


DESIGN = Design(
    title="Chat",
    text="Messages are stored by room. A list for each author, in another table, finds what they wrote anywhere.",
    pattern="Index entities",
    page="patterns/index_entities",
    plain=Plain,
    patterned=Patterned,
    writes=(Action("post", "Post", {"Room": "general", "Number": 2, "Author": "ann", "Text": "Lunch?"}),),
    reads=(Action("messages_of", "Find by author", {"Author": "ann"}),),
    sample=("post", {"Room": "general", "Number": 1, "Author": "ann", "Text": "Good morning"}),
    problems=problems,
    race=Race(
        "The author posts in two rooms at the same time.",
        {
            "ann": ("post", {"Room": "general", "Number": 2, "Author": "ann", "Text": "Lunch?"}),
            "bob": ("post", {"Room": "random", "Number": 1, "Author": "ann", "Text": "Ping"}),
        },
    ),
)
