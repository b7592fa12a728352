"""Employees over HTTP: a Flask application over an entity set with an index.

    flask --app examples/employees_api/app.py run

It runs in memory, or on the account that the environment variable STORAGE names: azurite, env, a connection string.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, cast

from flask import Blueprint, Flask, Response, abort, current_app, jsonify, request, url_for

from tablepatterns import Entity, EntitySet, IntraPartitionIndex, Key, Storage, connect, prefix
from tablepatterns.errors import BadInput, EntityAlreadyExists, EntityChanged, EntityNotFound

KEY = Key("{Department}", "empid_{EmployeeId:06d}")
BY_EMAIL = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
TYPES: Mapping[str, type] = {"EmployeeId": int, "Email": str, "Name": str, "Age": int}
REQUIRED = frozenset({"Email", "Name"})
STATUS: Mapping[type[Exception], int] = {
    BadInput: 400,
    EntityNotFound: 404,
    EntityAlreadyExists: 409,
    EntityChanged: 412,
}

api = Blueprint("api", __name__)


def create_app(storage: Storage | None = None) -> Flask:
    """Return the application on an account, by default the one that STORAGE names, or one in memory."""
    storage = storage or connect(os.environ.get("STORAGE", "memory://"))
    app = Flask("employees")
    app.extensions["employees"] = EntitySet(storage, "Employees", KEY, derived=[BY_EMAIL])
    app.register_blueprint(api)
    return app


@api.post("/departments/<department>/employees")
def add(department: str) -> Response:
    """Add an employee; 409 if the number or the email address is taken."""
    employee = employees().insert({**body(), "Department": department})
    response = answer(employee, 201)
    response.location = url_for("api.show", department=department, number=employee["EmployeeId"])
    return response


@api.get("/departments/<department>/employees/<int:number>")
def show(department: str, number: int) -> Response:
    """Return an employee; 304 if the client has this version (If-None-Match)."""
    employee = employees().get(Department=department, EmployeeId=number) or abort(404, "no such employee")
    response = answer(employee)
    response.make_conditional(request)
    return response


@api.get("/departments/<department>/employees")
def list_by_email(department: str) -> Response:
    """Return a page of employees by email address, optionally of those that start with `email`."""
    start, size, token = request.args.get("email"), request.args.get("size", 100, type=int), request.args.get("token")
    emails: dict[str, Any] = {"Email": prefix(start)} if start else {}
    page = employees().page(BY_EMAIL, size=size, token=token, Department=department, **emails)
    return jsonify(employees=page.items, token=page.token)


@api.put("/departments/<department>/employees/<int:number>")
def change(department: str, number: int) -> Response:
    """Replace an employee; 412 if it has changed since the client read it."""
    employee = {**body(), "Department": department, "EmployeeId": number}
    return answer(employees().replace(employee, etag=if_match()))


@api.delete("/departments/<department>/employees/<int:number>")
def remove(department: str, number: int) -> Response:
    """Delete an employee; 412 if it has changed since the client read it."""
    employees().delete({"Department": department, "EmployeeId": number}, etag=if_match())
    return Response(status=204)


def on_error(error: Exception) -> tuple[Response, int]:
    """Answer with the status of an error and its message."""
    status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    return jsonify(error=str(error)), status


for kind in STATUS:
    api.register_error_handler(kind, on_error)


def employees() -> EntitySet[Storage]:
    """Return the entity set of the current application."""
    return cast("EntitySet[Storage]", current_app.extensions["employees"])


def body() -> dict[str, Any]:
    """Return the request's JSON object, whose fields have the types of an employee."""
    fields: Any = request.get_json()
    if not isinstance(fields, dict) or not fields.keys() >= REQUIRED:
        abort(400, f"the body must be a JSON object with {' and '.join(sorted(REQUIRED))}")
    for name, value in cast("dict[str, Any]", fields).items():
        if type(value) is not TYPES.get(name):
            abort(400, f"an employee has no {name} of this type")
    return cast("dict[str, Any]", fields)


def if_match() -> str:
    """Return the version that the client read."""
    return request.headers.get("If-Match") or abort(428, "send the ETag that you read in If-Match")


def answer(employee: Entity, status: int = 200) -> Response:
    """Return an employee as JSON, with its ETag."""
    response = jsonify(employee)
    response.status_code = status
    # The service's ETag is weak, W/"...", but If-Match requires a strong one
    response.set_etag((employee.etag or "").removeprefix("W/").strip('"'))
    return response
