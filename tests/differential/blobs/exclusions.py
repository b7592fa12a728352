"""Exclusions from the comparison of blobs, where Azurite differs from the service."""

from __future__ import annotations

from typing import Any, Final

from differential.answers import Rejected
from differential.blobs.containers import (
    DeleteContainer,
    GetContainer,
    LeaseContainer,
    ListBlobs,
    ListContainers,
    SetContainerMetadata,
    SetPolicies,
)
from differential.blobs.operations import (
    Copy,
    Delete,
    GetBlockList,
    LeaseBlob,
    OfBlob,
    Operation,
    PutBlob,
    PutBlock,
    PutBlockList,
    Read,
    TakeSnapshot,
)
from differential.blobs.state import Homes, Named, found_at
from differential.blobs.terms import Place
from differential.blobs.wrongs import conditions_of, has_conditions, is_wrong, makes_a_blob
from differential.differences import MISSING
from differential.exclusions import Case, Exclusions
from differential.raw_responses import is_about_text
from tablepatterns.limits import MAX_ACCESS_POLICIES, MAX_BREAK_PERIOD
from tablepatterns_engine.blobs.blob import Kind
from tablepatterns_engine.blobs.leases import INFINITE, State

EXCLUSIONS: Final = Exclusions()

_DIGEST_OF_NOTHING: Final = "1B2M2Y8AsgTpgAmY7PhCfg=="
_PERMISSIONS: Final = set("racwdxyltmeopif")
_ENCRYPTION: Final = ("defaultencryptionscope", "denyencryptionscopeoverride", "immutablestoragewithversioningenabled")


def _found(operation: Operation, before: Homes) -> Named:
    """Return what goes by the name of the blob that an operation is about."""
    return found_at(operation.place, before) if isinstance(operation, OfBlob) else Named()


# ------------------------------------------------------------------ withheld


@EXCLUSIONS.withhold("accepts a lease id when creating a blob", rejected=True)
def lease_of_nothing(operation: Operation, before: Homes) -> bool:
    makes = makes_a_blob(operation) or isinstance(operation, PutBlock)
    under_lease = makes and conditions_of(operation)[0].lease is not None
    is_there = isinstance(operation, OfBlob) and operation.place.container in before
    return under_lease and is_there and _found(operation, before).blob is None


@EXCLUSIONS.withhold("creates a blob despite a condition on when it was modified", rejected=True)
def age_of_nothing(operation: Operation, before: Homes) -> bool:
    is_new = makes_a_blob(operation) and isinstance(operation, OfBlob) and operation.place.container in before
    return is_new and _found(operation, before).blob is None and conditions_of(operation)[0].modified_since is not None


@EXCLUSIONS.withhold("ignores If-None-Match: * in writes that create no blob", rejected=True)
def nothing_in_a_change(operation: Operation, before: Homes) -> bool:
    if makes_a_blob(operation) or isinstance(operation, (Read, GetBlockList, PutBlock)):
        return False
    found = _found(operation, before)
    return found.blob is not None and any(each.none_match == "any" for each in conditions_of(operation))


@EXCLUSIONS.withhold("applies the conditions of a read to a snapshot, or none", rejected=False)
def snapshot_under_conditions(operation: Operation, before: Homes) -> bool:
    return isinstance(operation, TakeSnapshot) and has_conditions(operation)


@EXCLUSIONS.withhold("gives a snapshot with its own metadata the ETag of its blob", rejected=False)
def version_of_a_snapshot(operation: Operation, before: Homes) -> bool:
    of_snapshot = isinstance(operation, (Read, Delete, Copy)) and operation.snapshot is not None
    return of_snapshot and any(each.match or each.none_match for each in conditions_of(operation))


@EXCLUSIONS.withhold("treats staged blocks as a blob, which can be leased, changed and deleted", rejected=False)
def staged_blocks_alone(operation: Operation, before: Homes) -> bool:
    found = _found(operation, before)
    is_theirs = isinstance(operation, (PutBlock, PutBlockList, Read, PutBlob, Copy)) or _lists_blocks(operation)
    return found.blob is None and bool(found.staged) and not is_theirs


