"""Traffic: what a block of code asks of a storage account, line by line and partition by partition."""

from .recorder import Traffic
from .request import Request, Site
from .tally import Heat, Tally

__all__ = ["Heat", "Request", "Site", "Tally", "Traffic"]
