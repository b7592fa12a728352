"""Checks of the whole state of an account's tables, queues and blobs: whether the engine left it sound."""

from __future__ import annotations

from typing import Any

from tablepatterns.edm import Ticks, ordinal
from tablepatterns.limits import LEASE_MAX_DURATION, LEASE_MIN_DURATION
from tablepatterns_engine.blobs.blob import Blob, Kind
from tablepatterns_engine.blobs.leases import INFINITE, NO_LEASE, Lease
from tablepatterns_engine.blobs.service import Blobs
from tablepatterns_engine.blobs.state import Container, Slot
from tablepatterns_engine.collections import OrderedMap
from tablepatterns_engine.queues.service import Queue, Queues, check_text
from tablepatterns_engine.tables.entities import check_key, check_size, checked_size
from tablepatterns_engine.tables.service import Table, Tables


def check_tables(tables: Tables) -> None:
    with tables._lock:
        _check_order(tables._tables)
        for table in tables._tables.walk():
            if tables.table(table.name) is not table:
                raise AssertionError(f"table {table.name!r} is filed under another name")
            _check_table(table)


def check_queues(queues: Queues) -> None:
    with queues._lock:
        _check_order(queues._queues)
        for queue in queues._queues.walk():
            if queues._queue(queue.name) is not queue:
                raise AssertionError(f"queue {queue.name!r} is filed under another name")
            _check_queue(queue)


def check_blobs(blobs: Blobs) -> None:
    containers = blobs.containers
    with containers._lock:
        _check_order(containers._containers)
        for container in containers._containers.walk():
            if containers.find(container.properties.name) is not container:
                raise AssertionError(f"container {container.properties.name!r} is filed under another name")
            _check_container(container)


def _check_order(values: OrderedMap[Any]) -> None:
    """Assert that the order contains each key exactly once, sorted."""
    values._order._check()
    if list(values._order) != sorted(values.keys()):
        raise AssertionError(f"the order {list(values._order)} is not that of {sorted(values.keys())}")


def _check_table(table: Table) -> None:
    """Assert that entities are stored under their own keys and are valid, and that no partition is empty."""
    _check_order(table.partitions)
    for partition in table.partitions.walk():
        _check_order(partition)
        if not partition or table.partitions.get(ordinal(partition.key)) is not partition:
            raise AssertionError(f"partition {partition.key!r} is empty, or filed under another key")
        for entity in partition.walk():
            if table.find(entity.partition_key, entity.row_key) is not entity:
                raise AssertionError(f"{entity!r} is filed under other keys")
            check_key("PartitionKey", entity.partition_key, in_body=True)
            check_key("RowKey", entity.row_key, in_body=True)
            properties = entity.properties
            check_size(checked_size(entity.partition_key, entity.row_key, properties), properties.values())
    # Only a transaction, which is of one partition, gives several entities one timestamp
    timestamps = [{entity.timestamp for entity in partition.walk()} for partition in table.partitions.walk()]
    if len(set().union(*timestamps)) < sum(map(len, timestamps)):
        raise AssertionError(f"two partitions of table {table.name!r} have entities with the same timestamp")


def _check_queue(queue: Queue) -> None:
    """Assert that each message is stored once under its id and in both orders, and is valid."""
    for timers, moment in ((queue._by_visibility, "visible"), (queue._by_expiry, "expires")):
        timers._check()
        due_messages = [message for _, _, message in timers]
        moments = [(getattr(message, moment), message.number) for message in due_messages]
        if moments != sorted(set(moments)) or {message.id: message for message in due_messages} != queue._messages:
            raise AssertionError(f"queue {queue.name!r} has other messages than its order by {moment!r}")
    if any(name != message.id for name, message in queue._messages.items()):
        raise AssertionError(f"a message of queue {queue.name!r} is filed under another id")
    messages = queue._messages.values()
    if len({message.receipt for message in messages}) < len(messages):
        raise AssertionError(f"two messages of queue {queue.name!r} have the same receipt")
    for message in messages:
        check_text(message.text)
        if message.expires <= message.inserted or message.dequeues < 0:
            raise AssertionError(f"a message of queue {queue.name!r} has an expiry or a count that cannot be")


