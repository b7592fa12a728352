"""Parts that derive data from employees, and the queries that use it."""

from __future__ import annotations

from typing import Any

from compositions.fields import shown
from compositions.homes import Home
from compositions.part import Fields, Part
from tablepatterns import EntitySet, IntraPartitionIndex, Key
from tablepatterns.entity_set.placement import InBlobs, InTable
from tablepatterns.recipes.denormalize import CopiedFields
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns.recipes.summary import Summary


class Kept(Part):
    """Derived data under the name of its part."""

    def of(self, entities: Any) -> Any:
        return next(each for each in entities.derived if each.name == self.name)


class Indexed(Kept):
    """An index by email: a point query for each employee, and a range for all."""

    async def check(self, staff: Any, those: list[Fields]) -> None:
        home = staff.home
        for group in staff.groups(those):
            index = self.of(home.set_of(group[0]))
            for each in group:
                found = await home.find(index, each, self.asked(home, each) | {"Email": each["Email"]})
                assert home.shown(found) == each
            found = home.set_of(group[0]).range(index, **self.asked(home, group[0]))
            expected = sorted((each for each in group), key=lambda each: each["Email"])
            assert [shown(entity) async for entity in found if entity.get("Email") in emails(group)] == expected

    def asked(self, home: Any, fields: Fields) -> Fields:
        raise NotImplementedError


def emails(those: list[Fields]) -> set[str]:
    return {each["Email"] for each in those}


class Intra(Indexed):
    name = "IntraPartitionIndex"

    def derived(self, home: type[Home], table: str) -> list[Any]:
        return [IntraPartitionIndex(Key(home.partition, "email_{Email}"), name=self.name)]

    def asked(self, home: Any, fields: Fields) -> Fields:
        return dict(home.group(fields))


class Inter(Indexed):
    name = "InterPartitionIndex"

    def derived(self, home: type[Home], table: str) -> list[Any]:
        return [InterPartitionIndex(Key("email_{Department}", "mail_{Email}"), name=self.name)]

    def asked(self, home: Any, fields: Fields) -> Fields:
        return {"Department": fields["Department"]}


class Unique(Inter):
    name = "InterPartitionIndex, unique"

    def derived(self, home: type[Home], table: str) -> list[Any]:
        key = Key("unique_{Department}", "{Email}")
        return [InterPartitionIndex(key, table=f"{table}Emails", unique=True, name=self.name)]


class Listed(Kept):
    name = "IndexEntity"

    def derived(self, home: type[Home], table: str) -> list[Any]:
        return [IndexEntity("LastName", name=self.name)]

    async def check(self, staff: Any, those: list[Fields]) -> None:
        for group in staff.groups(those):
            entities = staff.home.set_of(group[0])
            for name in {each["LastName"] for each in group}:
                asked = self.asked(staff.home, group[0]) | {"LastName": name}
                found = [shown(entity) for entity in await entities.find_all(self.of(entities), **asked)]
                expected = [each for each in staff.sharing(self, group, those) if each["LastName"] == name]
                assert sorted(found, key=number) == sorted(expected, key=number)

    def asked(self, home: Any, fields: Fields) -> Fields:
        return dict(home.group(fields))


def number(fields: Fields) -> int:
    return int(fields["EmployeeId"])


class ListedElsewhere(Listed):
    name = "IndexEntity in a table"
    is_eventual = True

    def derived(self, home: type[Home], table: str) -> list[Any]:
        key = Key("lastname_{Department}", "names_{LastName}")
        return [IndexEntity("Department", "LastName", key=key, ids="Elsewhere", store=InTable(), name=self.name)]

    def asked(self, home: Any, fields: Fields) -> Fields:
        return {"Department": fields["Department"]}


class ListedInBlobs(ListedElsewhere):
    name = "IndexEntity in blobs"

    def derived(self, home: type[Home], table: str) -> list[Any]:
        store = InBlobs(f"{table.lower()}-lists")
        key = Key("blob_{Department}", "{LastName}")
        return [IndexEntity("Department", "LastName", key=key, store=store, name=self.name)]


class Totals(Kept):
    name = "Summary"
    # In the partition, the row cannot be derived from one entity
    is_verified = False

    def derived(self, home: type[Home], table: str) -> list[Any]:
        return [Summary(Key(home.partition, "total"), sums={"Salary": "Payroll"}, name=self.name)]

    async def check(self, staff: Any, those: list[Fields]) -> None:
        for group in staff.groups(those):
            entities = staff.home.set_of(group[0])
            totals = await entities.totals(self.of(entities), **self.asked(staff.home, group[0]))
            summed = staff.sharing(self, group, those)
            assert totals == {"Count": len(summed), "Payroll": sum(each["Salary"] for each in summed)}

    def asked(self, home: Any, fields: Fields) -> Fields:
        return dict(home.group(fields))

    def keeps(self, row: Any) -> bool:
        return bool(row.row_key == "total" and row["Count"] == 0 and row["Payroll"] == 0)


class TotalsElsewhere(Totals):
    name = "Summary in a table"
    is_eventual = is_verified = True

    def derived(self, home: type[Home], table: str) -> list[Any]:
        key = Key("total_{Department}", "sum")
        return [Summary(key, sums={"Salary": "Payroll"}, store=InTable(), name=self.name)]

    def asked(self, home: Any, fields: Fields) -> Fields:
        return {"Department": fields["Department"]}


class Copied(Kept):
    name = "CopiedFields"

    def derived(self, home: type[Home], table: str) -> list[Any]:
        into, copies = Key(home.partition, "manager"), {"Email": "ManagerEmail"}
        return [CopiedFields(into, refers={home.number: "ManagerId"}, copies=copies, name=self.name)]

    def departments(self, entities: Any) -> Any:
        """Return the departments of a set of employees."""
        copies = self.of(entities)
        return EntitySet(entities.account, entities.table.name, copies.key, derived=[copies.filled_from(entities)])

    async def check(self, staff: Any, those: list[Fields]) -> None:
        for group in staff.groups(those):
            manager, departments = group[0], self.departments(staff.home.set_of(group[0]))
            asked = staff.home.group(manager)
            if await departments.get(**asked) is None:
                refers = staff.home.key_of(manager) | asked
                refers["ManagerId"] = refers.pop(staff.home.number)
                await departments.insert(refers)
            assert (await departments.get(**asked))["ManagerEmail"] == manager["Email"]

    def keeps(self, row: Any) -> bool:
        # The department is kept, without data of the deleted employee
        return bool(row.row_key == "manager" and "ManagerEmail" not in row)


DERIVED: tuple[type[Kept], ...] = (
    Intra,
    Inter,
    Unique,
    Listed,
    ListedElsewhere,
    ListedInBlobs,
    Totals,
    TotalsElsewhere,
    Copied,
)
