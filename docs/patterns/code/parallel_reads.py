"""All employees of several departments, read at once, and divided among workers."""

from tablepatterns import (
    BulkLoad,
    EntitySet,
    HashDivision,
    Key,
    ParallelReads,
    Storage,
    Traffic,
    connect,
)

DEPARTMENTS = ("Finance", "HR", "IT", "Law", "Marketing", "Sales")


def main(storage: Storage) -> None:
    # -- declare
    by_id = Key("{Department}", "empid_{EmployeeId:06d}")
    employees = EntitySet(storage, "Employees", by_id)
    reads = ParallelReads(employees, max_concurrency=4)

    # -- write
    BulkLoad(employees).load(
        {"Department": department, "EmployeeId": number}
        for department in DEPARTMENTS
        for number in range(50)
    )

    # -- ask
    with Traffic(storage) as traffic:
        gathered = reads.ranges([{"Department": name} for name in DEPARTMENTS])
    print(len(gathered.entities), "by", len(traffic.requests), "requests")
    for read in gathered.reads:
        print(" ", read.fields["Department"], len(read.entities), read.error)

    # -- points
    wanted = [{"Department": name, "EmployeeId": 49} for name in ("Sales", "Ops")]
    for read in reads.points(wanted).reads:
        print(read.fields["Department"], len(read.entities))

    # -- hash
    users = [f"user{number}" for number in range(1000)]
    by_hash = HashDivision(3)
    print([len(by_hash.owned_by(worker, users)) for worker in range(3)])
    print("user7: worker", by_hash.owner("user7"))
    # -- end


if __name__ == "__main__":
    main(connect())
