"""Load the object that a command names as `package.module:name`, and run its recipes."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
from collections.abc import Coroutine
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from ..errors import BadInput
from ..recipe import Account, finish, is_sync
from ..sdk.call import settled
from ..storage import connect

T = TypeVar("T")


def load(name: str, kind: type[Any] | tuple[type[Any], ...], noun: str, storage: str | None = None) -> Any:
    """Return an object that the user's code declares.

    It is an attribute of a module, a function that returns the object, or a function that takes a storage and returns
    the object. Modules in the current folder are found, too.

    :param name: where it is, as `package.module:name`
    :param noun: what errors call it, such as "set"
    :param storage: the target of the function's storage, as for `connect`; None for a function without parameters
    """
    hint = f"give package.module:{noun}, or a function that returns it"
    value = _attribute(name, noun, hint)
    if storage is not None:
        if not callable(value) or not inspect.signature(value).parameters:
            rule = f"--storage needs a function that takes the storage and returns the {noun}"
            raise BadInput(noun, name, rule, f"define such a function, or leave out --storage to use the {noun}'s own")
        value = value(connect(storage))
    elif not isinstance(value, kind) and callable(value):
        if inspect.signature(value).parameters:
            raise BadInput(noun, name, "it is a function of a storage", "say which one, such as --storage env")
        value = value()
    if not isinstance(value, kind):
        raise BadInput(noun, name, f"it is of the type {type(value).__name__}", hint)
    return value


def module_of(name: str) -> ModuleType:
    """Return a module by its name; modules in the current folder are found, too."""
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # A module that this one imports may be missing, which is another mistake
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        hint = "give the module without a name in it" if ":" in name else "check the name and the folder"
        raise BadInput("module", name, f"module {error.name!r} was not found", hint) from error


def _attribute(name: str, noun: str, hint: str) -> Any:
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise BadInput(noun, name, "it is not a module and a name", hint)
    module = module_of(module_name)
    if not hasattr(module, attribute):
        raise BadInput(noun, name, f"{module_name} has no attribute {attribute!r}", hint)
    return getattr(module, attribute)


def run(work: Coroutine[Any, Any, T], *accounts: Account) -> T:
    """Finish calls of patterns that are bound with `bound_async`, on accounts of one kind, and close the accounts.

    Accounts in memory stay open: what declares them in this process has nothing but its connection to them.
    """
    to_close: dict[int, Any] = {
        id(account): account for account in accounts if getattr(account, "engine", None) is None
    }

    async def closing() -> T:
        try:
            return await work
        finally:
            for account in to_close.values():
                await settled(account.close())

    return finish(closing()) if is_sync(accounts[0]) else asyncio.run(closing())
