"""The arrows of the pattern map, and those that this library adds."""

from __future__ import annotations

from typing import Final

from .entry import Basis, Relation

_GUIDE: Final[tuple[tuple[str, str, Basis], ...]] = (
    ("intra_partition_index", "inter_partition_index", "listed"),
    ("intra_partition_index", "compound_key", "listed and text"),
    ("inter_partition_index", "intra_partition_index", "listed"),
    ("inter_partition_index", "eventual_transaction", "listed and text"),
    ("inter_partition_index", "compound_key", "listed and text"),
    ("index_entities", "compound_key", "listed"),
    ("index_entities", "eventual_transaction", "listed and text"),
    ("denormalize", "compound_key", "listed"),
    ("compound_key", "eventual_transaction", "listed"),
    ("log_tail", "prepend_append", "listed"),
    ("prepend_append", "log_tail", "listed"),
    ("prepend_append", "compound_key", "listed and text"),
    ("log_data", "prepend_append", "text"),
    ("data_series", "large_properties", "listed"),
    ("data_series", "eventual_transaction", "listed"),
    ("large_properties", "eventual_transaction", "listed and text"),
    ("large_properties", "wide_entity", "listed"),
)
_ADVICE: Final[tuple[tuple[str, str, Basis], ...]] = (
    ("intra_partition_index", "entity_group_transaction", "listed"),
    ("inter_partition_index", "entity_group_transaction", "listed"),
    ("eventual_transaction", "entity_group_transaction", "listed"),
    ("index_entities", "entity_group_transaction", "listed"),
    ("denormalize", "entity_group_transaction", "listed"),
    ("compound_key", "entity_group_transaction", "listed"),
    ("period_tables", "entity_group_transaction", "listed"),
    ("wide_entity", "entity_group_transaction", "listed"),
    ("intra_partition_index", "entity_types", "listed"),
    ("inter_partition_index", "entity_types", "listed"),
    ("index_entities", "entity_types", "listed"),
    ("denormalize", "entity_types", "listed"),
    ("compound_key", "entity_types", "listed"),
    ("eventual_transaction", "merge_or_replace", "listed"),
    ("data_series", "merge_or_replace", "listed"),
    ("wide_entity", "merge_or_replace", "listed"),
    ("period_tables", "modifying_entities", "listed"),
    ("prepend_append", "modifying_entities", "listed"),
    ("log_tail", "retrieving_entities", "listed"),
)
_REMEDIES: Final[tuple[tuple[str, str, Basis], ...]] = (
    ("prepend_append", "partition_spread", "remedy"),
    ("prepend_append", "log_tail", "remedy"),
    ("prepend_append", "compound_key", "remedy"),
    ("log_data", "blob_log", "remedy"),
)
_RELATIONSHIPS: Final[tuple[tuple[str, str, Basis], ...]] = (
    ("one_to_many", "denormalize", "relationship"),
    ("one_to_one", "large_properties", "relationship"),
    ("one_to_one", "grant", "relationship"),
    ("inheritance", "entity_types", "relationship"),
)
_LIBRARY: Final[tuple[tuple[str, str, Basis], ...]] = (
    ("archive", "eventual_transaction", "library"),
    ("archive", "worker", "library"),
    ("archive", "period_tables", "library"),
    ("eventual_transaction", "worker", "library"),
    ("inter_partition_index", "worker", "library"),
    ("partition_move", "eventual_transaction", "library"),
    ("partition_move", "worker", "library"),
    ("one_to_many", "partition_move", "library"),
    ("one_to_many", "summary", "library"),
    ("one_to_many", "lookup", "library"),
    ("one_to_many", "entity_group_transaction", "library"),
    ("summary", "denormalize", "library"),
    ("summary", "index_entities", "library"),
    ("lookup", "denormalize", "library"),
    ("period_tables", "bulk_delete", "library"),
    ("bulk_delete", "period_tables", "library"),
    ("bulk_load", "entity_group_transaction", "library"),
    ("partition_spread", "log_tail", "library"),
    ("partition_spread", "parallel_reads", "library"),
    ("blob_log", "log_tail", "library"),
    ("parallel_reads", "retrieving_entities", "library"),
    ("worker", "eventual_transaction", "library"),
    ("worker", "parallel_reads", "library"),
    ("entity_types", "entity_group_transaction", "library"),
    ("encrypted_properties", "grant", "library"),
    ("encrypted_properties", "large_properties", "library"),
    ("materialized_view", "denormalize", "library"),
    ("materialized_view", "summary", "library"),
    ("materialized_view", "inter_partition_index", "library"),
    ("entity_group_transaction", "modifying_entities", "library"),
    ("modifying_entities", "merge_or_replace", "library"),
    ("verify_and_repair", "inter_partition_index", "library"),
    ("verify_and_repair", "index_entities", "library"),
    ("verify_and_repair", "denormalize", "library"),
    ("verify_and_repair", "worker", "library"),
    ("modifying_entities", "entity_group_transaction", "library"),
)

RELATIONS: Final = tuple(Relation(*each) for each in (*_GUIDE, *_ADVICE, *_REMEDIES, *_RELATIONSHIPS, *_LIBRARY))
