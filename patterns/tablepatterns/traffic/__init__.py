"""Record the requests of a block of code, by line and by partition."""

from .recorder import Traffic
from .request import Request, Site
from .tally import Heat, Tally

__all__ = ["Heat", "Request", "Site", "Tally", "Traffic"]