def _lists_blocks(operation: Operation) -> bool:
    return isinstance(operation, GetBlockList) and operation.terms.lease is None


@EXCLUSIONS.withhold("keeps staged blocks when the blob is written as a whole, or deleted", rejected=False)
def staged_blocks_beside(operation: Operation, before: Homes) -> bool:
    return isinstance(operation, (PutBlob, Copy, Delete)) and bool(_found(operation, before).staged)


@EXCLUSIONS.withhold(
    "checks the lease and the type of a snapshot, and not of its blob, when staging a block", rejected=False
)
def block_beside_a_snapshot(operation: Operation, before: Homes) -> bool:
    found = _found(operation, before)
    if not isinstance(operation, PutBlock) or found.blob is None or not found.snapshots:
        return False
    under_lease = operation.terms.lease is not None or found.blob.lease.id is not None
    return under_lease or any(each.kind is not found.blob.kind for each in found.snapshots)


@EXCLUSIONS.withhold("lets a copy replace a blob of another type", rejected=True)
def copy_of_another_kind(operation: Operation, before: Homes) -> bool:
    if not isinstance(operation, Copy):
        return False
    source, target = found_at(operation.source, before).blob, _found(operation, before).blob
    return source is not None and target is not None and source.kind is not target.kind


@EXCLUSIONS.withhold(
    "shares the blocks of an append blob with its copy: what is appended to one appears in both", rejected=False
)
def copy_of_an_append_blob(operation: Operation, before: Homes) -> bool:
    source = found_at(operation.source, before).blob if isinstance(operation, Copy) else None
    return source is not None and source.kind is Kind.APPEND


@EXCLUSIONS.withhold("returns the content for a GET of a blob's metadata", rejected=False)
def metadata_by_get(operation: Operation, before: Homes) -> bool:
    return isinstance(operation, Read) and operation.comp == "metadata" and operation.method == "GET"


@EXCLUSIONS.withhold("ignores an ETag condition when changing a container", rejected=True)
def version_of_a_container(operation: Operation, before: Homes) -> bool:
    is_change = isinstance(operation, (DeleteContainer, SetContainerMetadata))
    return is_change and bool(operation.terms.match or operation.terms.none_match)


@EXCLUSIONS.withhold("ignores If-Unmodified-Since when changing a container's metadata", rejected=False)
def age_of_a_container(operation: Operation, before: Homes) -> bool:
    return isinstance(operation, SetContainerMetadata) and operation.terms.unmodified_since is not None


@EXCLUSIONS.withhold("lets a copy replace a blob with a fixed-duration lease", rejected=True)
def copy_onto_a_lease(operation: Operation, before: Homes) -> bool:
    target = _found(operation, before).blob if isinstance(operation, Copy) else None
    if target is None:
        return False
    now = before[operation.place.container].now
    return target.lease.state(now).locked and target.lease.duration != INFINITE


@EXCLUSIONS.withhold("keeps a broken or expired lease when a copy replaces the blob", rejected=False)
def copy_onto_a_past_lease(operation: Operation, before: Homes) -> bool:
    # https://learn.microsoft.com/rest/api/storageservices/lease-blob: a write without a lease id makes it available
    return isinstance(operation, Copy) and _has_past_lease(operation, before)


@EXCLUSIONS.withhold("makes a broken or expired lease available when a block is staged", rejected=False)
def block_beside_a_past_lease(operation: Operation, before: Homes) -> bool:
    # The same page: the id is kept until the blob is modified, and a staged block does not modify it
    return isinstance(operation, PutBlock) and _has_past_lease(operation, before)


def _has_past_lease(operation: OfBlob, before: Homes) -> bool:
    blob = _found(operation, before).blob
    return blob is not None and blob.lease.state(before[operation.place.container].now) in (State.BROKEN, State.EXPIRED)


@EXCLUSIONS.withhold("accepts any break period of a lease", rejected=True)
def long_break(operation: Operation, before: Homes) -> bool:
    lease = operation.lease if isinstance(operation, (LeaseBlob, LeaseContainer)) else None
    return lease is not None and lease.action == "break" and (lease.seconds or 0) > MAX_BREAK_PERIOD


