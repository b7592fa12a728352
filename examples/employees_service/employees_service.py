"""Employees over HTTP: a FastAPI application over an async entity set with a model.

    uvicorn --app-dir examples/employees_service employees_service:app

It runs in memory, or on the account that the environment variable STORAGE names: azurite, env, a connection string.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from typing import Annotated, TypeAlias

from azure.core.exceptions import AzureError
from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse

from tablepatterns import EntitySet, IntraPartitionIndex, Key, aio, prefix
from tablepatterns.errors import (
    BadInput,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    OutcomeUnknown,
    TooMuchContention,
)


@dataclass
class Employee:
    department: str
    employee_id: int
    email: str
    name: str
    hired: date


@dataclass
class Changes:
    """What a client may change of an employee."""

    email: str
    name: str
    hired: date


@dataclass
class EmployeePage:
    employees: list[Employee]
    token: str | None


BY_EMAIL = IntraPartitionIndex(Key("{department}", "email_{email}"))
STATUS: dict[type[Exception], int] = {
    BadInput: 400,
    EntityNotFound: 404,
    EntityAlreadyExists: 409,
    EntityChanged: 412,
    TooMuchContention: 503,
    OutcomeUnknown: 503,
}
Employees: TypeAlias = EntitySet[aio.Storage, Employee]
router = APIRouter()


def employees_in(storage: aio.Storage) -> Employees:
    """Return the set of employees."""
    key = Key("{department}", "empid_{employee_id:06d}")
    return EntitySet(storage, "Employees", key, model=Employee, derived=[BY_EMAIL])


def create_app(storage: aio.Storage | None = None) -> FastAPI:
    """Return the application on an account, by default the one that STORAGE names, or one in memory."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
        async with storage or aio.connect(os.environ.get("STORAGE", "memory://employees")) as account:
            app.state.employees = employees_in(account)
            # Without this, the first write creates the table
            await app.state.employees.create_table()
            yield

    app = FastAPI(title="Employees", lifespan=lifespan)
    app.include_router(router)
    for kind in STATUS:
        app.add_exception_handler(kind, on_error)
    return app


async def on_error(request: Request, error: Exception) -> JSONResponse:
    """Answer with the status of an error and its message."""
    status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    return JSONResponse({"error": str(error)}, status, {"Retry-After": "1"} if status == 503 else None)


def employees_of(request: Request) -> Employees:
    """Return the set of the application."""
    found: Employees = request.app.state.employees
    return found


def if_match(value: Annotated[str | None, Header(alias="If-Match")] = None) -> str:
    """Return the version that the client read."""
    if value is None:
        raise HTTPException(428, "send the ETag that you read in If-Match")
    # The service's ETag is weak, but If-Match requires a strong one
    return f"W/{value}"


Set: TypeAlias = Annotated[Employees, Depends(employees_of)]
IfMatch: TypeAlias = Annotated[str, Depends(if_match)]


def show(employees: Employees, employee: Employee, response: Response) -> Employee:
    """Return an employee, and its ETag as a header."""
    response.headers["ETag"] = (employees.entity_of(employee).etag or "").removeprefix("W/")
    return employee


@router.get("/health")
async def health(employees: Set) -> dict[str, str]:
    """Tell whether the table can be read. Cost: 1 transaction."""
    try:
        await employees.get(department="health", employee_id=0)
    except AzureError as error:
        raise HTTPException(503, f"the table cannot be read: {type(error).__name__}") from error
    return {"status": "ok"}


@router.post("/employees", status_code=201)
async def add(employee: Employee, employees: Set, response: Response) -> Employee:
    """Add an employee; 409 if the number or the email address is taken."""
    return show(employees, await employees.insert(employee), response)


@router.get("/employees/{department}/{employee_id}")
async def read(department: str, employee_id: int, employees: Set, response: Response) -> Employee:
    """Return an employee with its ETag."""
    found = await employees.get(department=department, employee_id=employee_id)
    if found is None:
        raise HTTPException(404, "no such employee")
    return show(employees, found, response)


@router.get("/employees/{department}")
async def list_by_email(
    department: str,
    employees: Set,
    email: str = "",
    size: Annotated[int, Query(ge=1, le=1000)] = 100,
    token: str | None = None,
) -> EmployeePage:
    """Return a page of employees by email address, optionally of those that start with `email`."""
    page = await employees.page(BY_EMAIL, size=size, token=token, department=department, email=prefix(email))
    return EmployeePage(list(page.items), page.token)


@router.put("/employees/{department}/{employee_id}")
async def change(
    department: str, employee_id: int, changes: Changes, employees: Set, etag: IfMatch, response: Response
) -> Employee:
    """Replace an employee; 412 if it has changed since the client read it."""
    employee = Employee(department, employee_id, changes.email, changes.name, changes.hired)
    return show(employees, await employees.replace(employee, etag=etag), response)


@router.delete("/employees/{department}/{employee_id}", status_code=204)
async def remove(department: str, employee_id: int, employees: Set, etag: IfMatch) -> None:
    """Delete an employee; 412 if it has changed since the client read it."""
    await employees.without_model().delete({"department": department, "employee_id": employee_id}, etag=etag)


app = create_app()
