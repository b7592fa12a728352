"""Write each recipe once, as `async def`, and run it on sync or async clients. Read this first.

A recipe awaits only the methods of `Table`, `Queue` and `Container`, and other recipes. Over sync clients none of these
waits, so `finish` runs the coroutine to its end with one `send(None)`, without an event loop or a thread.

Before anything else, a recipe checks its caller's arguments against its annotations; see `argument_types`.

A recipe's object is immutable after construction, so threads and tasks may share it.
"""

# Functions of this module, so that what only recipes need is not part of the account's API
# pyright: reportPrivateUsage=false

from __future__ import annotations

import copy
import functools
import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib import import_module
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, NoReturn, ParamSpec, TypeVar, cast, overload

from typing_extensions import Self

from .argument_types import Arguments
from .errors import BadDesign, BadInput, TablePatternsError

if TYPE_CHECKING:
    from .declared_rows import DeclaredRows
    from .key import Key
    from .sdk.container import Container
    from .sdk.queue import Queue
    from .sdk.table import Table

P = ParamSpec("P")
T = TypeVar("T")

VIRTUAL_BEAT: Final = 0.01
"""The longest heartbeat interval on the in-memory engine, in seconds of real time: its clock may jump at any moment."""


class Account(ABC):
    """What a recipe needs from a storage account: its tables, queues and containers, and time."""

    _is_sync: bool = False
    _identity: str
    _declared_rows: DeclaredRows
    _keeps_key_order: bool = True
    _has_threads: bool = True

    @abstractmethod
    def _as_async(self) -> Account: ...

    @abstractmethod
    def table(self, name: str) -> Table:
        """Return one table, with methods that recipes await; no request is made."""

    @abstractmethod
    def queue(self, name: str) -> Queue:
        """Return one queue, with methods that recipes await; no request is made."""

    @abstractmethod
    def container(self, name: str) -> Container:
        """Return one blob container, with methods that recipes await; no request is made."""

    @abstractmethod
    def now(self) -> datetime:
        """Return the time as an aware UTC datetime, by this account's clock."""

    @abstractmethod
    def _elapsed(self) -> timedelta: ...

    @abstractmethod
    async def sleep(self, seconds: float) -> None:
        """Wait, by this account's clock."""

    @abstractmethod
    async def gather(
        self,
        *calls: Coroutine[Any, Any, T],
        max_concurrency: int = 8,
        needs_threads: bool = False,
        independent: bool = False,
    ) -> list[T]:
        """Run the calls in parallel, and return their results in the order given; see `Storage.gather`."""

    @abstractmethod
    async def _run_with_heartbeat(
        self, work: Coroutine[Any, Any, T], heartbeat: Callable[[], Coroutine[Any, Any, None]], every: float
    ) -> T: ...

    async def _back_off(self, seconds: float) -> None:
        await self.sleep(seconds)

    @abstractmethod
    def _new_lock(self) -> AbstractAsyncContextManager[object]: ...

    @abstractmethod
    def _table_names(self, first: str, last: str) -> AsyncIterator[str]: ...


class BlockingAccount(Account):
    """An account over the SDK's sync clients: recipes return their results."""

    _is_sync = True


def is_sync(account: Account) -> bool:
    """Whether recipes on this account return their results, rather than something to await."""
    return account._is_sync


def elapsed(account: Account) -> timedelta:
    """Return the time since some moment, for leases, waits and caches: unlike `now`, it is never set back."""
    return account._elapsed()


def as_async(account: Account) -> Account:
    """Return this account for use in recipes: with the same clients, but every recipe is awaited."""
    return account._as_async()


def identity_of(account: Account) -> str:
    """Return the identity of the account: equal for all connections to it, different for other accounts."""
    return account._identity


def declared_rows(account: Account) -> DeclaredRows:
    """Return the kinds of rows that the sets of this connection have declared."""
    return account._declared_rows


def runs_in_turn(account: Account) -> bool:
    """Whether `gather` runs all calls one after the other, since no thread can start for a sync account."""
    return not account._has_threads


def keeps_key_order(account: Account) -> bool:
    """Whether results are sorted by key; on the Cosmos DB Table API they are not."""
    return account._keeps_key_order


def check_key_order(account: Account, operation_name: str) -> None:
    """Reject an operation, named as the rule begins, that needs key order if the account does not sort by key."""
    if not account._keeps_key_order:
        rule = f"{operation_name} in key order, which the Cosmos DB Table API does not give"
        raise BadDesign("account", account, rule, "use Azure Table storage, or sort in the client")


async def run_with_heartbeat(
    account: Account, work: Coroutine[Any, Any, T], heartbeat: Callable[[], Coroutine[Any, Any, None]], *, every: float
) -> T:
    """Run `work`, and `heartbeat()` about every so many seconds while it runs; return what the work returns.

    On a sync account the work stays in this thread, and another thread sends heartbeats; where no thread can start,
    there are none. A heartbeat that has started is not interrupted. One that fails is the last, and its error is raised
    after the work.
    """
    return await account._run_with_heartbeat(work, heartbeat, every)


