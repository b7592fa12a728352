"""Serve the in-memory account over HTTP, for code under test in another process; needs the extra `serve`.

See "The account in memory as a server" in the documentation.
"""

from .server.listeners import Listeners
from .server.server import serving

__all__ = ["Listeners", "serving"]
