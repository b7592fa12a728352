"""Move orders that were partitioned by day to partitions of their customers."""

from tablepatterns import EntitySet, Key, Mismatch, Rekey, Storage, Traffic, connect
from tablepatterns.errors import EntityChanged, RekeyNotReady


def main(storage: Storage) -> None:
    # -- before
    by_day = EntitySet(storage, "Orders", Key("{Day}", "{OrderId:06d}"))
    for number in range(1, 6):
        customer = "contoso" if number % 2 else "fabrikam"
        by_day.insert(
            {
                "Day": "2026-11-23",
                "OrderId": number,
                "Customer": customer,
                "Total": 10 * number,
            }
        )
    by_day.insert(
        {"Day": "2026-11-24", "OrderId": 1, "Customer": "contoso", "Total": 99}
    )

    # -- declare
    by_customer = EntitySet(
        storage, "OrdersByCustomer", Key("{Customer}", "{OrderId:06d}")
    )
    move = Rekey(by_day, by_customer)
    orders = move.entities
    orders.insert(
        {"Day": "2026-11-23", "OrderId": 6, "Customer": "fabrikam", "Total": 60}
    )

    # -- copy
    report = move.copy(
        max_per_second=200, progress=lambda so_far: print(so_far.entities, "read")
    )
    for each in report.differences:
        print(each.mismatch.value, each.entity, "and", each.other, "->", each.copy)

    # -- correct
    wrong = report.of(Mismatch.SAME_KEY)[0].entity
    order = orders.get(by_day.key.parse(*wrong))
    orders.delete(order)
    orders.insert(order | {"OrderId": 7})

    # -- verify
    report = move.verify()
    print(report.entities, "orders,", report.copies, "copies, equal:", report.is_clean)

    # -- straggler
    by_day.update(lambda found: found.update(Total=11), Day="2026-11-23", OrderId=1)
    report = move.verify()
    print([(each.mismatch.value, each.entity) for each in report.differences])
    try:
        move.cut_over()
    except RekeyNotReady as error:
        print(error)
    print("repaired:", move.repair(report), "equal:", move.verify().is_clean)

    # -- switch
    order = orders.get(Day="2026-11-23", OrderId=1)
    print(move.cut_over())
    try:
        orders.replace(order | {"Total": 12})
    except EntityChanged as error:
        print(error)
    orders.update(lambda found: found.update(Total=12), Day="2026-11-23", OrderId=1)

    # -- queries
    print([found["OrderId"] for found in orders.range(Customer="contoso")])
    print([found["OrderId"] for found in orders.range(Day="2026-11-23")])

    # -- back
    print(move.roll_back().primary, by_day.get(Day="2026-11-23", OrderId=1)["Total"])
    print(move.cut_over().primary)

    # -- commit
    with Traffic(storage) as before:
        orders.update(
            lambda found: found.update(Total=13), Customer="contoso", OrderId=1
        )
    print(move.commit().phase)
    with Traffic(storage) as after:
        orders.update(
            lambda found: found.update(Total=14), Customer="contoso", OrderId=1
        )
    print(len(before.requests), "requests before,", len(after.requests), "after")

    # -- clean
    print(move.clean_up(), "old orders deleted")
    print([found["Total"] for found in by_customer.range(Customer="contoso")])
    # -- end


if __name__ == "__main__":
    main(connect())
