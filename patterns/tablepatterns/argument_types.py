"""Check arguments against the annotations of a function.

A recipe, and any function decorated with `checked`, rejects an argument of a wrong type before it does anything. This
is stricter than `isinstance`: a str is not a sequence of str, a bool is not an int, and NaN is not a number.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import math
import sys
import types
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from numbers import Integral, Real
from typing import IO, Any, Final, Literal, TypeGuard, TypeVar, Union, cast, get_args, get_origin

from typing_extensions import get_protocol_members, is_protocol

from .errors import NOT_SHOWN, BadDesign, BadFilter, BadInput, BadProperty, BadTableName, BadToken

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_ERRORS: Final[Mapping[str, type[BadInput]]] = {
    "content": BadProperty,
    "table": BadTableName,
    "where": BadFilter,
    "token": BadToken,
    "resume": BadToken,
}
"""The error for an argument of a wrong type, by the name of the parameter; `BadInput` for others."""
_HINTS: Final[Mapping[str, str]] = {
    "where": "build it with prop(), or parse the text with parse()",
    "select": "pass a list of names, such as ['Age']",
    "allow": "pass a QueryClass, such as QueryClass.TABLE_SCAN",
    "entity": "pass an entity that was read, or a mapping of its fields",
    "change": "pass a function without async that may change it in place and return None, or returns all fields",
}
_NO_ASYNC: Final = "pass a function without async"
_NO_YIELD: Final = "pass a function without yield"
_WORDS: Final[Mapping[str, str]] = {
    "Account": "an account from connect()",
    "Derived": "an index or Summary",
    "Handler": "a recipe with a queue (such as Archive)",
    "Index": "an IntraPartitionIndex or InterPartitionIndex",
    "KeyEncryptionKey": "a LocalKey or VaultKey",
    "KeyRange": "a key range of a Key",
    "Lists": "an IndexEntity",
    "PropertyMapping": "a property mapping, such as LargeProperties",
    "QueueHandler": "a recipe with a queue (such as Archive)",
    "RekeyReport": "a report of verify",
    "Report": "a report of verify",
    "Shape": "an entity type of a design",
    "Store": "a BlobArchive",
    "Totals": "a Summary",
    "Watched": "an account from connect()",
    "Workers": "workers of tablepatterns.jobs",
    "Write": "a change (such as inserting() returns)",
}
"""What errors call classes that callers do not create by name."""
_LAZY_NAMES: Final[Mapping[str, str]] = {"Lists": ".entity_set.shared_rows", "Totals": ".entity_set.shared_rows"}
"""The modules of classes that annotations name, and that are loaded only where a set needs them."""
_SECRET: Final = frozenset(
    {"amount", "blind_key", "body", "changes", "content", "credential", "entity", "fields", "keys"}
    | {"message", "secret", "text", "value", "values"}
)
"""The parameters whose values errors do not show."""


@dataclass(frozen=True)
class Kind:
    """The type of a parameter: its name in errors, and whether a value fits."""

    text: str
    fits: Callable[[Any], bool]
    part: Kind | None = None
    """The type of the elements of a collection."""
    exact: frozenset[type[Any]] = frozenset()
    """Types whose direct instances fit without a further check."""

    def instead(self, value: object) -> str:
        if self.part and isinstance(value, Collection) and not isinstance(value, (str, bytes, bytearray)):
            values = cast("Collection[object]", value)
            wrong = next((item for item in values if not self.part.fits(item)), None)
            return f"a {type(values).__name__} with {_type_of(wrong)} in it"
        return _type_of(value)


def check_least(name: str, number: float, least: float, error: type[BadInput] = BadInput) -> None:
    if number < least:
        raise error(name, number, f"it must be at least {least:g}", f"pass {least:g} or more")


def checked(function: F) -> F:
    """Make a function or a method check its arguments; `__init__` raises `BadDesign`."""
    checked_call = Arguments(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return checked_call(args, kwargs)

    return cast("F", call)


class Arguments:
    """Checks the arguments of a function except `self`, and calls it; annotations are evaluated on the first call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._error: type[BadInput] = BadDesign if function.__name__ == "__init__" else BadInput
        self._positional: Sequence[tuple[str, Kind | None]] | None = None
        self._named: Mapping[str, Kind] = {}
        self._rest: tuple[str, Kind] | None = None

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return what the function returns for these arguments, `self` included."""
        if self._positional is None:
            self._declare()
        positional = self._positional or ()
        for (name, kind), value in zip(positional, args, strict=False):
            if kind is not None and type(value) not in kind.exact and not kind.fits(value):
                self._refuse(args, name, value, kind)
        if self._rest is not None:
            name, kind = self._rest
            for value in args[len(positional) :]:
                if not kind.fits(value):
                    self._refuse(args, name, value, kind)
        if self._named:
            for name, value in kwargs.items():
                kind = self._named.get(name)
                if kind is not None and type(value) not in kind.exact and not kind.fits(value):
                    self._refuse(args, name, value, kind)
        try:
            return self._function(*args, **kwargs)
        except TypeError:
            # Of the call, or of the function's own code
            self._check_binding(args, kwargs)
            raise

    def _check_binding(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Reject a call with too many or too few arguments, or with unknown ones; the error has the public name."""
        signature = inspect.signature(self._function)
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            text = str(error).replace("missing a required", "missing 1 required")
            if text.startswith(("too many", "multiple")):
                text = f"got {text}"
            parameters = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
            name, untyped = self._function.__name__, inspect.Signature(parameters)
            if parameters[0].name in ("self", "cls"):
                kind = args[0].__name__ if isinstance(args[0], type) else type(args[0]).__name__
                name, untyped = kind if name == "__init__" else f"{kind}.{name}", inspect.Signature(parameters[1:])
            raise TypeError(f"{name}() {text}; call {name}{untyped}") from None

    def _declare(self) -> None:
        kinds = parameter_kinds(self._function)
        positional: list[tuple[str, Kind | None]] = []
        named_kinds: dict[str, Kind] = {}
        for parameter in inspect.signature(self._function).parameters.values():
            kind = kinds[parameter.name]
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                positional.append((parameter.name, kind))
            if kind is not None and parameter.kind is parameter.VAR_POSITIONAL:
                self._rest = parameter.name, kind
            elif kind is not None and parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                named_kinds[parameter.name] = kind
        self._named, self._positional = named_kinds, positional

    def _refuse(self, args: Sequence[Any], name: str, value: object, kind: Kind) -> None:
        shown_value = NOT_SHOWN if name in _SECRET and value is not None else value
        rule = f"it must be {kind.text}, not {kind.instead(value)}"
        hint = _HINTS.get(name) or _hint_for(value) or f"pass {kind.text}"
        raise _ERRORS.get(name, self._error)(name, shown_value, rule, hint)


