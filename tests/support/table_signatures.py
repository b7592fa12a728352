"""Shared by tests of table SAS: signatures from the SDK, requests with them, and the errors."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import ResourceTypes, generate_account_sas, generate_table_sas

from support.table_requests import JSON, Wire
from tablepatterns_engine.account import Engine

URL = "https://contoso.table.core.windows.net"
NOW = datetime(2014, 8, 22, 0, 50, 32, 500_000, tzinfo=timezone.utc)
LATER = NOW + timedelta(hours=1)  # The SDK writes whole seconds: 01:50:32
UNAUTHORIZED = (403, "AuthorizationFailure", "This request is not authorized to perform this operation.")
NO_PERMISSION = (
    403,
    "AuthorizationPermissionMismatch",
    "This request is not authorized to perform this operation using this permission.",
)
FAILED = (403, "AuthenticationFailed")


def owner(engine: Engine) -> AzureNamedKeyCredential:
    return AzureNamedKeyCredential(engine.account_name, engine.account_key)


def table_sas(engine: Engine, permission: str | None = "raud", expiry: datetime | None = LATER, **options: Any) -> str:
    return generate_table_sas(owner(engine), "Employees", permission=permission, expiry=expiry, **options)


def account_sas(engine: Engine, types: str = "sco", permission: Any = "rwdlacu", **options: Any) -> str:
    options = {"expiry": LATER, **options}
    return generate_account_sas(owner(engine), ResourceTypes.from_string(types), permission, **options)


def ask(wire: Wire, sas: str, method: str, path: str, body: object = b"", **options: Any) -> Any:
    """Send a request with a signature; return its status or its error."""
    separator = "&" if "?" in path else "?"
    response = wire.send(
        method, f"{path}{separator}{sas}", {**JSON, **options.pop("headers", {})}, body, signed=False, **options
    )
    if response.status < 300:
        return response.status
    return wire.error(method, f"{path}{separator}{sas}", JSON, body, signed=False, **options)


def entity(row: str, partition: str = "p") -> dict[str, str]:
    return {"PartitionKey": partition, "RowKey": row}
