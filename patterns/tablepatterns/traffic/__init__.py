"""Record the requests of a block of code, by line and by partition."""

from .recorder import Traffic
from .request import Request, Site
from .tally import PartitionLoad, Tally

__all__ = ["PartitionLoad", "Request", "Site", "Tally", "Traffic"]
