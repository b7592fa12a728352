"""Whose account is served: its name, and a key that comes from the environment and is shown to nobody."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Final

from ...errors import BadInput
from ..account import DEVELOPMENT_NAME, Engine

KEY_VARIABLE: Final = "TABLEPATTERNS_ACCOUNT_KEY"
_NAME: Final = re.compile(r"[a-z0-9]{3,24}")


def engine_of(name: str, environment: Mapping[str, str]) -> Engine:
    """Return a new account.

    >>> engine_of("contoso", {KEY_VARIABLE: "c2VjcmV0"}), has_own_key({KEY_VARIABLE: "c2VjcmV0"})
    (<Engine contoso>, True)

    :param name: its name
    :param environment: where its key is, in Base64; without one it is the key that is published with the emulators
    :raises BadInput: no account has such a name or such a key; the key itself is not in the error
    """
    if not _NAME.fullmatch(name):
        rule = "an account's name has 3 to 24 small letters and digits"
        raise BadInput("account", name, rule, f"leave it at {DEVELOPMENT_NAME}, or choose another")
    return Engine(name, _checked(environment[KEY_VARIABLE]) if has_own_key(environment) else None)


def has_own_key(environment: Mapping[str, str]) -> bool:
    """Tell whether the account has a key that is not published."""
    return KEY_VARIABLE in environment


def _checked(key: str) -> str:
    # An empty key is a secret that went missing on its way: to take the published one instead would open the account
    if not key or not _is_base64(key):
        rule = "it must be Base64, as the keys of accounts are, and not empty"
        raise BadInput(KEY_VARIABLE, "***", rule, "make one with: openssl rand -base64 64 | tr -d '\\n'")
    return key


def _is_base64(text: str) -> bool:
    try:
        b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True
