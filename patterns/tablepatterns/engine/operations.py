"""The operations of the services, by the names that they have in the ledger."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

from ..errors import BadInput

TableOperation: TypeAlias = Literal[
    "CreateTable",
    "DeleteEntity",
    "DeleteTable",
    "GetTableACL",
    "GetTableServiceProperties",
    "GetTableServiceStats",
    "InsertEntity",
    "InsertOrMergeEntity",
    "InsertOrReplaceEntity",
    "MergeEntity",
    "QueryEntities",
    "QueryEntity",
    "QueryTable",
    "QueryTables",
    "SetTableACL",
    "SetTableServiceProperties",
    "Transaction",
    "UpdateEntity",
]
QueueOperation: TypeAlias = Literal[
    "ClearMessages",
    "CreateQueue",
    "DeleteMessage",
    "DeleteQueue",
    "GetMessages",
    "GetQueueACL",
    "GetQueueMetadata",
    "GetQueueServiceProperties",
    "GetQueueServiceStats",
    "ListQueues",
    "PeekMessages",
    "PutMessage",
    "SetQueueACL",
    "SetQueueMetadata",
    "SetQueueServiceProperties",
    "UpdateMessage",
]
BlobOperation: TypeAlias = Literal[
    "AbortCopyBlob",
    "AcquireBlobLease",
    "AcquireContainerLease",
    "AppendBlobSeal",
    "AppendBlock",
    "AppendBlockFromURL",
    "BlobBatch",
    "BreakBlobLease",
    "BreakContainerLease",
    "ChangeBlobLease",
    "ChangeContainerLease",
    "CopyBlob",
    "CopyBlobFromURL",
    "CreateContainer",
    "DeleteBlob",
    "DeleteContainer",
    "GetAccountInformation",
    "GetBlob",
    "GetBlobMetadata",
    "GetBlobProperties",
    "GetBlobServiceProperties",
    "GetBlobServiceStats",
    "GetBlobTags",
    "GetBlockList",
    "GetContainerACL",
    "GetContainerMetadata",
    "GetContainerProperties",
    "ListBlobs",
    "ListContainers",
    "PutBlob",
    "PutBlobFromURL",
    "PutBlock",
    "PutBlockFromURL",
    "PutBlockList",
    "ReleaseBlobLease",
    "ReleaseContainerLease",
    "RenewBlobLease",
    "RenewContainerLease",
    "SetBlobMetadata",
    "SetBlobProperties",
    "SetBlobServiceProperties",
    "SetBlobTags",
    "SetBlobTier",
    "SetContainerACL",
    "SetContainerMetadata",
    "SnapshotBlob",
]
Operation: TypeAlias = TableOperation | QueueOperation | BlobOperation

_KNOWN: Final = frozenset(get_args(TableOperation) + get_args(QueueOperation) + get_args(BlobOperation))


def check_operation(name: str) -> None:
    """Refuse a name that no operation has: a rule for it would never be met, and nothing would tell.

    :raises BadInput: with all the names
    """
    if name not in _KNOWN:
        rule = "no operation of a service has this name"
        raise BadInput("operation", name, rule, f"give one of {', '.join(sorted(_KNOWN))}")
