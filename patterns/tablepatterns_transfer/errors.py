"""The errors of exports and imports."""

from __future__ import annotations

from tablepatterns.errors import BadInput, ServiceError


class BadExport(BadInput):
    """An export is incomplete, or was changed after it was written; nothing was imported."""

    def __init__(self, place: str, rule: str, hint: str) -> None:
        super().__init__("export", place, rule, hint)


class ImportDiffers(ServiceError):
    """An import is done, and the table differs from the export.

    :param message: how many entities differ, and the first of them
    """
