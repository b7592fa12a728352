"""The example of an application: employees over HTTP, whose ETags are those of the table."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from tablepatterns import Storage, connect
from tablepatterns_engine import Engine

APP = Path(__file__).parents[2] / "examples" / "employees_api" / "app.py"
SALES = "/departments/Sales/employees"
JONES = {"EmployeeId": 223, "Email": "jonesj@contoso.com", "Name": "Jones", "Age": 34}


@pytest.fixture(params=["memory", pytest.param("azurite", marks=pytest.mark.azurite)])
def account(request: pytest.FixtureRequest, engine: Engine) -> Iterator[Storage]:
    if request.param == "memory":
        with connect(engine) as storage:
            yield storage
        return
    with connect(request.getfixturevalue("azurite")) as storage:
        storage.tables.delete_table("Employees")
        yield storage
        storage.tables.delete_table("Employees")


def client_of(storage: Storage) -> FlaskClient:
    client: FlaskClient = runpy.run_path(str(APP))["create_app"](storage).test_client()
    return client


@pytest.fixture
def client(account: Storage) -> FlaskClient:
    return client_of(account)


@pytest.fixture
def jones(client: FlaskClient) -> Any:
    return client.post(SALES, json=JONES)


def test_an_employee_that_was_added_is_where_the_answer_says(client: FlaskClient, jones: Any) -> None:
    assert (jones.status_code, jones.location) == (201, f"{SALES}/223")
    shown = client.get(jones.location)
    assert shown.json == {**JONES, "Department": "Sales"}
    assert shown.headers["ETag"] == jones.headers["ETag"]


def test_who_has_this_version_gets_no_other(client: FlaskClient, jones: Any) -> None:
    again = client.get(jones.location, headers={"If-None-Match": jones.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


def test_a_change_on_the_version_that_was_read_is_made(client: FlaskClient, jones: Any) -> None:
    etag = jones.headers["ETag"]
    changed = client.put(jones.location, json={**JONES, "Email": "jo@contoso.com"}, headers={"If-Match": etag})
    assert changed.status_code == 200
    assert changed.headers["ETag"] != etag
    assert client.get(f"{SALES}?email=jonesj").json["employees"] == []
    assert [each["EmployeeId"] for each in client.get(f"{SALES}?email=jo%40").json["employees"]] == [223]


@pytest.mark.parametrize("method", ["put", "delete"])
def test_a_change_on_an_old_version_is_412_and_changes_nothing(client: FlaskClient, jones: Any, method: str) -> None:
    old = {"If-Match": jones.headers["ETag"]}
    client.put(jones.location, json={**JONES, "Age": 35}, headers=old)
    refused = getattr(client, method)(jones.location, json={**JONES, "Age": 50}, headers=old)
    assert refused.status_code == 412
    assert client.get(jones.location).json["Age"] == 35


def test_a_change_that_another_makes_between_the_read_and_the_write_is_412(engine: Engine) -> None:
    with connect(engine) as storage:
        client = client_of(storage)
        added = client.post(SALES, json=JONES)

        def overtake(answer: Any) -> None:
            if answer.http_request.method == "GET" and not answers:
                answers.append(answer)
                other.put(added.location, json={**JONES, "Age": 36}, headers={"If-Match": added.headers["ETag"]})

        answers: list[Any] = []
        other = client
        with connect(engine, raw_response_hook=overtake) as slow:
            late = client_of(slow).put(
                added.location, json={**JONES, "Age": 35}, headers={"If-Match": added.headers["ETag"]}
            )
        assert answers
        assert late.status_code == 412
        assert client.get(added.location).json["Age"] == 36


def test_a_change_that_names_no_version_is_428(client: FlaskClient, jones: Any) -> None:
    assert client.put(jones.location, json=JONES).status_code == 428


def test_an_employee_is_removed_with_its_index_row(client: FlaskClient, jones: Any) -> None:
    assert client.delete(jones.location, headers={"If-Match": jones.headers["ETag"]}).status_code == 204
    assert client.get(jones.location).status_code == 404
    assert client.get(SALES).json == {"employees": [], "token": None}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (JONES, 409),
        ({**JONES, "EmployeeId": 224}, 409),
        ({**JONES, "EmployeeId": 1_000_000}, 400),
        ({"EmployeeId": 224, "Email": "a@b.c"}, 400),
        ({**JONES, "EmployeeId": 224, "Email": "a@b.c", "Age": "old"}, 400),
        ({**JONES, "EmployeeId": 224, "Email": "a@b.c", "Title": "Head"}, 400),
        ([], 400),
    ],
)
def test_what_cannot_be_added_is_rejected_in_words(client: FlaskClient, jones: Any, body: Any, status: int) -> None:
    refused = client.post(SALES, json=body)
    assert refused.status_code == status
    assert [each["EmployeeId"] for each in client.get(SALES).json["employees"]] == [223]


def test_a_list_continues_from_page_to_page_in_the_order_of_addresses(client: FlaskClient) -> None:
    for number, email in enumerate(("c@contoso.com", "a@contoso.com", "b@contoso.com")):
        client.post(SALES, json={**JONES, "EmployeeId": number, "Email": email})
    found, query = [], f"{SALES}?size=2"
    while query:
        page = client.get(query).json
        found.append([each["Email"][0] for each in page["employees"]])
        query = page["token"] and f"{SALES}?size=2&token={page['token']}"
    assert found == [["a", "b"], ["c"]]


def test_a_read_and_a_list_are_one_request_each(engine: Engine) -> None:
    with connect(engine) as storage:
        client = client_of(storage)
        client.post(SALES, json=JONES)
        for path in (f"{SALES}/223", f"{SALES}?email=j"):
            with engine.ledger.span() as span:
                assert client.get(path).status_code == 200
            assert span.totals.requests == 1
