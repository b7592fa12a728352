"""Back up a table, restore it, and compare: `TableTransfer(storage, "Employees").export("monday")`.

Nothing else in the library imports this package.
"""

from .arrow import to_arrow, to_pandas
from .compare import Differences
from .errors import BadExport, ImportDiffers
from .export import ExportProgress
from .foreign import FileImport
from .manifest import Export, FileEntry, Manifest
from .restore import ImportProgress
from .transfer import TableTransfer, compare_exports

__all__ = [
    "BadExport",
    "Differences",
    "Export",
    "ExportProgress",
    "FileEntry",
    "FileImport",
    "ImportDiffers",
    "ImportProgress",
    "Manifest",
    "TableTransfer",
    "compare_exports",
    "to_arrow",
    "to_pandas",
]
