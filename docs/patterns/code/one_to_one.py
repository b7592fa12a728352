"""The photo of an employee and the car she drives, each an entity of its own."""

from tablepatterns import EntitySet, Key, OneToOne, Storage, connect
from tablepatterns.errors import BadInput

JONES = {"Department": "Sales", "EmployeeId": 223}


def main(storage: Storage) -> None:
    # -- implicit
    by_id = Key("{Department}", "empid_{EmployeeId:06d}")
    staff = EntitySet(storage, "Staff", by_id)
    photos = EntitySet(storage, "Photos", by_id)
    pictured = OneToOne(staff, photos)

    # -- read
    jones = staff.insert(JONES | {"LastName": "Jones"})
    photos.insert(JONES | {"Photo": b"GIF89a"})
    print(pictured.second_of(jones))

    # -- explicit
    cars = EntitySet(storage, "Cars", Key("{Maker}", "{Number}"))
    drives = OneToOne(staff, cars, links=("PartnerPartition", "PartnerRow"))

    # -- link
    fiat = cars.insert({"Maker": "Fiat", "Number": "B-XY 1"})
    drives.link(jones, fiat)
    for table in ("Staff", "Cars"):
        (row,) = storage.tables.get_table_client(table).list_entities()
        print(f"  {table:<5}  {row['PartnerPartition']:<5}  {row['PartnerRow']}")
    print(drives.second_of(jones)["Number"], drives.first_of(fiat)["LastName"])

    # -- refuse
    smith = staff.insert(JONES | {"EmployeeId": 224, "LastName": "Smith"})
    try:
        drives.link(smith, fiat)
    except BadInput as error:
        print(error)

    # -- unlink
    drives.unlink(jones, fiat)
    print(drives.second_of(jones))
    # -- end


if __name__ == "__main__":
    main(connect())
