"""The services that are compared, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from differential.blobs.service import BLOBS
from differential.queues.service import QUEUES
from differential.service import Service
from differential.tables.service import TABLES

SERVICES: Final[Mapping[str, Service]] = {each.name: each for each in (TABLES, QUEUES, BLOBS)}