@EXCLUSIONS.withhold("stores a sixth access policy", rejected=True)
def six_policies(operation: Operation, before: Homes) -> bool:
    return isinstance(operation, SetPolicies) and len(operation.policies) > MAX_ACCESS_POLICIES


@EXCLUSIONS.withhold("accepts any permissions in a policy", rejected=True)
def permissions(operation: Operation, before: Homes) -> bool:
    given = operation.policies if isinstance(operation, SetPolicies) else ()
    return any(set(policy.permission or "") - _PERMISSIONS for policy in given)


# ------------------------------------------------------------------ errors


@EXCLUSIONS.excuse("reports another of several errors first")
def order_of_checks(case: Case) -> bool:
    return case.both_reject and is_wrong(case.azurite.code, case.operation, case.before)


@EXCLUSIONS.excuse("treats the conditions on the source of a copy as those of a read")
def source_not_modified(case: Case) -> bool:
    if not isinstance(case.operation, Copy) or not isinstance(case.azurite, dict):
        return False
    return case.engine == Rejected(412, "SourceConditionNotMet") and case.azurite["status"] == 304


@EXCLUSIONS.excuse("rejects an append blob with content as InvalidOperation")
def content_of_an_append_blob(case: Case) -> bool:
    with_content = (
        isinstance(case.operation, PutBlob) and case.operation.kind == "AppendBlob" and case.operation.content
    )
    return bool(with_content) and case.rejected_alike and case.azurite.code == "InvalidOperation"


@EXCLUSIONS.excuse("rejects the deletion of a snapshot with its snapshots as InvalidOperation")
def snapshots_of_a_snapshot(case: Case) -> bool:
    # The service's answer: https://github.com/Azure/azure-sdk-for-java/issues/84
    both = isinstance(case.operation, Delete) and case.operation.snapshot is not None and case.operation.snapshots
    return bool(both) and case.rejected_alike and case.azurite.code == "InvalidOperation"


@EXCLUSIONS.excuse("rejects a block id that is too long as OutOfRangeInput")
def long_block_id(case: Case) -> bool:
    too_long = isinstance(case.operation, PutBlock) and len(case.operation.block) > 64
    return too_long and case.rejected_alike and case.azurite.code == "OutOfRangeInput"


@EXCLUSIONS.excuse("returns an internal error where the service rejects the request")
def internal_error(case: Case) -> bool:
    return case.both_reject and case.azurite == Rejected(500, None) and 400 <= case.engine.status < 500


@EXCLUSIONS.excuse("lists snapshots despite a delimiter")
def snapshots_beside_a_delimiter(case: Case) -> bool:
    if not isinstance(case.operation, ListBlobs):
        return False
    both = case.operation.delimiter and "snapshots" in (case.operation.include or "")
    rejected = case.engine if isinstance(case.engine, Rejected) else _only_answer(case.engine)
    return bool(both) and rejected == Rejected(400, "InvalidQueryParameterValue")


@EXCLUSIONS.excuse("returns an empty range if it starts at the end of the content")
def range_behind_the_end(case: Case) -> bool:
    if not isinstance(case.operation, Read) or not isinstance(case.azurite, dict):
        return False
    return case.engine == Rejected(416, "InvalidRange") and case.azurite["headers"].get("content-length") == "0"


def _only_answer(compared: Any) -> Any:
    return compared["answers"][0] if isinstance(compared, dict) and "answers" in compared else None


# ------------------------------------------------------------------ lists


@EXCLUSIONS.excuse("omits empty elements from a list")
def empty_elements(case: Case) -> bool:
    return case.part == "rows" and case.engine == "" and case.azurite is MISSING


@EXCLUSIONS.excuse("reads metadata named _ as the text of their element, or omits them")
def metadata_without_letters(case: Case) -> bool:
    return is_about_text(case)


@EXCLUSIONS.excuse("includes copies in a list, requested or not")
def copies_in_a_list(case: Case) -> bool:
    is_list = isinstance(case.operation, ListBlobs) and "copy" not in (case.operation.include or "")
    return is_list and str(case.member).startswith("Copy") and case.engine is MISSING