def _check_container(container: Container) -> None:
    """Assert that slots are stored under their own names, are not empty, and that ETags are unique."""
    _check_lease(container.properties.lease)
    _check_order(container.slots)
    versions = [slot.current.modified for slot in container.slots.walk() if slot.current is not None]
    if len({container.properties.modified, *versions}) <= len(versions):
        raise AssertionError(f"two versions in {container.properties.name!r} have the same ETag")
    for slot in container.slots.walk():
        if not (slot.current or slot.earlier or slot.staged(Ticks(0))) or container.slots.get(slot.name) is not slot:
            raise AssertionError(f"the name {slot.name!r} is that of nothing, or filed under another")
        _check_states(slot)
        _check_staged(slot)


def _check_states(slot: Slot) -> None:
    """Assert that snapshots have a blob, that they and the versions are ordered, and that all states are valid."""
    snapshots = [blob.snapshot for blob in slot.earlier if blob.snapshot is not None]
    versions = [blob.version or Ticks(0) for blob in slot.earlier if blob.snapshot is None]
    if slot.current is not None and slot.current.version is not None:
        versions.append(slot.current.version)
    if 0 in versions or any(times != sorted(set(times)) for times in (snapshots, versions)):
        raise AssertionError(f"snapshots or versions of {slot.name!r} are out of order")
    if snapshots and slot.current is None:
        raise AssertionError(f"snapshots of {slot.name!r} have no blob")
    for blob in [*slot.earlier, *([] if slot.current is None else [slot.current])]:
        if blob.name != slot.name or blob.is_current is not (blob is slot.current):
            raise AssertionError(f"{blob!r} is filed under {slot.name!r}, or among what it is not")
        if blob is slot.current and blob.snapshot is not None:
            raise AssertionError(f"a snapshot is in place of {slot.name!r}")
        _check_blob(blob)


def _check_staged(slot: Slot) -> None:
    if any(block_id != block.id or not len(block.content) for block_id, block in slot._staged.items()):
        raise AssertionError(f"a block under {slot.name!r} is empty, or filed under another id")
    if len({len(block_id) for block_id in slot._staged}) > 1:
        raise AssertionError(f"the ids of the blocks under {slot.name!r} have different lengths")
    if slot._staged and slot.current is not None and slot.current.kind is not Kind.BLOCK:
        raise AssertionError(f"blocks wait under {slot.name!r}, which is not of blocks")


def _check_blob(blob: Blob) -> None:
    """Assert that the version is valid for its kind, and that its headers match its content."""
    size = len(blob.content)
    if blob.created > blob.modified:
        raise AssertionError(f"{blob.name!r} was changed before it was made")
    if blob.blocks and sum(len(block.content) for block in blob.blocks) != size:
        raise AssertionError(f"{blob.name!r} has other bytes than its blocks")
    if blob.kind is Kind.APPEND and (blob.blocks or blob.appends > size or (size and not blob.appends)):
        raise AssertionError(f"{blob.name!r} was appended to, and has other bytes than that")
    if blob.kind is Kind.BLOCK and (blob.appends or blob.sealed):
        raise AssertionError(f"{blob.name!r} was appended to, though it is of blocks")
    _check_lease(blob.lease)
    if not blob.is_current and blob.lease != NO_LEASE:
        raise AssertionError(f"a snapshot or a previous version of {blob.name!r} is leased")


def _check_lease(lease: Lease) -> None:
    """Assert that id, duration and end match."""
    timed = LEASE_MIN_DURATION <= lease.duration <= LEASE_MAX_DURATION
    endless = lease.duration == INFINITE and lease.ends is None and not lease.breaking
    is_ending = (timed or (lease.duration == INFINITE and lease.breaking)) and lease.ends is not None
    if not (lease == NO_LEASE if lease.id is None else endless or is_ending):
        raise AssertionError(f"{lease!r} has an id, duration and end that do not match")
