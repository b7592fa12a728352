"""The errors of an operation on a blob, by error code.

If an operation has several errors, the service and Azurite may report different ones; this checks that Azurite's
applies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from differential.blobs.containers import LeaseContainer
from differential.blobs.operations import (
    AppendBlock,
    Copy,
    Delete,
    GetBlockList,
    LeaseBlob,
    OfBlob,
    OfContent,
    PutBlock,
    PutBlockList,
    Read,
    block_id,
)
from differential.blobs.state import Homes, Named, found_at
from differential.blobs.terms import NO_TERMS, Terms
from tablepatterns_engine.blobs.blob import Kind

_Wrong: TypeAlias = Callable[[Any, Named], bool]

_OF_CONDITIONS: Final = ("ConditionNotMet", "UnsatisfiableCondition", "MultipleConditionHeadersNotSupported")
_OF_CONTAINERS: Final = ("ContainerNotFound", "InvalidResourceName", "OutOfRangeInput")


def is_wrong(code: str | None, operation: Any, homes: Homes) -> bool:
    """Return whether an operation might be rejected with a code, if nothing else were wrong with it."""
    leases = isinstance(operation, (LeaseBlob, LeaseContainer)) and str(code).startswith("Lease")
    if leases and operation.lease.seconds is not None:
        return True
    if code in _OF_CONDITIONS and has_conditions(operation):
        return True
    if code in _OF_CONTAINERS and not containers_of(operation).issubset(homes):
        return True
    return (
        isinstance(operation, OfBlob) and code in _WRONGS and _WRONGS[code](operation, found_at(operation.place, homes))
    )


def containers_of(operation: Any) -> set[str]:
    """Return the names of the containers that must be there."""
    if isinstance(operation, Copy):
        return {operation.place.container, operation.source.container}
    return {operation.place.container if isinstance(operation, OfBlob) else getattr(operation, "container", "")}


def conditions_of(operation: Any) -> list[Terms]:
    """Return what an operation demands of blobs."""
    terms: Terms = getattr(operation, "terms", NO_TERMS)
    return [terms, operation.source_terms] if isinstance(operation, Copy) else [terms]


def has_conditions(operation: Any) -> bool:
    """Return whether an operation demands something of a version."""
    return any(
        each.match or each.none_match or each.modified_since or each.unmodified_since
        for each in conditions_of(operation)
    )


def _is_of_other_kind(operation: Any, found: Named) -> bool:
    if found.blob is None:
        return False
    if isinstance(operation, AppendBlock):
        return found.blob.kind is not Kind.APPEND
    of_blocks = isinstance(operation, (PutBlock, PutBlockList, GetBlockList))
    return (of_blocks or isinstance(operation, Copy)) and found.blob.kind is not Kind.BLOCK


def _names_missing_blocks(operation: Any, found: Named) -> bool:
    if not isinstance(operation, PutBlockList):
        return False
    committed = {block.id for block in found.blob.blocks} if found.blob else set()
    lists = {"Committed": committed, "Uncommitted": found.staged, "Latest": committed | found.staged}
    return any(block_id(name) not in lists[where] for where, name in operation.blocks)


def _is_leased_or_names_a_lease(operation: Any, found: Named) -> bool:
    return bool(conditions_of(operation)[0].lease) or bool(found.blob and found.blob.lease.id)


def _may_lack_its_snapshot(operation: Any, found: Named) -> bool:
    return isinstance(operation, (Read, Delete, Copy)) and operation.snapshot is not None


def _has_bad_metadata(operation: Any, found: Named) -> bool:
    return any(not name.isidentifier() for name, _ in getattr(operation, "metadata", ()))


_WRONGS: Final[Mapping[str | None, _Wrong]] = {
    "InvalidBlobType": _is_of_other_kind,
    "InvalidBlockList": _names_missing_blocks,
    "InvalidMetadata": _has_bad_metadata,
    "BlobNotFound": lambda operation, found: found.blob is None or _may_lack_its_snapshot(operation, found),
    "SnapshotsPresent": lambda operation, found: isinstance(operation, Delete) and bool(found.snapshots),
    "AppendPositionConditionNotMet": lambda operation, _: operation.position is not None,
    "MaxBlobSizeConditionNotMet": lambda operation, _: operation.most is not None,
    **dict.fromkeys(
        ("LeaseIdMissing", "LeaseIdMismatchWithBlobOperation", "LeaseNotPresentWithBlobOperation", "LeaseLost"),
        _is_leased_or_names_a_lease,
    ),
}


def makes_a_blob(operation: Any) -> bool:
    """Return whether an operation makes a blob where none is."""
    return isinstance(operation, OfContent) and not isinstance(operation, (PutBlock, AppendBlock))