@EXCLUSIONS.excuse("returns list options that were not sent: a size, an empty prefix")
def options_of_a_list(case: Case) -> bool:
    attribute = {"MaxResults": "limit", "Prefix": "prefix", "Delimiter": "delimiter"}.get(case.member)
    is_list = isinstance(case.operation, (ListBlobs, ListContainers)) and case.part == "pages" and attribute
    return bool(is_list) and case.engine is MISSING and not getattr(case.operation, str(attribute))


@EXCLUSIONS.excuse("rejects a page size of zero or less first, and without a code")
def code_of_a_number(case: Case) -> bool:
    limit = case.operation.limit if isinstance(case.operation, (ListBlobs, ListContainers)) else None
    return limit is not None and limit < 1 and case.both_reject and case.azurite == Rejected(400, None)


@EXCLUSIONS.excuse("states that a copy is not incremental")
def incremental_copy(case: Case) -> bool:
    return case.member in ("IncrementalCopy", "x-ms-incremental-copy") and (case.engine, case.azurite) == (
        MISSING,
        "false",
    )


@EXCLUSIONS.excuse("does not state in a list that copies are encrypted")
def encryption_of_a_copy(case: Case) -> bool:
    return case.part == "rows" and case.member == "ServerEncrypted" and case.azurite is MISSING


@EXCLUSIONS.excuse("omits a blob or its snapshots if they do not fit on one page together")
def snapshots_over_pages(case: Case) -> bool:
    if not isinstance(case.operation, ListBlobs) or "snapshots" not in (case.operation.include or ""):
        return False
    is_omitted = case.part == "rows" and len(case.path) == 2 and case.azurite is MISSING
    left_out = is_omitted and bool(found_at(Place(case.operation.container, case.member[1]), case.before).snapshots)
    return case.operation.limit is not None and (left_out or case.part in ("pages", "sizes"))


@EXCLUSIONS.excuse("lists staged blocks with other properties: those of blobs, and no tier")
def staged_blocks_in_a_list(case: Case) -> bool:
    if not isinstance(case.operation, ListBlobs) or case.part != "rows":
        return False
    if case.engine is not MISSING and case.member not in ("AccessTier", "AccessTierInferred", "ServerEncrypted"):
        return False
    found = found_at(Place(case.operation.container, case.path[1][1]), case.before)
    return found.blob is None and bool(found.staged)


@EXCLUSIONS.excuse("reports leases of snapshots, which have none")
def lease_of_a_snapshot(case: Case) -> bool:
    of_snapshot = case.part == "rows" and len(case.path[1]) > 2
    read = isinstance(case.operation, Read) and case.operation.snapshot is not None
    leases = ("LeaseStatus", "LeaseState", "x-ms-lease-status", "x-ms-lease-state")
    return (of_snapshot or read) and case.member in leases and case.engine is MISSING


@EXCLUSIONS.excuse("does not tell the encryption scope of a container")
def encryption_scope(case: Case) -> bool:
    return case.azurite is MISSING and str(case.member).lower().replace("-", "").removeprefix("xms") in _ENCRYPTION


@EXCLUSIONS.excuse("returns a change time for a tier that was never set")
def time_of_the_tier(case: Case) -> bool:
    return case.member in ("x-ms-access-tier-change-time", "AccessTierChangeTime") and case.engine is MISSING


# ------------------------------------------------------------------ headers and documents


@EXCLUSIONS.excuse("returns no CRC-64 for a write of a whole blob or of a block list")
def checksum(case: Case) -> bool:
    return case.member == "x-ms-content-crc64" and case.azurite is MISSING


@EXCLUSIONS.excuse("returns the MD5 of a block list although none was sent")
def digest_of_a_block_list(case: Case) -> bool:
    return isinstance(case.operation, PutBlockList) and case.member == "content-md5" and case.engine is MISSING