def _hint_for(value: object) -> str:
    """Return what to pass in place of a function that a call would not run, or of a list or tuple that has one."""
    if isinstance(value, (list, tuple)):
        hints = map(_hint_for, cast("Iterable[object]", value))
        return next((hint for hint in hints if hint), "")
    if is_generator(value):
        return _NO_YIELD
    return _NO_ASYNC if is_async(value) else ""


def _type_of(value: object) -> str:
    if is_generator(value):
        return "a function with yield"
    if is_async(value):
        return "an async function"
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return "None" if value is None else type(value).__name__


def parameter_kinds(function: Callable[..., Any], *, strict: bool = False) -> dict[str, Kind | None]:
    """Return what each parameter of a function takes, by its annotation; None for anything.

    :param strict: whether to raise an error if an annotation cannot be evaluated, such as a name that only type
        checkers import; otherwise the parameter takes anything
    """
    names = _Names(getattr(inspect.unwrap(function), "__globals__", {}))
    kinds: dict[str, Kind | None] = {}
    for parameter in inspect.signature(function).parameters.values():
        is_open = parameter.annotation is parameter.empty or parameter.kind is parameter.VAR_KEYWORD
        annotation: Any = Any if is_open else parameter.annotation
        try:
            if isinstance(annotation, str):
                annotation = eval(annotation, {}, names)  # noqa: S307 - our own text
            kinds[parameter.name] = kind_of(annotation)
        except Exception:
            if strict:
                raise
            kinds[parameter.name] = None
    return kinds


class _Names(dict[str, Any]):
    """The names in annotations: those of the module, and public names of layers above, which it does not import."""

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            return getattr(builtins, name)
        package = __name__.partition(".")[0]
        home = import_module(_LAZY_NAMES[name], package) if name in _LAZY_NAMES else sys.modules[package]
        try:
            return getattr(home, name)
        except AttributeError as error:
            raise KeyError(name) from error


def kind_of(annotation: Any) -> Kind | None:
    if isinstance(annotation, TypeVar):
        bound = annotation.__bound__
        return kind_of(bound) if isinstance(bound, type) or get_origin(bound) else None
    if annotation is Any or annotation is object:
        return None
    if annotation is None or annotation is type(None):
        return Kind("None", lambda value: value is None, exact=frozenset({type(None)}))
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _any_of([kind_of(part) for part in inner])
    if origin is Literal:
        return Kind(" or ".join(map(repr, inner)), lambda value: isinstance(value, str) and value in inner)
    if _is_a(origin, Iterable):
        return _many_of(origin, inner)
    if origin is type or annotation is type:
        return Kind("a class", lambda value: isinstance(value, type))
    if origin is Callable:
        may_wait = inner[-1] is Any or _returns(inner[-1], Awaitable)
        may_yield = _returns(inner[-1], Iterator)

        def runs(value: object) -> bool:
            return callable(value) and (may_wait or not is_async(value)) and (may_yield or not is_generator(value))

        return Kind("a callable", runs)
    return _one_of(annotation if origin is None else origin)


def _returns(annotation: Any, kind: type) -> bool:
    if get_origin(annotation) in (Union, types.UnionType):
        return any(_returns(part, kind) for part in get_args(annotation))
    return _is_a(get_origin(annotation) or annotation, kind)


