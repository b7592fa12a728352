"""The account in memory over HTTP, for code under test that runs elsewhere; it needs the extra `serve`.

See "The account in memory as a server" in the documentation.
"""

from ..engine.server.listeners import Listeners
from ..engine.server.server import serving

__all__ = ["Listeners", "serving"]