@EXCLUSIONS.excuse("returns the other properties with a container's metadata")
def properties_beside_metadata(case: Case) -> bool:
    asked = isinstance(case.operation, GetContainer) and case.operation.comp == "metadata"
    return asked and case.path[2:3] == ("headers",) and case.engine is MISSING


@EXCLUSIONS.excuse("lists committed and uncommitted blocks, requested or not")
def both_kinds_of_blocks(case: Case) -> bool:
    kinds = ("CommittedBlocks", "UncommittedBlocks")
    return (
        isinstance(case.operation, GetBlockList)
        and case.member in kinds
        and (case.engine, case.azurite) == (MISSING, "")
    )


@EXCLUSIONS.excuse("returns an ETag with the block list although there is no blob")
def version_of_nothing(case: Case) -> bool:
    is_header = case.member in ("etag", "last-modified", "x-ms-blob-content-length")
    return isinstance(case.operation, GetBlockList) and is_header and case.engine is MISSING


@EXCLUSIONS.excuse("returns ConditionNotMet for conditions on the source and on the target of a copy")
def conditions_of_a_copy(case: Case) -> bool:
    ours = ("SourceConditionNotMet", "TargetConditionNotMet")
    return case.rejected_alike and case.engine.code in ours and case.azurite.code == "ConditionNotMet"


@EXCLUSIONS.excuse("includes a content type in a 304 response")
def type_of_nothing(case: Case) -> bool:
    return case.member == "content-type" and (case.engine, case.azurite) == (MISSING, "application/xml")


@EXCLUSIONS.excuse("does not say whether it encrypts the metadata of a snapshot")
def encryption_of_a_snapshot(case: Case) -> bool:
    is_snapshot = isinstance(case.operation, TakeSnapshot)
    return is_snapshot and case.member == "x-ms-request-server-encrypted" and case.azurite is MISSING


@EXCLUSIONS.excuse("returns an MD5 for content that has none, and lists an append blob with the MD5 of empty content")
def digest_of_its_own(case: Case) -> bool:
    if isinstance(case.operation, Read):
        return case.member == "content-md5" and case.engine is MISSING
    return case.member == "Content-MD5" and case.engine == "" and case.azurite == _DIGEST_OF_NOTHING


@EXCLUSIONS.excuse("reports a blob as a copy after its content properties have changed")
def copy_that_was(case: Case) -> bool:
    is_told = str(case.member).startswith(("x-ms-copy-", "Copy"))
    return is_told and isinstance(case.operation, (Read, ListBlobs)) and case.engine is MISSING


@EXCLUSIONS.excuse("returns no progress for the copy of an empty blob")
def progress_of_nothing(case: Case) -> bool:
    return case.member in ("x-ms-copy-progress", "CopyProgress") and (case.engine, case.azurite) == ("0/0", MISSING)


@EXCLUSIONS.excuse("states that an append blob is not sealed")
def not_sealed(case: Case) -> bool:
    return case.member in ("x-ms-blob-sealed", "Sealed") and case.engine is MISSING and case.azurite == "false"


@EXCLUSIONS.excuse("returns the MD5 of the whole content together with the content")
def digest_beside_the_whole(case: Case) -> bool:
    return isinstance(case.operation, Read) and case.member == "x-ms-blob-content-md5" and case.engine is MISSING


@EXCLUSIONS.excuse("gives a snapshot with its own metadata the ETag of its blob")
def etag_of_a_snapshot(case: Case) -> bool:
    taken = isinstance(case.operation, TakeSnapshot) and case.operation.metadata
    read = isinstance(case.operation, (Read, GetBlockList)) and getattr(case.operation, "snapshot", None) is not None
    listed = case.part == "rows" and len(case.path[1]) > 2
    return case.member in ("etag", "Etag") and bool(taken or read or listed)


@EXCLUSIONS.excuse("lists prefixes first, and snapshots after their blob, in any order")
def order_of_a_list(case: Case) -> bool:
    return isinstance(case.operation, ListBlobs) and case.part == "order"


@EXCLUSIONS.excuse("reports a page size of 5,000 if more were requested")
def large_page(case: Case) -> bool:
    return case.member == "MaxResults" and (case.engine, case.azurite) == ("5001", "5000")