def is_async(function: object) -> bool:
    """Return whether a function, or an object that is called like one, must be awaited."""
    body = _function_of(function)
    return inspect.iscoroutinefunction(body) or inspect.isasyncgenfunction(body)


def is_generator(function: object) -> bool:
    """Return whether a function, or an object that is called like one, has a `yield`, so a call does not run it."""
    body = _function_of(function)
    return inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body)


def _function_of(function: object) -> object:
    """Return the function that runs when an object is called; None for a class, and for what cannot be called."""
    while isinstance(function, functools.partial):
        function = cast("functools.partial[object]", function).func
    if not callable(function):
        return None
    # Not unwrapped: a plain function may wrap an async one and run it to the end
    return function if inspect.isroutine(function) else type(function).__call__


def check_has_run(name: str, result: object) -> None:
    """Reject what a caller's function returned if the function has not run yet, such as a coroutine from a lambda."""
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise BadInput(name, type(result).__name__, "it returned a generator, which is not iterated here", _NO_YIELD)
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            # So that Python does not warn
            result.close()
        raise BadInput(name, type(result).__name__, "it returned an awaitable, which is not awaited here", _NO_ASYNC)


def _any_of(kinds: Sequence[Kind | None]) -> Kind | None:
    typed_kinds = [kind for kind in kinds if kind is not None]
    if len(typed_kinds) < len(kinds):
        return None
    fits = tuple(kind.fits for kind in typed_kinds)
    text = " or ".join(dict.fromkeys(kind.text for kind in typed_kinds))
    part = next((kind.part for kind in typed_kinds if kind.part), None)
    exact = frozenset[type[Any]]().union(*(kind.exact for kind in typed_kinds))
    return Kind(text, lambda value: any(check(value) for check in fits), part, exact)


def _one_of(kind: type[Any]) -> Kind:
    if kind is int:
        return Kind("an int", lambda value: _is_real(value, Integral), exact=frozenset({int}))
    if kind is float:
        # Not float, which may be NaN
        return Kind("a number", lambda value: _is_real(value) and not math.isnan(value), exact=frozenset({int}))
    if kind is IO:
        return Kind("a file", lambda value: hasattr(value, "read"))
    if is_protocol(kind):
        members = tuple(get_protocol_members(kind))
        text = _WORDS.get(kind.__name__, f"an object with {', '.join(sorted(members))}")
        return Kind(text, lambda value: not isinstance(value, type) and all(hasattr(value, name) for name in members))
    article = "an" if kind.__name__[0] in "AEIOU" else "a"
    text = _WORDS.get(kind.__name__, f"{article} {kind.__name__}")
    return Kind(text, lambda value: isinstance(value, kind), exact=frozenset({kind}))


def _is_real(value: object, kind: Any = Real) -> TypeGuard[Real]:
    return isinstance(value, kind) and not isinstance(value, bool)


def _is_a(kind: Any, base: type[Any]) -> bool:
    """Whether something is a subclass of a base, without narrowing its type for type checkers."""
    return isinstance(kind, type) and issubclass(kind, base)


def _many_of(origin: type[Any], inner: Sequence[Any]) -> Kind:
    """Return the kind of a collection, and of its elements if reading them does not exhaust it."""
    if _is_a(origin, Mapping):
        # Of a mapping to anything, such as an entity, the names are checked with the values
        pair = None if inner[-1] is Any or inner[-1] is object else (kind_of(inner[0]), kind_of(inner[1]))
        return _mapping_of(origin, pair)
    if _is_a(origin, tuple) and inner[-1] is not Ellipsis:
        parts = [kind_of(part) for part in inner]
        text = f"a tuple of {len(parts)}"
        return Kind(text, lambda value: _is_a(type(value), tuple) and len(value) == len(parts) and _fit(parts, value))
    part = kind_of(inner[0])
    noun = origin.__name__.lower()
    text = f"{'an' if noun[0] in 'aeiou' else 'a'} {noun} of {part.text.partition(' ')[2] if part else 'anything'}"

    def fits(value: Any) -> bool:
        if isinstance(value, (str, bytes, bytearray)) or not isinstance(value, origin):
            return False
        return part is None or not _is_a(type(value), Collection) or all(map(part.fits, value))

    return Kind(text, fits, part)


def _fit(kinds: Sequence[Kind | None], values: Sequence[Any]) -> bool:
    return all(kind is None or kind.fits(value) for kind, value in zip(kinds, values, strict=True))


def _mapping_of(origin: type[Any], pair: tuple[Kind | None, Kind | None] | None) -> Kind:
    if pair is None:
        exact = frozenset({dict}) if issubclass(dict, origin) else frozenset[type[Any]]()
        return Kind("a mapping", lambda value: isinstance(value, origin), exact=exact)

    def fits(value: Any) -> bool:
        return isinstance(value, origin) and all(_fit(pair, item) for item in value.items())

    text = " to ".join(kind.text.partition(" ")[2] if kind else "anything" for kind in pair)
    return Kind(f"a mapping of {text}", fits)
