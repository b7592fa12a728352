"""The catalogue's entries on secondary indexes: other keys for what is stored already."""

from __future__ import annotations

from typing import Final

from .entry import CatalogueEntry

_SAME_CONDITIONS: Final = (
    "Entities are looked up by several different unique values.",
    "Entities are wanted in several sort orders.",
)

INDEXES: Final = (
    CatalogueEntry(
        name="intra_partition_index",
        title="Intra-partition secondary index",
        summary="find and order a partition's entities by another key, exactly",
        kind="pattern",
        guide="Intra-partition secondary index pattern",
        concerns=("lookup", "order", "consistency"),
        problem="Only PartitionKey and RowKey are indexed. A look-up by another property scans the partition, and no "
        "other order than that of the RowKey can be asked for.",
        solution="Store a copy of each entity in its own partition, under a second RowKey with a prefix of its own. "
        "Entity group transactions keep the copies equal.",
        keys="PartitionKey `Sales`; RowKey `empid_000223` for the entity, `email_jonesj@contoso.com` for its copy",
        classes=("IntraPartitionIndex",),
        modules=("intra_partition_index",),
        guarantee="Entity and copies change in one transaction, so no reader ever sees them differ. A second entity "
        "with the same index key is refused.",
        limits=(
            "It does not reach across partitions.",
            "Each copy is one of the 100 operations of a transaction.",
            "Rows that other programs write past the set get no copy.",
        ),
        cost="`insert` 1, `replace` 1, `delete` 1, as without it; `find` 1, a page of `range` 1.",
        use_when=(*_SAME_CONDITIONS, "One partition can bear the load of all these look-ups."),
        avoid_when=(
            "Look-ups would exceed what one partition can serve, or do not know the PartitionKey: use the "
            "inter-partition secondary index.",
            "Many entities share the value: use index entities.",
        ),
        trade_offs=(
            "Storage is cheap, but keep only the copies that serve queries you run.",
            "Copies share the partition with the entities, and count towards its scalability target.",
            "All copies must be in one partition, since only there a transaction keeps them equal.",
            "The RowKey must be unique for each entity; a compound key makes it so.",
            "Numbers in the RowKey are padded with zeros, so that they sort.",
            "A copy need not hold every property, but one that answers alone saves a second query.",
        ),
        on_map=True,
    ),
    CatalogueEntry(
        name="inter_partition_index",
        title="Inter-partition secondary index",
        summary="find and order entities by another key in other partitions",
        kind="pattern",
        guide="Inter-partition secondary index pattern",
        concerns=("lookup", "order", "consistency", "volume"),
        problem="Look-ups by other properties scan, and so many transactions are expected that one partition, with "
        "the entities and their copies, would be throttled.",
        solution="Store a copy of each entity in another partition or table, under a PartitionKey and RowKey of its "
        "own. Copies follow a moment later, by an intent on a queue.",
        keys="`empid_Sales` / `000223` for the entity, `email_Sales` / `jonesj@contoso.com` for its copy",
        classes=("InterPartitionIndex",),
        modules=("inter_partition_index",),
        guarantee="Whoever dies, and wherever, once the messages are worked off each copy is what its entity says, and "
        "there are no others. With `unique`, no two entities ever have one key.",
        limits=(
            "A reader may find an old copy, or none, until the change has been followed.",
            "Without `unique`, of two entities with one key the first keeps the copy.",
            "A process that stalls for longer than half the lease between two requests may leave a copy that nobody "
            "knows of: `verify` finds and `repair` mends it.",
        ),
        cost="`insert` 3 table + 2 queue transactions, as much as 25 table operations, with `unique` one more of a"
        " table; `replace` 4 table + 2 queue transactions, as much as 26 table operations, where copies "
        "change, `replace` 5 table + 2 queue transactions, as much as 27 table operations, where their key "
        "does, else `replace` 1; `delete` 4 table + 2 queue transactions, as much as 26 table operations; "
        "`find` 1, a page of `range` 1.",
        use_when=(
            *_SAME_CONDITIONS,
            "Look-ups by the different keys would exceed what one partition can serve.",
            "The PartitionKey of the entity is not known where it is looked up.",
        ),
        avoid_when=(
            "A reader must see a change at the moment it is made: use the intra-partition secondary index.",
            "Entities change far more often than they are looked up.",
        ),
        trade_offs=(
            "Copies are eventually consistent, kept by the eventually consistent transactions pattern.",
            "Storage is cheap, but keep only the copies that serve queries you run.",
            "The RowKey must be unique for each entity; a compound key makes it so.",
            "Numbers in the RowKey are padded with zeros, so that they sort.",
            "A copy need not hold every property, but one that answers alone saves a second query.",
        ),
        on_map=True,
    ),
    CatalogueEntry(
        name="index_entities",
        title="Index entities",
        summary="find all entities that share a value, by a list of their keys",
        kind="pattern",
        guide="Index entities pattern",
        concerns=("lookup", "consistency"),
        problem="A list of all entities with one value that is not unique, such as a last name, needs a scan.",
        solution="Keep a list of keys for each value: in a row of the same partition, in a row elsewhere, or in a "
        "blob. Read the list, then the entities on it.",
        keys="PartitionKey `Sales`, RowKey `lastname_Jones`, with a list of RowKeys such as `empid_000152`",
        classes=("IndexEntity", "InPartition", "InTable", "InBlobs"),
        modules=("index_entities",),
        guarantee="In the partition a list changes in one transaction with its entities, and is exact at every moment. "
        "Elsewhere, once the messages are worked off, each list is what the entities say.",
        limits=(
            "Writers of one list wait for each other; `spread` makes that seldom.",
            "A row lists some 20,000 keys; spread the list, or keep it in blobs.",
            "Lists elsewhere are late for a moment; `find_all` leaves out who has another value by now.",
        ),
        cost="In the partition: `insert` 2, `delete` 2, `replace` 3 where the value changes, else `replace` 1. In "
        "another table: `insert` 4 table + 2 queue transactions, as much as 26 table operations; `replace` 6 "
        "table + 2 queue transactions, as much as 28 table operations. `keys_of` 1; `find_all` 3 for 2 "
        "entities: the list, and each of them.",
        use_when=(
            "Searches ask for every entity with a given value of some property.",
            "Many entities share a value, and full copies of them would be too much.",
        ),
        avoid_when=(
            "The value is unique, or one query must do: use a secondary index, whose copies answer alone.",
            "Very many writers add to the list of one value: use an inter-partition secondary index with the value in "
            "front of its key, which has a row for each.",
        ),
        trade_offs=(
            "It takes two steps: the list, then each entity on it.",
            "An entity holds at most 1 MB. If a list may exceed that, keep lists in blobs.",
            "Lists in the partition serve look-ups within the partition only, and add to its load.",
            "Lists in another table or in blobs are eventually consistent, by way of a queue.",
        ),
        on_map=True,
    ),
)
