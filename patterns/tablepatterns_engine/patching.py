"""Answer the SDK clients that code under test creates by itself from in-memory accounts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final
from urllib.parse import urlsplit

from azure.core.pipeline import transport

from tablepatterns.argument_types import checked
from tablepatterns.connection import AZURITE_PORTS, CONNECTION_VARIABLE
from tablepatterns.errors import BadInput, BadTarget

from .account import Engine
from .http.authorization import TrustTokens
from .transport import AioEngineTransport, EngineTransport

_ACCOUNT: Final = re.compile(r"(?P<account>[a-z0-9]+)(?:-secondary)?(?:\.z\d+)?\.(?:table|queue|blob)\..+")
_EMULATOR: Final = ("127.0.0.1", "localhost")


@contextmanager
@checked
def patch_azure(*engines: Engine, trust_tokens: TrustTokens = True) -> Generator[Engine, None, None]:
    """Answer every SDK client of tables, queues and blobs from memory while the block lasts.

    Use it to test code that creates its own clients. Clients that exist already are patched too. For code that takes a
    client or a `Storage`, pass one of `connect()` instead: nothing needs to be patched.

    >>> import os
    >>> from azure.data.tables import TableServiceClient
    >>> def count_tables():  # The code under test
    ...     with TableServiceClient.from_connection_string(os.environ["AZURE_STORAGE_CONNECTION_STRING"]) as client:
    ...         return len(list(client.list_tables()))
    >>> with patch_azure() as engine:
    ...     engine.tables.create("Employees")
    ...     count_tables()
    1

    The environment variable `AZURE_STORAGE_CONNECTION_STRING` names the first account in the block. A request to any
    other storage account is an error, so that no test reaches a real one by mistake; requests to other services, such
    as that for a token, are sent. The back-off of the SDK's retries moves the accounts' clocks instead of waiting.

    Clients with a transport of their own are not patched. Tests that run in parallel in threads share the patch.

    :param engines: the accounts, by default one with the name and key of the storage emulators
    :param trust_tokens: whether the accounts accept bearer tokens, as for `EngineTransport`
    :raises BadInput: two accounts have the same name
    """
    # Imported here because it is slow, and every in-memory account imports this module
    from unittest import mock

    accounts = {engine.account_name: engine for engine in engines or (Engine(),)}
    if len(accounts) < len(engines):
        names = ", ".join(engine.account_name for engine in engines)
        raise BadInput("engines", names, "two accounts have the same name", "give each Engine its own name")
    first = next(iter(accounts.values()))
    senders = {name: EngineTransport(engine, trust_tokens=trust_tokens) for name, engine in accounts.items()}
    aio_senders = {name: AioEngineTransport(engine, trust_tokens=trust_tokens) for name, engine in accounts.items()}

    def sleep(_: object, duration: float) -> None:
        for engine in accounts.values():
            engine.clock.sleep(duration)

    async def aio_sleep(_: object, duration: float) -> None:
        sleep(_, duration)

    named = f"AccountName={first.account_name};AccountKey={first.account_key}"
    connection_string = f"DefaultEndpointsProtocol=https;{named};EndpointSuffix=core.windows.net"
    with ExitStack() as patches:
        patches.enter_context(mock.patch.dict(os.environ, {CONNECTION_VARIABLE: connection_string}))
        # The clients of single tables wrap their transport, and sleep by the method that it inherits
        patches.enter_context(mock.patch.object(transport.HttpTransport, "sleep", sleep))
        patches.enter_context(mock.patch.object(transport.AsyncHttpTransport, "sleep", aio_sleep))
        for name, by_account in (
            ("RequestsTransport", senders),
            ("AioHttpTransport", aio_senders),
            ("AsyncioRequestsTransport", aio_senders),
        ):
            with suppress(ImportError):  # A transport whose HTTP library is not installed cannot be used either
                sdk = getattr(transport, name)
                patches.enter_context(mock.patch.object(sdk, "send", _send(by_account, sdk.send)))
        yield first


def _send(by_account: Mapping[str, Any], send: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of a transport, sync or async, that passes storage requests to the accounts in memory."""

    def sent(sdk: object, request: Any, **options: Any) -> Any:
        account = _account_of(request.url)
        if account is None:
            return send(sdk, request, **options)
        if account not in by_account:
            rule = f"it is not in memory, and {', '.join(by_account)} is"
            raise BadTarget("account", account, rule, f"pass Engine({account!r}) to patch_azure")
        return by_account[account].send(request, **options)

    return sent


def _account_of(url: str) -> str | None:
    address = urlsplit(url)
    match = _ACCOUNT.fullmatch(address.hostname or "")
    if match:
        return match["account"]
    if address.hostname in _EMULATOR and address.port in AZURITE_PORTS.values():
        return address.path.split("/")[1].removesuffix("-secondary")
    return None
