"""The catalogue's entries on many entities at once: to delete, to load, and to read."""

from __future__ import annotations

from typing import Final

from .entry import CatalogueEntry

VOLUME: Final = (
    CatalogueEntry(
        name="period_tables",
        title="High volume delete",
        summary="keep a table for each period, and drop it as a whole",
        kind="pattern",
        guide="High volume delete pattern",
        concerns=("modification", "volume"),
        problem="Old data must go, such as sign-in records older than 60 days. To find and delete each is a scan and "
        "thousands of requests.",
        solution="Keep a table for each day, hour, week or month. To delete a period is to drop one table.",
        keys="Table `Logins20140731`; within it PartitionKey = user, RowKey = the moment",
        classes=("PeriodTables", "Period"),
        modules=("period_tables",),
        guarantee="An entity is in the table of its moment and in no other. What has expired is neither written nor "
        "read any more, dropped or not.",
        limits=(
            "Reads over many periods ask each table.",
            "It does not see what is written past its sets.",
            "A table that a stalled request makes again is read by nobody, and the next `drop_expired` drops it.",
        ),
        cost="`insert` 1, for the first of a period `insert` 3; `drop` 1, whatever the table holds; within a "
        "period `range` 1.",
        use_when=("A high volume of entities must be deleted at the same time, mostly by age.",),
        avoid_when=(
            "Entities are looked up without their time, so that each period would be asked: use bulk delete.",
            "Those that go together have nothing in common but a filter: use bulk delete.",
        ),
        trade_offs=(
            "Does the design still serve the other uses: single entities, relations, aggregates?",
            "Does it avoid hot spots on insert?",
            "A deleted table's name is not free at once: use unique names.",
            "Expect some throttling when a new table is first used.",
        ),
        on_map=True,
    ),
    CatalogueEntry(
        name="bulk_delete",
        title="Bulk delete",
        summary="delete what a filter finds, a hundred at a time",
        kind="pattern",
        guide="High volume delete pattern",
        concerns=("modification", "volume"),
        problem="Many entities must go, and they are not alone in their tables.",
        solution="Find them by a filter, and delete up to a hundred of a partition in one transaction, on condition "
        "that they are as they were found.",
        keys="Those of the set",
        classes=("BulkDelete",),
        modules=("bulk_delete",),
        guarantee="An entity goes with its derived rows in the partition, or stays with all of them. One that another "
        "writer changed meanwhile is left and counted.",
        limits=(
            "It does not delete all or none: after an error what was deleted stays deleted.",
            "It does not scan unless told to.",
        ),
        cost="1,000 entities of a partition `delete` 11: one to find them, ten to delete them.",
        use_when=("Entities are deleted by a filter, and they share tables with others that stay.",),
        avoid_when=("They can have tables of their own by period: to drop a table is one request.",),
        trade_offs=("With many entities it is slow and costs much; transactions reduce the round trips.",),
    ),
    CatalogueEntry(
        name="bulk_load",
        title="Bulk load",
        summary="load a long input in few transactions, and resume it",
        kind="implementation",
        guide="Designing your Table service solution to be write efficient",
        concerns=("modification", "volume"),
        problem="A long input is to be written with few transactions, and a lost connection must not begin it anew.",
        solution="Group the input by PartitionKey, write up to a hundred rows in a transaction, several partitions at "
        "once, and hand out a token from which the load resumes.",
        keys="Those of the set; an input sorted by PartitionKey fills its transactions best",
        classes=("BulkLoad",),
        modules=("bulk_load",),
        guarantee="An entity and its derived rows in the partition are written together or not at all. A load "
        "that broke off resumes, and writes nothing twice.",
        limits=(
            "Readers see a part of the load while it goes on.",
            "It does not undo what was loaded when it breaks off.",
            "While others write the same entities, equal ones are taken for the load's own when it is resumed.",
        ),
        cost="1,000 entities of a partition `load` 10; `load` 20 with an index in the partition.",
        use_when=("Many entities are written at once: an import, a migration, a nightly feed.",),
        avoid_when=("All must be there or none: load a table of its own, and then let readers switch over to it.",),
        trade_offs=(
            "Avoid traffic spikes: spread work over a reasonable time.",
            "Do not make hot partitions: spread the requests at every moment.",
        ),
    ),
    CatalogueEntry(
        name="parallel_reads",
        title="Asynchronous and parallel operations",
        summary="read several partitions at once, and divide them among workers",
        kind="implementation",
        guide="Asynchronous and parallel operations",
        concerns=("volume", "lookup"),
        problem="To read several partitions one after another takes as long as all of them together.",
        solution="Read them at once, within a limit, and keep what was found where one fails. Workers divide "
        "partitions among them by hash or by range.",
        keys="Any, as long as requests are spread over several partitions",
        classes=("ParallelReads", "ParallelResult", "HashDivision", "RangeDivision"),
        modules=("parallel_reads", "work_division"),
        guarantee="Results come in the order asked for. A read that fails does not break off the others. A partition "
        "has exactly one owner.",
        limits=(
            "No answer of one instant over several partitions.",
            "A division does not know which worker is alive, nor divides a busy partition.",
        ),
        cost="3 partitions of a page each: `ranges` 3, sent together.",
        use_when=("Several partitions, or many entities, are wanted at once.", "Several workers share the work."),
        avoid_when=(
            "All requests go to one partition, which one node serves: make several of it, by a partition spread.",
        ),
        trade_offs=(
            "Provided that requests are spread over several partitions, throughput and responsiveness improve.",
            "Each worker has certain partitions, or all may reach every partition.",
        ),
    ),
)
