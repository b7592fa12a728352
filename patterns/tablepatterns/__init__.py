"""Design patterns for Azure Table storage, as importable, composable recipes over the Azure SDK.

A name is imported when it is first asked for, so that a program loads what it uses: the recipes, and of the SDK the
clients of those services. Type checkers and editors see plain imports.
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

    from .archiving.blobs import BlobArchive
    from .archiving.files import FileArchive
    from .deriving.whereabouts import InBlobs, InPartition, InTable
    from .edm import Int64, Ticks
    from .entity import Entity, as_json, from_json
    from .entity_set import EntitySet
    from .errors import TablePatternsError
    from .eventual.rows import Finding
    from .filters import QueryClass, parse, prop
    from .key import Key, above, at_least, at_most, below, between, prefix
    from .large.upload import Upload
    from .logs.entry import LogEntry
    from .logs.logging_handler import BlobLogHandler
    from .periods.period import Period
    from .reach import Reach
    from .recipes.archive import Archive
    from .recipes.blob_log import BlobLog
    from .recipes.bulk_delete import BulkDelete
    from .recipes.bulk_load import BulkLoad
    from .recipes.compound_key import CompoundKey
    from .recipes.data_series import DataSeries
    from .recipes.denormalize import Denormalize
    from .recipes.encrypted_properties import ENCRYPTED, EncryptedProperties
    from .recipes.entity_group_transaction import EntityGroupTransaction
    from .recipes.entity_types import EntityTypes
    from .recipes.eventual_transaction import EventualTransaction
    from .recipes.grant import AccessPolicies, Grant, grant
    from .recipes.index_entities import IndexEntities
    from .recipes.inter_partition_index import InterPartitionIndex
    from .recipes.intra_partition_index import IntraPartitionIndex
    from .recipes.key_rotation import KeyRotation
    from .recipes.large_properties import LargeProperties
    from .recipes.large_values import LargeValues
    from .recipes.log_tail import LogTail
    from .recipes.lookup import Lookup
    from .recipes.one_to_many import Denormalized, OneToMany
    from .recipes.one_to_one import OneToOne
    from .recipes.parallel_reads import Gathered, ParallelReads
    from .recipes.partition_move import PartitionMove
    from .recipes.partition_spread import PartitionSpread
    from .recipes.period_tables import PeriodTables
    from .recipes.summary import Summary
    from .recipes.wide_entity import WideEntity
    from .recipes.work_division import HashDivision, RangeDivision
    from .recipes.worker import Worker
    from .review import explain
    from .schema import Schema
    from .secrecy.keys import LocalKey, VaultKey
    from .spreading.hot_keys import anti_pattern, hot_partitions, sequence_of
    from .storage import Storage, connect
    from .tending.report import Drift
    from .traffic import Traffic
    from .typed.entity_type import EntityType
    from .typed.held import Held
    from .words.table import Page
    from .working.observer import Observer

__all__ = [
    "ENCRYPTED",
    "AccessPolicies",
    "Archive",
    "BlobArchive",
    "BlobLog",
    "BlobLogHandler",
    "BulkDelete",
    "BulkLoad",
    "CompoundKey",
    "DataSeries",
    "Denormalize",
    "Denormalized",
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
    "Gathered",
    "Grant",
    "HashDivision",
    "Held",
    "InBlobs",
    "InPartition",
    "InTable",
    "IndexEntities",
    "Int64",
    "InterPartitionIndex",
    "IntraPartitionIndex",
    "Key",
    "KeyRotation",
    "LargeProperties",
    "LargeValues",
    "LocalKey",
    "LogEntry",
    "LogTail",
    "Lookup",
    "Observer",
    "OneToMany",
    "OneToOne",
    "Page",
    "ParallelReads",
    "PartitionMove",
    "PartitionSpread",
    "Period",
    "PeriodTables",
    "QueryClass",
    "RangeDivision",
    "Reach",
    "Schema",
    "Storage",
    "Summary",
    "TablePatternsError",
    "Ticks",
    "Traffic",
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
    "ENCRYPTED": "recipes.encrypted_properties",
    "AccessPolicies": "recipes.grant",
    "Archive": "recipes.archive",
    "BlobArchive": "archiving.blobs",
    "BlobLog": "recipes.blob_log",
    "BlobLogHandler": "logs.logging_handler",
    "BulkDelete": "recipes.bulk_delete",
    "BulkLoad": "recipes.bulk_load",
    "CompoundKey": "recipes.compound_key",
    "DataSeries": "recipes.data_series",
    "Denormalize": "recipes.denormalize",
    "Denormalized": "recipes.one_to_many",
    "Drift": "tending.report",
    "EncryptedProperties": "recipes.encrypted_properties",
    "Entity": "entity",
    "EntityGroupTransaction": "recipes.entity_group_transaction",
    "EntitySet": "entity_set",
    "EntityType": "typed.entity_type",
    "EntityTypes": "recipes.entity_types",
    "EventualTransaction": "recipes.eventual_transaction",
    "FileArchive": "archiving.files",
    "Finding": "eventual.rows",
    "Gathered": "recipes.parallel_reads",
    "Grant": "recipes.grant",
    "HashDivision": "recipes.work_division",
    "Held": "typed.held",
    "InBlobs": "deriving.whereabouts",
    "InPartition": "deriving.whereabouts",
    "InTable": "deriving.whereabouts",
    "IndexEntities": "recipes.index_entities",
    "Int64": "edm",
    "InterPartitionIndex": "recipes.inter_partition_index",
    "IntraPartitionIndex": "recipes.intra_partition_index",
    "Key": "key",
    "KeyRotation": "recipes.key_rotation",
    "LargeProperties": "recipes.large_properties",
    "LargeValues": "recipes.large_values",
    "LocalKey": "secrecy.keys",
    "LogEntry": "logs.entry",
    "LogTail": "recipes.log_tail",
    "Lookup": "recipes.lookup",
    "Observer": "working.observer",
    "OneToMany": "recipes.one_to_many",
    "OneToOne": "recipes.one_to_one",
    "Page": "words.table",
    "ParallelReads": "recipes.parallel_reads",
    "PartitionMove": "recipes.partition_move",
    "PartitionSpread": "recipes.partition_spread",
    "Period": "periods.period",
    "PeriodTables": "recipes.period_tables",
    "QueryClass": "filters",
    "RangeDivision": "recipes.work_division",
    "Reach": "reach",
    "Schema": "schema",
    "Storage": "storage",
    "Summary": "recipes.summary",
    "TablePatternsError": "errors",
    "Ticks": "edm",
    "Traffic": "traffic",
    "Upload": "large.upload",
    "VaultKey": "secrecy.keys",
    "WideEntity": "recipes.wide_entity",
    "Worker": "recipes.worker",
    "above": "key",
    "anti_pattern": "spreading.hot_keys",
    "as_json": "entity",
    "at_least": "key",
    "at_most": "key",
    "below": "key",
    "between": "key",
    "connect": "storage",
    "explain": "review",
    "from_json": "entity",
    "grant": "recipes.grant",
    "hot_partitions": "spreading.hot_keys",
    "parse": "filters",
    "prefix": "key",
    "prop": "filters",
    "sequence_of": "spreading.hot_keys",
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
