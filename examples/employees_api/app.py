"""Employees over HTTP: an entity set with an index behind a Flask application.

    flask --app examples/employees_api/app.py run

It runs in memory, or on the account that the environment variable STORAGE names: azurite, env, a connection string.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from flask import Flask, Response, abort, jsonify, request, url_for

from tablepatterns import Entity, EntitySet, IntraPartitionIndex, Key, Schema, Storage, connect, prefix
from tablepatterns.errors import BadInput, EntityAlreadyExists, EntityChanged, EntityNotFound

FIELDS = {"Department": str, "EmployeeId": int, "Email": str, "Name": str, "Age": int}


def create_app(storage: Storage | None = None) -> Flask:
    """Return the application on an account; None for the one that STORAGE names, in memory if none is named."""
    storage = storage or connect(os.environ.get("STORAGE", "memory://"))
    by_email = IntraPartitionIndex(Key("{Department}", "email_{Email}"))
    employees = EntitySet(
        storage,
        "Employees",
        Key("{Department}", "empid_{EmployeeId:06d}"),
        derived=[by_email],
        schema=Schema(FIELDS, required=["Email", "Name"]),
    )
    app = Flask("employees")
    _map_errors(app)

    @app.post("/departments/<department>/employees")
    def add(department: str) -> Response:
        employee = employees.insert({**_body(), "Department": department})
        response = _answer(employee, 201)
        response.location = url_for("show", department=department, number=employee["EmployeeId"])
        return response

    @app.get("/departments/<department>/employees/<int:number>")
    def show(department: str, number: int) -> Response:
        response = _answer(_existing(department, number))
        # A client that says If-None-Match and has this version already gets 304
        response.make_conditional(request)
        return response

    @app.get("/departments/<department>/employees")
    def listed(department: str) -> Response:
        start, size = request.args.get("email", ""), request.args.get("size", 100, type=int)
        emails: dict[str, Any] = {"Email": prefix(start)} if start else {}
        page = employees.page(by_email, size=size, token=request.args.get("token"), Department=department, **emails)
        return jsonify(employees=page.items, token=page.token)

    @app.put("/departments/<department>/employees/<int:number>")
    def change(department: str, number: int) -> Response:
        employee = {**_body(), "Department": department, "EmployeeId": number}
        # If the employee has changed since the client read it: EntityChanged, and 412
        return _answer(employees.replace(employee, etag=_if_match()))

    @app.delete("/departments/<department>/employees/<int:number>")
    def remove(department: str, number: int) -> Response:
        employees.delete({"Department": department, "EmployeeId": number}, etag=_if_match())
        return Response(status=204)

    def _existing(department: str, number: int) -> Entity:
        return employees.get(Department=department, EmployeeId=number) or abort(404, "there is no such employee")

    return app


def _if_match() -> str:
    return request.headers.get("If-Match") or abort(428, "say in If-Match which version your change is based on")


def _body() -> dict[str, Any]:
    given = request.get_json()
    return given if isinstance(given, dict) else abort(400, "the body is an object of JSON")


def _etag(employee: Entity) -> str:
    """Return the ETag as HTTP wants it for If-Match: the service's is marked as weak, and has quotes in it."""
    return (employee.etag or "").removeprefix("W/").strip('"')


def _answer(employee: Entity, status: int = 200) -> Response:
    response = jsonify(employee)
    response.status_code = status
    response.set_etag(_etag(employee))
    return response


def _map_errors(app: Flask) -> None:
    statuses: Mapping[type[Exception], int] = {
        BadInput: 400,
        EntityNotFound: 404,
        EntityAlreadyExists: 409,
        EntityChanged: 412,
    }

    def told(error: Exception) -> tuple[Response, int]:
        (status,) = [statuses[kind] for kind in type(error).__mro__ if kind in statuses][:1]
        return jsonify(error=str(error)), status

    for kind in statuses:
        app.register_error_handler(kind, told)
