"""The properties of a service, as the tests of blobs, queues and tables set, compare and restore them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.backends import Backend

owns_account = pytest.mark.owns_account("the properties are those of the whole service")
geo_replicated = pytest.mark.owns_account("an account has a secondary endpoint only if it is replicated")


def plain(value: Any) -> Any:
    """Return a model of the SDK as what can be compared."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if hasattr(value, "__dict__"):
        return {name: plain(part) for name, part in vars(value).items() if not name.startswith("_")}
    return value


async def properties(service: Any) -> dict[str, Any]:
    """Return the properties that a service has, to be compared."""
    return {name: plain(value) for name, value in (await service.get_service_properties()).items()}


def defaults_of(backend: Backend, service: Any, logging: Any, metrics: Any) -> Iterator[dict[str, Any]]:
    """Give the properties of a new account, which the account has before the test and after it.

    :param logging: the SDK's class for what is logged
    :param metrics: and for what is measured
    """

    async def reset() -> dict[str, Any]:
        new = {"analytics_logging": logging(), "hour_metrics": metrics(), "minute_metrics": metrics(), "cors": []}
        await service.set_service_properties(**new)
        return await properties(service)

    yield backend.run(reset())
    backend.run(reset())
