"""The types of recipes that take an entity, or an instance of the model if the set has one.

At run time `writing` and `updating` are `recipe`: the set's adapter converts the arguments.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, overload

from typing_extensions import TypeVar

from ..argument_types import Arguments
from ..entity import Entity, Modify
from ..errors import TablePatternsError
from ..recipe import Account, Account_co, BlockingAccount, Pattern, recipe
from ..retry import RETRY_FOR
from .model_adapter import ModelAdapter

E = TypeVar("E", default=Entity)
"""The type of what the recipes of a set return: its model, or `Entity`."""
I = TypeVar("I")  # noqa: E741 - the argument of a recipe of a set without a model
M = TypeVar("M")
P = ParamSpec("P")
R = TypeVar("R", covariant=True)
T = TypeVar("T")


class Modeled(Pattern[Account_co], Generic[Account_co, E]):
    """A set whose recipes take and return instances of its model, or entities without one."""

    _adapter: ModelAdapter[Any] | None = None  # pyright: ignore[reportIncompatibleVariableOverride]

    _entities: Any = None

    def _without_model(self) -> Any:
        """Return a view of the set that takes and returns entities; the set itself if it has no model."""
        if self._adapter is None:
            return self
        if self._entities is None:
            self._entities = view = copy.copy(self)
            view._adapter, view._inner, view._plain = None, None, {}
        return self._entities


if TYPE_CHECKING:

    class writing(Generic[I, P, T]):  # noqa: N801 - it is used as a decorator
        """A recipe whose first argument is an entity."""

        def __init__(self, function: Callable[Concatenate[Any, I, P], Coroutine[Any, Any, T]]) -> None: ...
        @overload
        def __get__(
            self, pattern: Modeled[BlockingAccount, Entity], owner: Any = ...
        ) -> Callable[Concatenate[I, P], T]: ...
        @overload
        def __get__(
            self, pattern: Modeled[Account, Entity], owner: Any = ...
        ) -> Callable[Concatenate[I, P], Coroutine[Any, Any, T]]: ...
        @overload
        def __get__(self, pattern: Modeled[BlockingAccount, M], owner: Any = ...) -> Callable[Concatenate[M, P], T]: ...
        @overload
        def __get__(
            self, pattern: Modeled[Account, M], owner: Any = ...
        ) -> Callable[Concatenate[M, P], Coroutine[Any, Any, T]]: ...
        @overload
        def __get__(self, pattern: None, owner: Any = ...) -> Callable[..., Coroutine[Any, Any, T]]: ...
        def __get__(self, pattern: Any, owner: Any = None) -> Any: ...

    class _Updating(Protocol[M, R]):
        @overload
        def __call__(self, instance: M, /, *, retry_for: float = RETRY_FOR, **changes: Any) -> R: ...
        @overload
        def __call__(
            self,
            change: Callable[[M], M | None],
            key: Mapping[str, Any] | None = None,
            /,
            *,
            retry_for: float = RETRY_FOR,
            **fields: Any,
        ) -> R: ...

    class updating(Generic[P, T]):  # noqa: N801 - it is used as a decorator
        """The recipe `update`."""

        def __init__(self, function: Callable[Concatenate[Any, Modify, P], Coroutine[Any, Any, T]]) -> None: ...
        @overload
        def __get__(
            self, pattern: Modeled[BlockingAccount, Entity], owner: Any = ...
        ) -> Callable[Concatenate[Modify, P], Entity]: ...
        @overload
        def __get__(
            self, pattern: Modeled[Account, Entity], owner: Any = ...
        ) -> Callable[Concatenate[Modify, P], Coroutine[Any, Any, Entity]]: ...
        @overload
        def __get__(self, pattern: Modeled[BlockingAccount, M], owner: Any = ...) -> _Updating[M, M]: ...
        @overload
        def __get__(self, pattern: Modeled[Account, M], owner: Any = ...) -> _Updating[M, Coroutine[Any, Any, M]]: ...
        @overload
        def __get__(self, pattern: None, owner: Any = ...) -> Callable[..., Coroutine[Any, Any, T]]: ...
        def __get__(self, pattern: Any, owner: Any = None) -> Any: ...

    class planning(Generic[P, T]):  # noqa: N801 - it is used as a decorator
        """A method that returns the change of an entity without sending it."""

        def __init__(self, function: Callable[Concatenate[Any, Mapping[str, Any], P], T]) -> None: ...
        @overload
        def __get__(
            self, pattern: Modeled[Account, Entity], owner: Any = ...
        ) -> Callable[Concatenate[Mapping[str, Any], P], T]: ...
        @overload
        def __get__(self, pattern: Modeled[Account, M], owner: Any = ...) -> Callable[Concatenate[M, P], T]: ...
        @overload
        def __get__(self, pattern: None, owner: Any = ...) -> Callable[..., T]: ...
        def __get__(self, pattern: Any, owner: Any = None) -> Any: ...

else:
    writing = updating = recipe

    def planning(method: Callable[..., T]) -> Callable[..., T]:
        """Decorate a method that returns a change: accept instances of the model, and name the set in errors."""
        check = Arguments(method)

        @functools.wraps(method)
        def wrapper(pattern: Pattern[Account], /, *args: Any, **kwargs: Any) -> T:
            try:
                check.bind((pattern, *args), kwargs)
                if pattern._adapter is not None:
                    return pattern._adapter.plan(wrapper, pattern, args, kwargs)
                return method(pattern, *args, **kwargs)
            except TablePatternsError as error:
                error.locate(pattern.location)
                raise

        return wrapper
