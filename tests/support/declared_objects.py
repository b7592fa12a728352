"""Public classes that the tests of recipes declare: an object, its members, and what Cosmos DB does with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

from support.declared import import_declaring, is_declared

Verdict: TypeAlias = Literal["works", "unordered", "rejected"]
Make: TypeAlias = Callable[[Any], Any]


class PublicObject(NamedTuple):
    """A class, and an object of it.

    :param members: what completion offers, beyond what the public class that it extends has
    :param on_cosmos: whether the Cosmos DB Table API can serve it
    :param why: the reason
    :param make: a function that makes the object on an account, and is rejected if `on_cosmos` is
    """

    members: list[str]
    on_cosmos: Verdict
    why: str
    make: Make


_OBJECTS: dict[str, PublicObject] = {}


def public_object(name: str, *, members: list[str], on_cosmos: Verdict, why: str) -> Callable[[Make], Make]:
    """Register an object of a public class, with the function that makes it."""

    def add(make: Make) -> Make:
        if is_declared(make):
            _OBJECTS[name] = PublicObject(members, on_cosmos, why, make)
        return make

    return add


def all_public_objects() -> dict[str, PublicObject]:
    """Return what the tests of recipes declare; the other classes are in `public_objects`."""
    import_declaring("public_object", "support")
    return _OBJECTS
