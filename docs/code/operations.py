"""Record the requests of a block of code, and verify an index each night."""

import tablepatterns as tp
from tablepatterns import EntitySet, Key, Storage
from tablepatterns.jobs import repair, verify

JO = {"Department": "Sales", "EmployeeId": 223, "Email": "jo@contoso.com"}


# -- traffic
def main(storage: Storage) -> None:
    email_key = Key("{Department}", "{Email}")
    by_email = tp.InterPartitionIndex(email_key, table="EmployeesByEmail")
    by_id = Key("{Department}", "{EmployeeId:06d}")
    employees = EntitySet(storage, "Employees", by_id, derived=[by_email])
    employees.insert(JO)
    with tp.Traffic(storage) as traffic:
        employees.insert(JO | {"EmployeeId": 225, "Email": "kim@contoso.com"})
    for place, tally in sorted(traffic.by_partition().items()):
        print(tally.transactions, place)

    # -- nightly
    report = verify(employees, by_email, max_per_second=100)
    print(report.entities, "entities,", len(report.drifts), "inconsistent")
    if not report.is_clean:
        repair(employees, by_email, report)
    # -- end


if __name__ == "__main__":
    main(tp.connect())
