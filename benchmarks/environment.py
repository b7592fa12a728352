"""The machine and the versions of a measurement."""

from __future__ import annotations

import json
import os
import platform
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

_AZURITE = Path(__file__).parents[1] / "tests/azurite/package.json"


def environment() -> dict[str, str]:
    return {
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "azure-data-tables": version("azure-data-tables"),
        "azure-storage-queue": version("azure-storage-queue"),
        "azure-storage-blob": version("azure-storage-blob"),
        "azure-core": version("azure-core"),
        "Azurite": json.loads(_AZURITE.read_text(encoding="utf-8"))["dependencies"]["azurite"],
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.machine()}",
        "load": ", ".join(f"{load:.2f}" for load in os.getloadavg()),
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
