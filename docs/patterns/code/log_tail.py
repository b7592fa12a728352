"""The latest expense claims of an employee, newest first."""

from datetime import datetime, timedelta, timezone

from tablepatterns import LogTail, Storage, connect

NOON = datetime(2014, 8, 22, 12, tzinfo=timezone.utc)


def main(storage: Storage) -> None:
    # -- declare
    claims = LogTail(storage, "EmployeeExpense", "{Employee}", at="ClaimedAt")

    # -- write
    for day, amount in ((0, 20.0), (1, 12.5), (2, 80.0), (3, 7.0)):
        moment = NOON + timedelta(days=day)
        claims.append({"Employee": "000223", "ClaimedAt": moment, "Amount": amount})
    for row in storage.tables.get_table_client("EmployeeExpense").list_entities():
        print(f"  {row['PartitionKey']}  {row['RowKey'][:19]}_...  {row['Amount']}")

    # -- ask
    for claim in claims.latest(2, Employee="000223"):
        print("latest:", claim["ClaimedAt"].date(), claim["Amount"])
    for claim in claims.between(NOON, NOON + timedelta(days=1), Employee="000223"):
        print("of two days:", claim["ClaimedAt"].date(), claim["Amount"])

    # -- end


if __name__ == "__main__":
    main(connect())
