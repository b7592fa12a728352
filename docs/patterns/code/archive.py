"""Former employees go to a table of their own, by a worker that may die on the way."""

from tablepatterns import Archive, EntitySet, Key, Storage, Worker, connect

JONES = {"Department": "Sales", "EmployeeId": 456}


def main(storage: Storage) -> None:
    # -- declare
    key = Key("{Department}", "empid_{EmployeeId:06d}")
    current, former = (
        EntitySet(storage, "Current", key),
        EntitySet(storage, "Former", key),
    )
    archive = Archive(current, former)
    worker = Worker(storage, [archive])

    # -- ask
    current.insert({**JONES, "LastName": "Jones"})
    archive.archive(JONES)
    print("asked: ", where(current, former))

    # -- work
    print(worker.run_once())
    print("worked:", where(current, former))

    # -- back
    archive.restore(JONES)
    worker.run_once()
    print("back:  ", where(current, former))
    # -- end


def where(*places: EntitySet[Storage]) -> str:
    """Tell in which tables the entity is."""
    return ", ".join(
        each.table.name for each in places if each.get(**JONES) is not None
    )


if __name__ == "__main__":
    main(connect())
