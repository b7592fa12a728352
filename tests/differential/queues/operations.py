"""The operations on queues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID
from xml.sax.saxutils import escape

from differential.account import Account, Known
from differential.raw_requests import Metadata, Policy, metadata_headers, path, policies_xml, read_pages

NOBODY = f"{UUID(int=0)} AgAAAAMAAAABAAAAAPzfNbqL0Qg="
"""Id and receipt of no message that there can be."""


@dataclass(frozen=True)
class CreateQueue:
    queue: str
    metadata: Metadata = ()

    def send(self, account: Account, known: Known) -> None:
        account.request("PUT", path(self.queue), metadata_headers(self.metadata))


@dataclass(frozen=True)
class DeleteQueue:
    queue: str

    def send(self, account: Account, known: Known) -> None:
        account.request("DELETE", path(self.queue))


@dataclass(frozen=True)
class ListQueues:
    """A list of queues, to its last page."""

    prefix: str
    limit: int | None = None
    include: str | None = None

    def send(self, account: Account, known: Known) -> None:
        read_pages(account, "", comp="list", prefix=self.prefix, maxresults=self.limit, include=self.include)


@dataclass(frozen=True)
class GetMetadata:
    queue: str
    method: str = "GET"

    def send(self, account: Account, known: Known) -> None:
        account.request(self.method, path(self.queue, comp="metadata"))


@dataclass(frozen=True)
class SetMetadata:
    queue: str
    metadata: Metadata

    def send(self, account: Account, known: Known) -> None:
        account.request("PUT", path(self.queue, comp="metadata"), metadata_headers(self.metadata))


@dataclass(frozen=True)
class GetPolicies:
    queue: str

    def send(self, account: Account, known: Known) -> None:
        account.request("GET", path(self.queue, comp="acl"))


@dataclass(frozen=True)
class SetPolicies:
    queue: str
    policies: tuple[Policy, ...]

    def send(self, account: Account, known: Known) -> None:
        account.request("PUT", path(self.queue, comp="acl"), body=policies_xml(self.policies))


@dataclass(frozen=True)
class Put:
    """A new message; what is None is left to the service."""

    queue: str
    text: str
    visibility: int | None = None
    time_to_live: int | None = None

    def send(self, account: Account, known: Known) -> None:
        options = {"visibilitytimeout": self.visibility, "messagettl": self.time_to_live}
        account.request("POST", path(self.queue, "messages", **options), body=_message(self.text))


@dataclass(frozen=True)
class Get:
    queue: str
    limit: int | None = None
    visibility: int | None = None

    def send(self, account: Account, known: Known) -> None:
        options = {"numofmessages": self.limit, "visibilitytimeout": self.visibility}
        account.request("GET", path(self.queue, "messages", **options))


@dataclass(frozen=True)
class Peek:
    queue: str
    limit: int | None = None

    def send(self, account: Account, known: Known) -> None:
        account.request("GET", path(self.queue, "messages", peekonly="true", numofmessages=self.limit))


@dataclass(frozen=True)
class Held:
    """Power over a message, good or not.

    :param age: the message that was put, received or updated so many ago, and the receipt that was given then
    :param receipt: what is sent in its stead
    """

    age: int
    receipt: str | None = None

    def of(self, queue: str, known: Known) -> tuple[str, str]:
        """Return the id and the receipt."""
        message, _, receipt = (known(queue, self.age) or NOBODY).partition(" ")
        return message, receipt if self.receipt is None else self.receipt


@dataclass(frozen=True)
class Update:
    """A message hidden again.

    :param text: what replaces its text, None to keep it
    """

    queue: str
    held: Held
    visibility: int
    text: str | None = None

    def send(self, account: Account, known: Known) -> None:
        message, receipt = self.held.of(self.queue, known)
        target = path(self.queue, "messages", message, popreceipt=receipt, visibilitytimeout=self.visibility)
        account.request("PUT", target, body="" if self.text is None else _message(self.text))


@dataclass(frozen=True)
class Delete:
    queue: str
    held: Held

    def send(self, account: Account, known: Known) -> None:
        message, receipt = self.held.of(self.queue, known)
        account.request("DELETE", path(self.queue, "messages", message, popreceipt=receipt))


@dataclass(frozen=True)
class Clear:
    queue: str

    def send(self, account: Account, known: Known) -> None:
        account.request("DELETE", path(self.queue, "messages"))


OfQueue: TypeAlias = CreateQueue | DeleteQueue | GetMetadata | SetMetadata | GetPolicies | SetPolicies
OfMessages: TypeAlias = Put | Get | Peek | Update | Delete | Clear
Operation: TypeAlias = OfQueue | ListQueues | OfMessages


def _message(text: str) -> str:
    return f"<QueueMessage><MessageText>{escape(text)}</MessageText></QueueMessage>"