async def back_off(account: Account, seconds: float) -> None:
    """Wait before a retry, after another writer was faster."""
    await account._back_off(seconds)


def new_lock(account: Account) -> AbstractAsyncContextManager[object]:
    """Return a lock for tasks, or threads, of this account, to be used with `async with`."""
    return account._new_lock()


def table_names(account: Account, first: str, last: str) -> AsyncIterator[str]:
    """Yield the names of the account's tables from `first` to `last`. Cost: 1 transaction per 1,000 names."""
    return account._table_names(first, last)


@dataclass(frozen=True)
class SetProfile:
    """A set of entities as a design review sees it; see `set_profile_of`."""

    pattern: str
    """The name of the pattern in the catalog."""
    table: str
    """The table of the entities, or the first part of the names of their tables."""
    key: Key
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    """Other arguments of the recipe, by the names that a design file uses."""
    derived: tuple[Any, ...] = ()
    mappings: tuple[Any, ...] = ()
    retention: timedelta | int | None = None
    """How long the table of a period is kept, or for how many periods; None if tables are not dropped."""


Account_co = TypeVar("Account_co", bound=Account, covariant=True)


class Pattern(Generic[Account_co]):
    """The base of all patterns: an object with recipes, bound to the account it works on."""

    def __init__(self, account: Account_co) -> None:
        self.account: Account = account
        self._inner: Pattern[Account] | None = None
        self._plain: dict[object, Callable[..., Any]] = {}

    @property
    def location(self) -> str | None:
        """The table in errors: its own, or that of the first part that has one."""
        table = getattr(self, "table", None)
        if table is not None:
            return f"table {table.name}"
        for name, part in vars(self).items():
            if name != "_inner" and isinstance(part, Pattern) and part.location:
                return part.location
        return None

    def _set_profile(self) -> SetProfile | None:
        return None

    def _bound_async(self) -> Pattern[Account]:
        if self._inner is None:
            view = copy.copy(self)
            view.account = as_async(self.account)
            view._plain = {}
            for name, part in vars(self).items():
                if isinstance(part, Pattern):
                    setattr(view, name, cast("Pattern[Account]", part)._bound_async())
            view._bind_view()
            self._inner = view
        return self._inner

    def _bind_view(self) -> None:
        """Let what refers to the pattern refer to this view of it."""

    def __copy__(self) -> Self:
        view = object.__new__(type(self))
        vars(view).update(vars(self))
        return view

    def __reduce__(self) -> tuple[Callable[[str, str], Any], tuple[str, str]]:
        """Pickle the pattern by its name in a module: a pickle has no keys, and the module connects by itself."""
        for module in sorted(sys.modules, key="__main__".__eq__):
            for name, value in [*getattr(sys.modules[module], "__dict__", {}).items()]:
                if value is self:
                    return _in_module, (module, name)
        rule = "it is pickled by its name in a module, and no module has it"
        hint = "declare it in a module, or send a function that returns it"
        raise BadInput("pickle", type(self).__name__, rule, hint)


def _in_module(module: str, name: str) -> Any:
    try:
        return getattr(import_module(module), name)
    except AttributeError as error:
        rule = f"the module {module!r} of this process has no such attribute"
        raise BadInput("pickle", name, rule, "declare it in a module that both processes import") from error


def set_profile_of(pattern: Pattern[Any]) -> SetProfile | None:
    """Return the profile of a set of entities for a design review; None if the pattern is not a set."""
    return pattern._set_profile()


PatternT = TypeVar("PatternT", bound="Pattern[Any]")


def bound_async(pattern: PatternT) -> PatternT:
    """Return a pattern whose recipes, and those of its parts, are awaited, as its own recipes need it."""
    return cast("PatternT", pattern._bound_async())


class recipe(Generic[P, T]):  # noqa: N801 - it is used as a decorator
    """Make an `async def` method sync on a sync account, and awaitable on an async one and in other recipes."""

    def __init__(
        self, function: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]], checked_call: Arguments | None = None
    ) -> None:
        call = checked_call or Arguments(function)

        @functools.wraps(function)
        async def located(pattern: Pattern[Account], /, *args: P.args, **kwargs: P.kwargs) -> T:
            # Without `locating`, which would add calls to every recipe
            try:
                result: T = await call((pattern, *args), kwargs)
                return result
            except TablePatternsError as error:
                error.locate(pattern.location)
                raise

        self._function = located
        self._of_class: Callable[..., Any] | None = None
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, pattern: Pattern[BlockingAccount], owner: Any = ...) -> Callable[P, T]: ...
    @overload
    def __get__(self, pattern: Pattern[Account], owner: Any = ...) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, pattern: None, owner: Any = ...) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]: ...

    def __get__(self, pattern: Pattern[Account] | None, owner: Any = None) -> Callable[..., Any]:
        return _bound(self, pattern, finish)


