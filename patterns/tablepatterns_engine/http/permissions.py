"""The permissions that an operation needs, and those of the sender."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final, NamedTuple

from .. import errors
from ..errors import ServiceError
from ..key_range import KeyScope


class Need(NamedTuple):
    """The permissions that an operation needs from a shared access signature.

    :param level: the resource type of an account signature: "s" service, "c" table, queue or container, "o" object
    :param choices: sets of permissions, of which one must be granted in full
    :param own: the same for a SAS of one resource; if empty, such a SAS cannot grant it
    """

    level: str
    choices: tuple[str, ...]
    own: tuple[str, ...] = ()


def on_object(*choices: str) -> Need:
    """Return the need of an operation on an object, with the same letters for both kinds of SAS."""
    return Need("o", choices, choices)


READ_SERVICE: Final = Need("s", ("r",))
WRITE_SERVICE: Final = Need("s", ("w",))
OWNER_ONLY: Final = Need("", ())
"""Access policies: no shared access signature grants access."""


class Permit(ABC):
    scope: KeyScope | None = None
    """The key range that it covers; None for the whole table."""

    @abstractmethod
    def check(self, need: Need, resource: str = "") -> None:
        """Reject an operation that it does not allow."""

    def check_keys(self, partition_key: str, row_key: str) -> None:
        if self.scope is not None and not self.scope.contains(partition_key, row_key):
            raise ServiceError(errors.AUTHORIZATION_FAILURE)


class Owner(Permit):
    """The holder of the account's key: everything is allowed."""

    def check(self, need: Need, resource: str = "") -> None:
        """Allow it."""


@dataclass(frozen=True)
class AccountPermit(Permit):
    """The permissions of an account SAS, `letters`, and its resource types, `levels`."""

    levels: str
    letters: frozenset[str]

    def check(self, need: Need, resource: str = "") -> None:
        if need is OWNER_ONLY:
            raise ServiceError(errors.AUTHORIZATION_FAILURE)
        if need.level not in self.levels:
            raise ServiceError(errors.AUTHORIZATION_RESOURCE_TYPE_MISMATCH)
        check_letters(need.choices, self.letters)


@dataclass(frozen=True)
class ResourcePermit(Permit):
    """The permissions of a SAS of one table or queue, including those of its stored policy."""

    resource: str
    letters: frozenset[str]
    scope: KeyScope | None = None

    def check(self, need: Need, resource: str = "") -> None:
        if not need.own or resource.lower() != self.resource:
            raise ServiceError(errors.AUTHORIZATION_FAILURE)
        check_letters(need.own, self.letters)


def check_letters(choices: tuple[str, ...], letters: frozenset[str]) -> None:
    """Reject an operation unless one of the sufficient sets of permissions is granted in full."""
    if not any(letters.issuperset(choice) for choice in choices):
        raise ServiceError(errors.AUTHORIZATION_PERMISSION_MISMATCH)
