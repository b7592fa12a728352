"""The catalogue's entries on changes that belong together: in one transaction, and where none reaches."""

from __future__ import annotations

from typing import Final

from .entry import CatalogueEntry

CONSISTENCY: Final = (
    CatalogueEntry(
        name="eventual_transaction",
        title="Eventually consistent transactions",
        summary="finish changes that no single transaction can hold",
        kind="pattern",
        guide="Eventually consistent transactions pattern",
        concerns=("consistency",),
        problem="Entity group transactions are atomic only within one partition. Changes in several partitions, "
        "tables, accounts or systems must still agree in the end.",
        solution="One message on a queue asks for all of the work. A worker takes idempotent steps in their order, and "
        "deletes the message when all are done. After a failure the message comes again.",
        keys="Any; the message names what to change",
        classes=("EventualTransaction",),
        modules=("eventual_transaction",),
        guarantee="Once `start` has returned, every step is done at least once, in order, or the message is on the "
        "poison queue with the step and the reason.",
        limits=(
            "Nothing is isolated: who looks in between sees some steps done and others not.",
            "A step may be done twice, also by two workers at once after a stall: it must be idempotent.",
            "Nothing is undone when a step fails for good.",
        ),
        cost="`start` 1 queue transaction, as much as 11 table operations. The work, with two steps of one table "
        "transaction each: `Worker.run_once` 2 table + 2 queue transactions, as much as 24 table operations, "
        "or with `remember` `Worker.run_once` 2 table + 3 queue transactions, as much as 35 table operations.",
        use_when=(
            "Entities in different partitions, tables or accounts must agree in the end.",
            "An entity must agree with a blob, a file, a search index or a database.",
        ),
        avoid_when=(
            "Isolation matters: design the keys so that one entity group transaction can do it.",
            "A step cannot be made idempotent.",
        ),
        trade_offs=(
            "There is no isolation: a reader between two steps sees an inconsistent view.",
            "Steps must be idempotent, since a worker may have to begin again.",
            "It scales out with several queues and several workers.",
        ),
        on_map=True,
    ),
    CatalogueEntry(
        name="archive",
        title="Archive",
        summary="move entities that are done with, and lose none",
        kind="pattern",
        guide="Eventually consistent transactions pattern",
        concerns=("consistency", "volume"),
        problem="Entities that are done with, such as former employees, slow down the work on current ones. No "
        "transaction can move them to another table, and a failure half way must lose none.",
        solution="A message asks for the move. A worker inserts the entity in the archive, then deletes the original, "
        "then the message. The archive is a table, blobs or files.",
        keys="Those of the two sets, such as the tables Current and Archive",
        classes=("Archive", "BlobArchive", "FileArchive"),
        modules=("archive",),
        guarantee="At every moment the entity is in at least one of the two places. A change made while it moves is "
        "not lost.",
        limits=(
            "Between the insert there and the delete here the entity is in both places.",
            "One that somebody deletes while it is moved may stay in the archive.",
        ),
        cost="`archive` 1 queue transaction, as much as 11 table operations; `restore` 1 queue transaction, as "
        "much as 11 table operations; one move, by a worker 3 table + 2 queue transactions, as much as 25 "
        "table operations; from blobs `get` 1 blob read + 1 other blob transactions, as much as 22 table operations.",
        use_when=(
            "Old entities are seldom read and must not take part in work on current ones.",
            "They have to stay available, in a table, in blobs or in files.",
        ),
        avoid_when=(
            "All entities of a period go at once and for good: use a table for each period.",
            "Readers of both places cannot bear to see an entity twice for a moment.",
        ),
        trade_offs=(
            "There is no isolation: a reader of both tables may find the entity in both.",
            "Insert and delete must be idempotent: insert-or-replace, and delete-if-exists.",
        ),
    ),
    CatalogueEntry(
        name="entity_group_transaction",
        title="Entity group transactions",
        summary="change several entities of a partition, all or none",
        kind="implementation",
        guide="Entity group transactions",
        concerns=("consistency", "modification"),
        problem="Several entities must change together, or not at all.",
        solution="Give them one PartitionKey and commit all changes as one request, also of several types.",
        keys="One PartitionKey of one table; RowKeys with a prefix for each type",
        classes=("EntityGroupTransaction",),
        modules=("entity_group_transaction",),
        guarantee="All changes with all their derived rows are applied, or none is. Each is on condition of the ETag "
        "that was read.",
        limits=(
            "One partition of one table.",
            "At most 100 operations and 4 MB, both checked before any request.",
            "Each entity at most once.",
        ),
        cost="`commit` 1, for up to 100 entities.",
        use_when=(
            "Entities of one or several types must change together.",
            "Many changes in one partition are to save round trips.",
        ),
        avoid_when=(
            "The entities are in several partitions: use eventually consistent transactions.",
            "Putting them in one partition would make it hot: keep them apart, with eventually consistent ones.",
        ),
        trade_offs=(
            "More partitions scale better, but leave fewer chances for atomic changes.",
            "Concurrent transactions should not touch the same entities, or processing is delayed.",
            "To need one is often the reason to keep several types in one table.",
        ),
    ),
    CatalogueEntry(
        name="worker",
        title="Worker",
        summary="do the work that messages ask for, and lose none",
        kind="implementation",
        guide="Eventually consistent transactions pattern",
        concerns=("consistency",),
        problem="What was begun with a message must be finished, also when a worker dies, stalls, or meets a message "
        "that nobody can read.",
        solution="Receive messages under a lease that is renewed, find the handler of each kind, delete a message only "
        "when its work is done, and move what fails too often to a poison queue.",
        keys="None; a queue and its poison queue",
        classes=("Worker",),
        modules=("worker",),
        guarantee="A message is deleted only after its work is done, or after it was copied to the poison queue.",
        limits=(
            "Work is done at least once, in any order: handlers must be idempotent.",
            "A process that stalls for longer than the lease may find that another has the message.",
        ),
        cost="An empty queue `run_once` 1 queue transaction, as much as 11 table operations; else two queue "
        "transactions for each message, and what its work takes; a message that is moved to the poison queue "
        "`run_once` 3 queue transactions, as much as 33 table operations.",
        use_when=(
            "Any recipe with intents or messages is in use: archives, moves, indexes in other partitions.",
            "Work of your own is asked for by messages.",
        ),
        avoid_when=("Work must be done exactly once, and cannot be made idempotent.",),
        trade_offs=(
            "Scale out with several queues and several workers.",
            "The dequeue count shows poison messages; they go to a second queue, where someone can look.",
        ),
    ),
)
