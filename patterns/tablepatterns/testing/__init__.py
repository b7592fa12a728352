"""What tests of your own code use beside the fixtures; see "Testing your own code" in the documentation."""

from .traffic import AccountTraffic

__all__ = ["AccountTraffic"]
