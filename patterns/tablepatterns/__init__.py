"""Design patterns for Azure Table storage, as importable, composable recipes over the Azure SDK.

Names are imported on first use, so a program loads only the recipes and SDK clients that it needs. Type checkers and
editors see plain imports.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tablepatterns import aio as aio
    from tablepatterns import errors as errors
    from tablepatterns import filters as filters
    from tablepatterns import limits as limits
    from tablepatterns import testing as testing

    from .edm import Int64, Ticks
    from .entity import Entity, as_json, from_json
    from .entity_set.entity_set import EntitySet
    from .entity_set.maintenance import Drift
    from .entity_set.placement import InBlobs, InPartition, InTable
    from .entity_set.reconcile import Finding
    from .entity_set.schema import Schema
    from .errors import TablePatternsError
    from .filters import QueryClass, parse, prop
    from .key import Key, above, at_least, at_most, below, between, prefix
    from .messages.handler import Observer
    from .recipes.archive.archive import Archive
    from .recipes.archive.stores import BlobArchive, FileArchive
    from .recipes.blob_log.blob_log import BlobLog
    from .recipes.blob_log.entry import LogEntry
    from .recipes.blob_log.logging_handler import BlobLogHandler
    from .recipes.bulk_delete import BulkDelete
    from .recipes.bulk_load.bulk_load import BulkLoad
    from .recipes.compound_key import ChildSet
    from .recipes.data_series import DataSeries
    from .recipes.denormalize import CopiedFields
    from .recipes.encrypted_properties.encrypted_properties import ENCRYPTED, EncryptedProperties
    from .recipes.encrypted_properties.key_rotation import KeyRotation
    from .recipes.encrypted_properties.keys import LocalKey, VaultKey
    from .recipes.entity_group_transaction import EntityGroupTransaction
    from .recipes.entity_types.entity_type import EntityType
    from .recipes.entity_types.entity_types import EntityTypes
    from .recipes.entity_types.mapper import TypedEntity
    from .recipes.eventual_transaction import EventualTransaction
    from .recipes.grant import AccessPolicies, Grant, KeyScope, grant
    from .recipes.index_entities import IndexEntity
    from .recipes.inter_partition_index import InterPartitionIndex
    from .recipes.intra_partition_index import IntraPartitionIndex
    from .recipes.large_properties.large_properties import LargeProperties
    from .recipes.large_properties.large_values import LargePropertyStore
    from .recipes.large_properties.upload import Upload
    from .recipes.log_tail import LogTail
    from .recipes.lookup import Lookup
    from .recipes.one_to_many import OneToMany, SharedFields
    from .recipes.one_to_one import OneToOne
    from .recipes.parallel_reads import ParallelReads, ParallelResult
    from .recipes.partition_move import PartitionMove
    from .recipes.partition_spread.hot_partitions import anti_pattern, hot_partitions, sequence_of
    from .recipes.partition_spread.partition_spread import PartitionSpread
    from .recipes.period_tables.period import Period
    from .recipes.period_tables.period_tables import PeriodTables
    from .recipes.summary import Summary
    from .recipes.wide_entity.wide_entity import WideEntity
    from .recipes.work_division import HashDivision, RangeDivision
    from .recipes.worker import Worker
    from .review import explain
    from .sdk.table import Page
    from .storage import Storage, connect
    from .traffic import Traffic

__all__ = [
    "ENCRYPTED",
    "AccessPolicies",
    "Archive",
    "BlobArchive",
    "BlobLog",
    "BlobLogHandler",
    "BulkDelete",
    "BulkLoad",
    "ChildSet",
    "CopiedFields",
    "DataSeries",
    "Drift",
    "EncryptedProperties",
    "Entity",
    "EntityGroupTransaction",
    "EntitySet",
    "EntityType",
    "EntityTypes",
    "EventualTransaction",
    "FileArchive",
    "Finding",
    "Grant",
    "HashDivision",
    "InBlobs",
    "InPartition",
    "InTable",
    "IndexEntity",
    "Int64",
    "InterPartitionIndex",
    "IntraPartitionIndex",
    "Key",
    "KeyRotation",
    "KeyScope",
    "LargeProperties",
    "LargePropertyStore",
    "LocalKey",
    "LogEntry",
    "LogTail",
    "Lookup",
    "Observer",
    "OneToMany",
    "OneToOne",
    "Page",
    "ParallelReads",
    "ParallelResult",
    "PartitionMove",
    "PartitionSpread",
    "Period",
    "PeriodTables",
    "QueryClass",
    "RangeDivision",
    "Schema",
    "SharedFields",
    "Storage",
    "Summary",
    "TablePatternsError",
    "Ticks",
    "Traffic",
    "TypedEntity",
    "Upload",
    "VaultKey",
    "WideEntity",
    "Worker",
    "above",
    "anti_pattern",
    "as_json",
    "at_least",
    "at_most",
    "below",
    "between",
    "connect",
    "explain",
    "from_json",
    "grant",
    "hot_partitions",
    "parse",
    "prefix",
    "prop",
    "sequence_of",
]
__version__ = "0.1.0"

_HOMES = {
    "ENCRYPTED": "recipes.encrypted_properties.encrypted_properties",
    "AccessPolicies": "recipes.grant",
    "Archive": "recipes.archive.archive",
    "BlobArchive": "recipes.archive.stores",
    "BlobLog": "recipes.blob_log.blob_log",
    "BlobLogHandler": "recipes.blob_log.logging_handler",
    "BulkDelete": "recipes.bulk_delete",
    "BulkLoad": "recipes.bulk_load.bulk_load",
    "ChildSet": "recipes.compound_key",
    "CopiedFields": "recipes.denormalize",
    "DataSeries": "recipes.data_series",
    "Drift": "entity_set.maintenance",
    "EncryptedProperties": "recipes.encrypted_properties.encrypted_properties",
    "Entity": "entity",
    "EntityGroupTransaction": "recipes.entity_group_transaction",
    "EntitySet": "entity_set.entity_set",
    "EntityType": "recipes.entity_types.entity_type",
    "EntityTypes": "recipes.entity_types.entity_types",
    "EventualTransaction": "recipes.eventual_transaction",
    "FileArchive": "recipes.archive.stores",
    "Finding": "entity_set.reconcile",
    "Grant": "recipes.grant",
    "HashDivision": "recipes.work_division",
    "InBlobs": "entity_set.placement",
    "InPartition": "entity_set.placement",
    "InTable": "entity_set.placement",
    "IndexEntity": "recipes.index_entities",
    "Int64": "edm",
    "InterPartitionIndex": "recipes.inter_partition_index",
    "IntraPartitionIndex": "recipes.intra_partition_index",
    "Key": "key",
    "KeyRotation": "recipes.encrypted_properties.key_rotation",
    "LargeProperties": "recipes.large_properties.large_properties",
    "LargePropertyStore": "recipes.large_properties.large_values",
    "LocalKey": "recipes.encrypted_properties.keys",
    "LogEntry": "recipes.blob_log.entry",
    "LogTail": "recipes.log_tail",
    "Lookup": "recipes.lookup",
    "Observer": "messages.handler",
    "OneToMany": "recipes.one_to_many",
    "OneToOne": "recipes.one_to_one",
    "Page": "sdk.table",
    "ParallelReads": "recipes.parallel_reads",
    "ParallelResult": "recipes.parallel_reads",
    "PartitionMove": "recipes.partition_move",
    "PartitionSpread": "recipes.partition_spread.partition_spread",
    "Period": "recipes.period_tables.period",
    "PeriodTables": "recipes.period_tables.period_tables",
    "QueryClass": "filters",
    "RangeDivision": "recipes.work_division",
    "KeyScope": "recipes.grant",
    "Schema": "entity_set.schema",
    "SharedFields": "recipes.one_to_many",
    "Storage": "storage",
    "Summary": "recipes.summary",
    "TablePatternsError": "errors",
    "Ticks": "edm",
    "Traffic": "traffic",
    "TypedEntity": "recipes.entity_types.mapper",
    "Upload": "recipes.large_properties.upload",
    "VaultKey": "recipes.encrypted_properties.keys",
    "WideEntity": "recipes.wide_entity.wide_entity",
    "Worker": "recipes.worker",
    "above": "key",
    "anti_pattern": "recipes.partition_spread.hot_partitions",
    "as_json": "entity",
    "at_least": "key",
    "at_most": "key",
    "below": "key",
    "between": "key",
    "connect": "storage",
    "explain": "review",
    "from_json": "entity",
    "grant": "recipes.grant",
    "hot_partitions": "recipes.partition_spread.hot_partitions",
    "parse": "filters",
    "prefix": "key",
    "prop": "filters",
    "sequence_of": "recipes.partition_spread.hot_partitions",
}
"""Where each name is defined, as the imports above say it for type checkers."""
_MODULES = ("aio", "errors", "filters", "limits", "testing")
"""The modules that are public as such."""

if not TYPE_CHECKING:
    # Type checkers would take it for a promise that every name is there
    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f".{name}", __name__)
        if name not in _HOMES:
            # With the module, by which Python says what may have been meant
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
        found = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        # Found here from now on
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return [*__all__, *_MODULES, "__version__"]
