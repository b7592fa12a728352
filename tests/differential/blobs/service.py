"""The Blob service in the comparison."""

from __future__ import annotations

from azure.storage.blob import BlobLeaseClient

from conformance.raw_storage import RawBlobs
from differential.account import Account
from differential.blobs.answers import normal, note_versions
from differential.blobs.exclusions import EXCLUSIONS
from differential.blobs.machine import BlobsMachine
from differential.blobs.state import homes_in
from differential.blobs.strategies import PREFIX
from differential.service import Service


def _empty(account: Account) -> None:
    for container in account.service.list_containers(name_starts_with=PREFIX):
        client = account.service.get_container_client(container.name)
        if container.lease.status == "locked":
            BlobLeaseClient(client).break_lease(lease_break_period=0)
        client.delete_container()


BLOBS = Service("blobs", RawBlobs, BlobsMachine, _empty, homes_in, normal, note_versions, EXCLUSIONS)
