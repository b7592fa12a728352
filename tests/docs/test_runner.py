"""Programs as readers write them run in the page's account; test_in_chromium.py runs them in a browser."""

from __future__ import annotations

import asyncio
import doctest
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tools.site.runner import run
from tools.sphinx_extensions.run_button import script_of

from support.page_programs import DOCS

WITH_EXAMPLES = [page for page in sorted(DOCS.glob("*.md")) if "<!-- run the examples in " in page.read_text("utf-8")]
WRITE = """
employees = EntitySet(account, "Employees", Key("{Department}", "{EmployeeId:06d}"))
for number in range(3):
    employees.insert({"Department": "Sales", "EmployeeId": number})
"""
PROGRAMS = {
    "its own connection": f"from tablepatterns import EntitySet, Key, connect\naccount = connect()\n{WRITE}",
    "a module's function": f"""
import tablepatterns
from tablepatterns import EntitySet, Key
account = tablepatterns.connect()
{WRITE}""",
    "main without arguments": """
from tablepatterns import EntitySet, Key, connect

def main():
    employees = EntitySet(connect(), "Employees", Key("{Department}", "{EmployeeId:06d}"))
    for number in range(3):
        employees.insert({"Department": "Sales", "EmployeeId": number})

if __name__ == "__main__":
    main()
""",
    "main that the program calls": """
from tablepatterns import EntitySet, Key, connect

def main(first, last):
    employees = EntitySet(connect(), "Employees", Key("{Department}", "{EmployeeId:06d}"))
    for number in range(first, last):
        employees.insert({"Department": "Sales", "EmployeeId": number})

main(0, 3)
""",
    "asyncio.run": """
import asyncio
from tablepatterns import EntitySet, Key
from tablepatterns.aio import connect

async def main():
    async with connect() as storage:
        employees = EntitySet(storage, "Employees", Key("{Department}", "{EmployeeId:06d}"))
        await asyncio.gather(*[employees.insert({"Department": "Sales", "EmployeeId": number}) for number in range(3)])

asyncio.run(main())
""",
}


def reports_of(source: str) -> list[dict[str, Any]]:
    reports: list[dict[str, Any]] = []
    asyncio.run(run(source, lambda text: reports.append(json.loads(text))))
    return reports


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_with_its_own_connection_shows_its_requests_and_rows(name: str) -> None:
    *steps, end = reports_of(PROGRAMS[name])
    assert "done" in end, end
    (step,) = [report["step"]["step"] for report in steps]
    assert [table["count"] for table in step["stored"]] == [3]
    assert end["done"]["cost"] == step["cost"] != ""


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_as_a_program_and_print_what_it_shows(page: Path) -> None:
    transcript = "\n\n".join(re.findall(r"^```pycon\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL))
    *reports, end = reports_of(script_of(transcript))
    assert "done" in end, end
    printed = "".join(report["output"]["text"] for report in reports if "output" in report)
    wanted = "".join(example.want for example in doctest.DocTestParser().get_examples(transcript))
    assert doctest.OutputChecker().check_output(wanted, printed, doctest.ELLIPSIS)


@pytest.mark.parametrize(("package", "printed"), [("no_such_package", False), ("json", True)])
def test_a_program_ends_at_a_step_that_declares_a_package_which_is_not_loaded(package: str, printed: bool) -> None:
    program = f"""
def main(storage):
    # -- first
    storage.tables.create_table("Staff")
    print("first")
    # -- frame ({package})
    print("frame")
"""
    *reports, end = reports_of(program)
    assert "done" in end, end
    output = "".join(report["output"]["text"] for report in reports if "output" in report)
    assert ("frame\n" in output) is printed
    assert output.startswith("first\n")
    assert ("The step 'frame' needs the package no_such_package" in output) is not printed
    assert [report["step"]["step"]["name"] for report in reports if "step" in report] == ["first"]


def test_connect_is_restored_after_a_run() -> None:
    import tablepatterns

    before = tablepatterns.connect
    reports_of("raise ValueError('no')")
    assert tablepatterns.connect is before


def test_another_account_is_not_that_of_the_page() -> None:
    reports = reports_of(
        "from tablepatterns import connect\nconnect('memory://other').tables.create_table('Elsewhere')\n"
    )
    assert [report for report in reports if "step" in report] == []