class stream(Generic[P, T]):  # noqa: N801 - it is used as a decorator
    """Like `recipe`, for an async generator: `for` on a sync account, `async for` on an async one."""

    def __init__(self, function: Callable[Concatenate[Any, P], AsyncIterator[T]]) -> None:
        call = Arguments(function)

        @functools.wraps(function)
        def start(pattern: Pattern[Account], /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T, None]:
            try:
                # An `async def` with a `yield` is declared as an iterator, and makes a generator
                items: AsyncGenerator[T, None] = call((pattern, *args), kwargs)
            except TablePatternsError as error:
                error.locate(pattern.location)
                raise
            return AsyncStream(pattern, function.__name__, items)

        self._function = start
        self._of_class: Callable[..., Any] | None = None
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, pattern: Pattern[BlockingAccount], owner: Any = ...) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, pattern: Pattern[Account], owner: Any = ...) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(self, pattern: None, owner: Any = ...) -> Callable[Concatenate[Any, P], AsyncIterator[T]]: ...

    def __get__(self, pattern: Pattern[Account] | None, owner: Any = None) -> Callable[..., Any]:
        return _bound(self, pattern, finish_each)


def _bound(
    descriptor: recipe[..., Any] | stream[..., Any], pattern: Pattern[Account] | None, finish_call: Callable[[Any], Any]
) -> Callable[..., Any]:
    """Return a recipe or a stream as an attribute of a pattern, or of its class; `finish_call` ends a sync call."""
    if pattern is None:
        descriptor._of_class = descriptor._of_class or _of_class(descriptor)
        return descriptor._of_class
    if not pattern.account._is_sync:
        return MethodType(descriptor._function, pattern)
    plain = pattern._plain.get(descriptor)
    if plain is None:
        awaited: Callable[..., Any] = MethodType(descriptor._function, pattern._bound_async())

        @functools.wraps(awaited)
        def call(*args: Any, **kwargs: Any) -> Any:
            return finish_call(awaited(*args, **kwargs))

        plain = pattern._plain[descriptor] = call
    return plain


def _of_class(descriptor: recipe[..., Any] | stream[..., Any]) -> Callable[..., Any]:
    """Return what a recipe or a stream is as an attribute of its class, for documentation and for mocks.

    It is not `async`, since that depends on the account, and its signature is that of a call without `self`:
    `unittest.mock.create_autospec` passes `self` only to what is a plain function in the class.
    """

    @functools.wraps(descriptor._function)
    def call(pattern: Pattern[Account], /, *args: Any, **kwargs: Any) -> Any:
        return descriptor.__get__(pattern)(*args, **kwargs)

    signature = inspect.signature(descriptor._function)
    vars(call)["__signature__"] = signature.replace(parameters=list(signature.parameters.values())[1:])
    return call


class WrappedItems(AsyncGenerator[T, None]):
    """The items of an async generator, which a subclass changes.

    Not a generator around another one: if a task is cancelled between the two, the outer one could not close the inner.
    """

    def __init__(self, items: AsyncGenerator[Any, None]) -> None:
        self._items = items

    async def athrow(self, *error: Any) -> T:
        item: T = await self._items.athrow(*error)
        return item

    async def aclose(self) -> None:
        await self._items.aclose()


class AsyncStream(WrappedItems[T]):
    """The items of a stream on an async account; its errors name the table of the pattern."""

    def __init__(self, pattern: Pattern[Account], name: str, items: AsyncGenerator[T, None]) -> None:
        super().__init__(items)
        self._pattern = pattern
        self._name = name

    def _misused(self, index: object = None) -> NoReturn:
        call = f"{type(self._pattern).__name__}.{self._name}()"
        raise TypeError(f"{call} on an async account is not a list; use `async for item in ...`")

    __iter__ = __getitem__ = _misused

    async def asend(self, value: None) -> T:
        try:
            item: T = await self._items.asend(value)
            return item
        except TablePatternsError as error:
            error.locate(self._pattern.location)
            raise


def located(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Add the table to the errors of a method that sends nothing, as for a recipe."""

    @functools.wraps(method)
    def wrapper(pattern: Pattern[Account], /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(pattern, *args, **kwargs)
        except TablePatternsError as error:
            error.locate(pattern.location)
            raise

    return wrapper


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits to its end, without an event loop, and return its result."""
    try:
        waited_for = coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise RuntimeError(f"this recipe waited for {waited_for!r}; a recipe may await its account and nothing else")


def finish_each(items: AsyncGenerator[T, None]) -> Iterator[T]:
    """Iterate over an async generator that never waits, without an event loop."""
    try:
        while True:
            yield finish(items.asend(None))
    except StopAsyncIteration:
        return
    finally:
        finish(items.aclose())
