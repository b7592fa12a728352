"""Make a function over a set sync or async, as its account is."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar, cast, overload

from ..argument_types import Arguments
from ..entity_set.entity_set import EntitySet
from ..errors import locating
from ..recipe import Account, Account_co, BlockingAccount, bound_async, finish, is_sync

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class HasEntitySet(Protocol[Account_co]):
    """A pattern that stores its entities in an `EntitySet`, such as a `PartitionSpread`."""

    @property
    def entity_set(self) -> EntitySet[Account_co, Any]: ...


AnySet: TypeAlias = EntitySet[Account_co, Any] | HasEntitySet[Account_co]


class Job(Protocol[P, T_co]):
    """A function over a set: it returns its result on a sync account, and is awaited on an async one."""

    @overload
    def __call__(  # type: ignore[overload-overlap] # an account is either blocking or not
        self, entity_set: AnySet[BlockingAccount], /, *args: P.args, **kwargs: P.kwargs
    ) -> T_co: ...
    @overload
    def __call__(
        self, entity_set: AnySet[Account], /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, T_co]: ...


def job(function: Callable[Concatenate[EntitySet[Account, Any], P], Coroutine[Any, Any, T]]) -> Job[P, T]:
    """Make an `async def` over a set sync or async, as `recipe` makes a method.

    It checks its arguments, and its errors name the table. The function receives the set as recipes see it, so that all
    calls of the set are awaited.
    """
    checked_call = Arguments(function)

    async def located(entity_set: EntitySet[Account, Any], args: Any, kwargs: Any) -> T:
        with locating(entity_set.location):
            result: T = await checked_call((entity_set, *args), kwargs)
            return result

    @functools.wraps(function)
    def call(pattern: AnySet[Account], /, *args: P.args, **kwargs: P.kwargs) -> Any:
        entity_set = cast("EntitySet[Account, Any]", getattr(pattern, "entity_set", pattern))
        if not isinstance(entity_set, EntitySet):
            # It raises the error for a wrong first argument
            checked_call((entity_set, *args), kwargs)
        work = located(bound_async(entity_set), args, kwargs)
        return finish(work) if is_sync(entity_set.account) else work

    return cast("Job[P, T]", call)
