"""Keep the tests on an account that lives longer than they do apart: delete what a test created, and nothing else."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any, cast

from azure.core.exceptions import ResourceNotFoundError

from ..storage import connect
from ..traffic import Traffic

_CREATED = {"CreateTable": (201, 204), "CreateQueue": (201,), "CreateContainer": (201,)}
"""The operations that create something, with their status if it was not there before."""
_MAX_REQUESTS = 10_000_000


class NotIsolated(Exception):
    """A test used a table, queue or container that it did not create."""


@contextmanager
def isolated(target: str) -> Generator[None, None, None]:
    """Delete what the block creates with clients of this account; NotIsolated if it used anything else, which stays."""
    with connect(target) as storage:
        with Traffic(storage, everywhere=True, max_requests=_MAX_REQUESTS) as traffic:
            yield
        created: set[tuple[str, str]] = set()
        used: set[tuple[str, str]] = set()
        for request in traffic.requests:
            if request.resource is None:
                continue
            if request.status in _CREATED.get(request.operation, ()):
                created.add((request.service, request.resource))
            # A conflict is with what existed
            elif 0 < request.status < 400 or (request.operation in _CREATED and request.status == 409):
                used.add((request.service, request.resource))
        for service, name in sorted(created):
            with suppress(ResourceNotFoundError):
                if service == "table":
                    cast("Any", storage.tables).delete_table(name)
                elif service == "queue":
                    storage.queues.delete_queue(name)
                else:
                    storage.blobs.delete_container(name)
    foreign = sorted(f"{service} {name!r}" for service, name in used - created)
    if foreign:
        raise NotIsolated(
            f"This test used {', '.join(foreign)}, which it did not create with azure_storage or azure_aio_storage: "
            "others may use it, and it is not deleted. Delete it, or take a new name from azure_name."
        )
