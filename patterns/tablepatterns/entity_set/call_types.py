"""The types of calls that take an entity, or an instance of the model if the set has one."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, cast, overload

from ..argument_types import Arguments, Kind, checked
from ..entity import Entity, Modify
from ..key import K, Key
from ..recipe import Account, Account_co, BlockingAccount, Pattern, located, recipe
from ..retry import RETRY_FOR
from .commit import E

if TYPE_CHECKING:
    from .model_layer import ModelLayer

I = TypeVar("I")  # noqa: E741 - the argument of a recipe of a set without a model
K2 = TypeVar("K2")
M = TypeVar("M")
P = ParamSpec("P")
R = TypeVar("R", covariant=True)
T = TypeVar("T")


class Modeled(Pattern[Account_co], Generic[Account_co, E, K]):
    """A set whose calls take and return instances of its model, or entities without one."""

    _layer: ModelLayer[E] | None = None
    """Converts between instances and entities; None without a model."""
    _entities: Any = None

    def _without_model(self) -> Any:
        """Return a view of the set that takes and returns entities; the set itself if it has no model."""
        if self._layer is None:
            return self
        if self._entities is None:
            view = copy.copy(self)
            view._layer, view._inner, view._plain = None, None, {}
            self._entities = view
        return self._entities

    def _bind_view(self) -> None:
        if self._layer is not None:
            hooks: Any = self
            self._layer = self._layer.over(hooks)

    @checked
    def entity_of(self, instance: E) -> Entity:
        """Return the entity of a model instance, for recipes that take entities; nothing is sent.

        It has the ETag from when the instance was read or written; a new instance becomes an entity without one.

        :raises BadProperty: a value does not fit its field
        """
        return cast("Entity", instance if self._layer is None else self._layer.adapter.entity_of(instance))

    @checked
    def instance_of(self, entity: Entity) -> E:
        """Return the model instance of an entity that another recipe read from or wrote to this set; nothing is sent.

        :raises UnrecognizedEntity: the entity does not fit the model
        """
        return cast("E", entity if self._layer is None else self._layer.adapter.instance_of(entity))


class _InstanceArguments(Arguments):
    """Checks the arguments of a call that takes an instance, if the set has a model."""

    def _refuse(self, args: Sequence[Any], name: str, value: object, kind: Kind) -> None:
        layer: ModelLayer[Any] | None = args[0]._layer
        if layer is None or not layer.takes(name, value):
            super()._refuse(args, name, value, kind)


if TYPE_CHECKING:
    SyncSet: TypeAlias = Modeled[BlockingAccount, M, Any]
    AnySet: TypeAlias = Modeled[Account, M, Any]
    Awaited: TypeAlias = Coroutine[Any, Any, T]

    class _Keyed(Protocol[K2]):
        @property
        def key(self) -> Key[K2]: ...

    class _Find(Protocol[R]):
        def __call__(self, via: _Keyed[K2], key: K2 | None = None, /, **fields: Any) -> R: ...

    class finding(Generic[T]):  # noqa: N801 - it is used as a decorator
        """The recipe `find`, which takes the class of the key of an index."""

        def __init__(self, function: Callable[..., Awaited[T]]) -> None: ...
        @overload
        def __get__(self, pattern: SyncSet[Any], owner: Any = ...) -> _Find[T]: ...
        @overload
        def __get__(self, pattern: AnySet[Any], owner: Any = ...) -> _Find[Awaited[T]]: ...
        @overload
        def __get__(self, pattern: None, owner: Any = ...) -> Callable[..., Awaited[T]]: ...
        def __get__(self, pattern: Any, owner: Any = None) -> Any: ...

    class writing(Generic[I, P, T]):  # noqa: N801 - it is used as a decorator
        """A recipe whose first argument is an entity."""

        def __init__(self, function: Callable[Concatenate[Any, I, P], Awaited[T]]) -> None: ...
        @overload
        def __get__(self, pattern: SyncSet[Entity], owner: Any = ...) -> Callable[Concatenate[I, P], T]: ...
        @overload
        def __get__(self, pattern: AnySet[Entity], owner: Any = ...) -> Callable[Concatenate[I, P], Awaited[T]]: ...
        @overload
        def __get__(self, pattern: SyncSet[M], owner: Any = ...) -> Callable[Concatenate[M, P], T]: ...
        @overload
        def __get__(self, pattern: AnySet[M], owner: Any = ...) -> Callable[Concatenate[M, P], Awaited[T]]: ...
        @overload
        def __get__(self, pattern: None, owner: Any = ...) -> Callable[..., Awaited[T]]: ...
        def __get__(self, pattern: Any, owner: Any = None) -> Any: ...

    class _Updating(Protocol[M, R]):
        @overload
        def __call__(self, instance: M, /, *, retry_for: float = RETRY_FOR, **changes: Any) -> R: ...
        @overload
        def __call__(
            self, change: Callable[[M], M | None], key: object = None, /, *, retry_for: float = RETRY_FOR, **fields: Any
        ) -> R: ...

    class updating(Generic[P, T]):  # noqa: N801 - it is used as a decorator
        """The recipe `update`."""

        def __init__(self, function: Callable[Concatenate[Any, Modify, P], Awaited[T]]) -> None: ...
        @overload
        def __get__(self, pattern: SyncSet[Entity], owner: Any = ...) -> Callable[Concatenate[Modify, P], Entity]: ...
        @overload
        def __get__(
            self, pattern: AnySet[Entity], owner: Any = ...
        ) -> Callable[Concatenate[Modify, P], Awaited[Entity]]: ...
        @overload
        def __get__(self, pattern: SyncSet[M], owner: Any = ...) -> _Updating[M, M]: ...
        @overload
        def __get__(self, pattern: AnySet[M], owner: Any = ...) -> _Updating[M, Awaited[M]]: ...
        @overload
        def __get__(self, pattern: None, owner: Any = ...) -> Callable[..., Awaited[T]]: ...
        def __get__(self, pattern: Any, owner: Any = None) -> Any: ...

    class planning(Generic[P, T]):  # noqa: N801 - it is used as a decorator
        """A method that returns the change of an entity without sending it."""

        def __init__(self, function: Callable[Concatenate[Any, Mapping[str, Any], P], T]) -> None: ...
        @overload
        def __get__(
            self, pattern: AnySet[Entity], owner: Any = ...
        ) -> Callable[Concatenate[Mapping[str, Any], P], T]: ...
        @overload
        def __get__(self, pattern: AnySet[M], owner: Any = ...) -> Callable[Concatenate[M, P], T]: ...
        @overload
        def __get__(self, pattern: None, owner: Any = ...) -> Callable[..., T]: ...
        def __get__(self, pattern: Any, owner: Any = None) -> Any: ...

else:
    finding = recipe

    def writing(function: Callable[..., Any]) -> Any:
        return recipe(function, _InstanceArguments(function))

    updating = writing

    def planning(method: Callable[..., T]) -> Callable[..., T]:
        """Decorate a method that returns the change of an entity or an instance; its errors name the table."""
        call = _InstanceArguments(method)

        @functools.wraps(method)
        def wrapper(pattern: Pattern[Account], /, *args: Any, **kwargs: Any) -> T:
            return call((pattern, *args), kwargs)

        return located(wrapper)
