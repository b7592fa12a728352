"""Design patterns for Azure Table storage, as importable, composable recipes over the Azure SDK."""

from .edm import Int64, Ticks
from .entity import Entity, as_json, from_json
from .entity_set import EntitySet
from .errors import TablePatternsError
from .filters import QueryClass, parse, prop
from .key import Key, above, at_least, at_most, below, between, prefix
from .recipes.bulk_load import BulkLoad
from .recipes.compound_key import CompoundKey
from .recipes.entity_group_transaction import EntityGroupTransaction
from .recipes.intra_partition_index import IntraPartitionIndex
from .recipes.log_tail import LogTail
from .schema import Schema
from .storage import Storage, connect
from .table import Page

__all__ = [
    "BulkLoad",
    "CompoundKey",
    "Entity",
    "EntityGroupTransaction",
    "EntitySet",
    "Int64",
    "IntraPartitionIndex",
    "Key",
    "LogTail",
    "Page",
    "QueryClass",
    "Schema",
    "Storage",
    "TablePatternsError",
    "Ticks",
    "above",
    "as_json",
    "at_least",
    "at_most",
    "below",
    "between",
    "connect",
    "from_json",
    "parse",
    "prefix",
    "prop",
]
__version__ = "0.1.0"
