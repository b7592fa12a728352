"""What lets the SDK's clients send all requests of a table."""

from __future__ import annotations

from typing import Final

from tablepatterns.sdk.account_sender import AccountSender

BY_SDK: Final = AccountSender(None, "", {})
"""It has no transport, so it sends nothing itself."""
