"""Azure's SDK for Go: its package `storage`, which Debian has; aztables, azqueue and azblob are not in Debian."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from clients.conftest import Account
from support.tools import GO, GO_PACKAGES

pytestmark = [pytest.mark.clients, pytest.mark.go]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("go")
    environment = {**os.environ, "GO111MODULE": "off", "GOPATH": str(GO_PACKAGES), "GOCACHE": str(folder / "cache")}
    source = Path(__file__).parent / "azure_storage.go"
    subprocess.run([str(GO), "build", "-o", folder / "main", source], check=True, env=environment)
    return folder / "main"


@pytest.mark.parametrize("service", ["table", "queue", "blob"])
def test_each_operation_is_executed(program: Path, account: Account, service: str) -> None:
    command = [program, account.name, account.key, service, account.host_of(service)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.stdout, run.returncode) == ("passed\n", 0), run.stderr
