"""Serve an in-memory account over HTTP: `tablepatterns serve`."""

from __future__ import annotations

import os
from typing import Annotated, Any, Final

import typer

from tablepatterns_engine.account import DEVELOPMENT_NAME
from tablepatterns_engine.server.listeners import KEY_VARIABLE, LOOPBACK, PORTS, Listeners, engine_of

from .output import Result, command, fail, new_app

_MAX_PORT: Final = 65535
app = new_app()


def _port(service: str) -> Any:
    return typer.Option(min=0, max=_MAX_PORT, help=f"Where the {service} service listens; 0: on any free port.")


@command(app)
def serve(
    table_port: Annotated[int, _port("Table")] = PORTS["table"],
    queue_port: Annotated[int, _port("Queue")] = PORTS["queue"],
    blob_port: Annotated[int, _port("Blob")] = PORTS["blob"],
    host: Annotated[str, typer.Option(help="The address of this machine to listen on.")] = LOOPBACK,
    anywhere: Annotated[
        bool, typer.Option("--anywhere", help="Let the address be one that other machines can reach.")
    ] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Another name that requests and pages may use for it; several times.")
    ] = None,
    account: Annotated[str, typer.Option(help="The name of the account.")] = DEVELOPMENT_NAME,
    keep_blob_versions: Annotated[
        bool, typer.Option("--keep-blob-versions", help="Keep the previous versions of blobs.")
    ] = False,
    as_json: bool = False,
) -> None:
    """Serve an in-memory account over HTTP until Ctrl+C or SIGTERM; its data is not saved.

    The ports are Azurite's, so that UseDevelopmentStorage=true reaches them from any SDK. The account's name and key
    are the published ones of the storage emulators: anyone who can reach the ports has full access. To use another
    key, set the environment variable TABLEPATTERNS_ACCOUNT_KEY; it is never shown.
    """
    ports = {"blob": blob_port, "queue": queue_port, "table": table_port}
    from tablepatterns_engine.serving import serve as answer

    engine = engine_of(account, os.environ)
    if keep_blob_versions:
        engine.keep_blob_versions = True
    try:
        listeners = Listeners(host, ports, anywhere=anywhere, allow_hosts=allow_host or ())
    except OSError as error:
        fail(f"{error.strerror}: choose another port, such as 0 for any that is free", as_json=as_json)
    urls = listeners.urls(engine.account_name)
    key = f"${{{KEY_VARIABLE}}}" if KEY_VARIABLE in os.environ else None
    connection_string = listeners.connection_string(engine, key)
    lines = (f"{service:<5}  {url}" for service, url in urls.items())
    result = Result(
        {"urls": urls, "connection_string": connection_string},
        (*lines, "", connection_string, "", "Stop it with Ctrl+C; nothing is kept."),
    )
    result.print(as_json=as_json)
    answer(engine, listeners)
