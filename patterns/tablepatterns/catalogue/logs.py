"""The catalogue's entries on logs and on what is written at one end: two anti-patterns, and what to do instead."""

from __future__ import annotations

from typing import Final

from ..limits import PARTITION_ENTITIES_PER_SECOND
from .entry import CatalogueEntry

LOGS: Final = (
    CatalogueEntry(
        name="log_tail",
        title="Log tail",
        summary="read the newest entities first, with one request",
        kind="pattern",
        guide="Log tail pattern",
        concerns=("order", "query-versus-modification"),
        problem="The newest entities are wanted, such as the latest ten expense claims. `$top` gives the first of a "
        "partition, and nothing gives the last.",
        solution="Make the RowKey of a count of time that runs backwards, so that the newest entity sorts first.",
        keys="RowKey `2519936321679999999_4f8c...`: the ticks left until the year 9999 in 19 digits, and an id",
        classes=("LogTail",),
        modules=("log_tail",),
        guarantee="No entry overwrites another, also of the same tick, and an append that is sent again adds the entry "
        "once.",
        limits=(
            "Entries of one instant are in no particular order among themselves.",
            "It does not spread the writes of one partition.",
            "It refuses the Cosmos DB Table API, which does not sort by key.",
        ),
        cost="`append` 1; `latest(1000)` 1 of however many; a page of `between` 1.",
        use_when=("The most recently added entities are read, or all in reverse order of time.",),
        avoid_when=(
            "All entries of the whole application would go to one partition: give it more partitions, or use "
            "partition spread.",
            "It is log data that is read by span of time: use a blob log.",
        ),
        trade_offs=(
            "The inverted value is padded with zeros, so that it sorts as expected.",
            "All writes of a moment go to the front of the partition: mind its scalability target.",
        ),
        on_map=True,
    ),
    CatalogueEntry(
        name="prepend_append",
        title="Prepend/append",
        summary="all writes of a moment go to one end, and one partition",
        kind="anti-pattern",
        guide="Prepend/append anti-pattern",
        concerns=("volume", "modification"),
        problem="Keys by time send all new entities to the first or the last partition. That one takes all inserts of "
        "a moment, and the service cannot balance them over nodes.",
        solution="Make the PartitionKey of something that spreads the writes, such as department and employee, and put "
        "the time in the RowKey; or put a bucket in front of the PartitionKey.",
        keys="Instead of PartitionKey = the current hour: PartitionKey = department and employee, RowKey = hour and id",
        classes=("anti_pattern", "hot_partitions", "sequence_of"),
        modules=(),
        guarantee="None: it is what to avoid. `anti_pattern` tells it from a key, `hot_partitions` from requests.",
        limits=(f"A partition serves some {PARTITION_ENTITIES_PER_SECOND:,} entities of 1 KiB a second.",),
        cost="None to tell a key that does it.",
        use_when=("Never where the volume is likely to be throttled on one partition.",),
        avoid_when=("All writers of a moment share a PartitionKey, and they are many.",),
        trade_offs=(
            "Do the other keys support the queries of the application?",
            "Does the expected volume reach the target of one partition, so that the service throttles?",
        ),
        on_map=True,
    ),
    CatalogueEntry(
        name="log_data",
        title="Log data",
        summary="keep log data in a table",
        kind="anti-pattern",
        guide="Log data anti-pattern",
        concerns=("volume",),
        problem="Log data is read by span of time. In a table, keys by time make one hot partition, and keys that "
        "spread the writes make each such read a search of every partition.",
        solution="Keep log data in blobs that are named for their hour, with the span of their entries in the "
        "metadata, and write entries in batches.",
        keys="Instead of rows: `queue/2014/07/31/1800/000001.log`",
        classes=("anti_pattern",),
        modules=(),
        guarantee="None: it is what to avoid.",
        limits=("No layout of a table serves both the writing and the reading.",),
        cost="In a table at least one transaction for every hundred entries, and a scan for each read.",
        use_when=("Never as a rule: Blob storage is the place for log data.",),
        avoid_when=("Many processes log at once, and spans of time are read.",),
        trade_offs=(
            "A table without hot partitions may not give efficient access to the log.",
            "Processing log data often means loading many records.",
            "Log data is often structured, but Blob storage may still be better.",
        ),
        on_map=True,
    ),
    CatalogueEntry(
        name="partition_spread",
        title="Partition spread",
        summary="spread the writes of a busy partition, read them as one",
        kind="pattern",
        guide="Prepend/append anti-pattern",
        concerns=("volume", "order"),
        problem="All writes of a moment go to one partition, and the key that the queries want does not spread them.",
        solution="Put a bucket in front of the PartitionKey, made of a hash. Reads ask all buckets together and merge "
        "them in order.",
        keys="PartitionKey `03_2014073118`: the bucket, and the key that you give",
        classes=("PartitionSpread",),
        modules=("partition_spread",),
        guarantee="Every entity is in the bucket in which all others look for it, and a read of all buckets comes in "
        "the order of the RowKeys. Whoever spreads otherwise is refused.",
        limits=(
            "The number of buckets of a table does not change.",
            "No transaction reaches over several buckets.",
            "It refuses the Cosmos DB Table API, which does not sort by key.",
        ),
        cost="`insert` 1, `get` 1; `take(10)` 4 of 4 buckets, sent together.",
        use_when=("Keys by time, or one busy tenant, make a hot partition, and the queries need that key.",),
        avoid_when=(
            "Another PartitionKey that serves the queries spreads the writes by itself.",
            "It is read far more often than it is written: keep one partition, since each read asks every bucket.",
        ),
        trade_offs=("Do the other keys support the queries of the application?",),
    ),
    CatalogueEntry(
        name="blob_log",
        title="Blob log",
        summary="keep log data in blobs, and read it by span and level",
        kind="pattern",
        guide="Log data anti-pattern",
        concerns=("volume", "order"),
        problem="All errors between 15:04 and 15:06: in a table either the writes or the reads of a log suffer.",
        solution="Append entries to blobs of an hour each, found by their names. Their metadata says what span and "
        "what levels they hold.",
        keys="`queue/2014/07/31/1800/000001.log`: service, day, hour, and the number of the blob",
        classes=("BlobLog", "BlobLogHandler"),
        modules=("blob_log",),
        guarantee="An entry whose write returned is read exactly once, also if an answer was lost or the writer died.",
        limits=(
            "What is in the buffer when the process dies is lost; written through, nothing is.",
            "After an error of the network, other programs that read the blobs may find an entry in two of them, with "
            "one id.",
        ),
        cost="`append` 0 into the buffer; for an hour `flush` 1 blob write transaction, as much as 139 table "
        "operations; for an hour of one blob `between` 1 blob read + 1 blob list transactions, as much as 150"
        " table operations.",
        use_when=("Many processes log, and logs are read by span of time and level.",),
        avoid_when=(
            "Single entries are looked up by key, or changed: use a table.",
            "Few entries come with each write: use a table. A flush is 1 blob write transaction, as much as 139 table "
            "operations, for one entry as for thousands.",
            "Only the newest few of each entity are read: use a log tail.",
        ),
        trade_offs=(
            "To write every entry at once is reliable; to buffer is cheaper and scales.",
            "Processing log data often means loading many records.",
        ),
    ),
)
