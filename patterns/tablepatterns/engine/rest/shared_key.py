"""The signatures SharedKey and SharedKeyLite."""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from typing import Final

from .address import Address
from .message import Request
from .signed_texts import SignedTexts

_SCHEMES: Final = ("SharedKey", "SharedKeyLite")


class Signer:
    """Sign with an account's key, which shows in no text.

    :param account: the account's name
    :param key: its key in Base64
    """

    __slots__ = ("_keyed", "account")

    def __init__(self, account: str, key: str) -> None:
        self.account = account
        self._keyed = hmac.new(b64decode(key), digestmod="sha256")

    def sign(self, text: str) -> str:
        """Return the signature of a text."""
        return self._signature(text).decode()

    def signed(self, text: str, signature: str) -> bool:
        """Tell whether the signature is the text's, in a time that says nothing about either."""
        return hmac.compare_digest(self._signature(text), signature.encode("utf-8", "surrogatepass"))

    def _signature(self, text: str) -> bytes:
        # To copy a hash with the key in it costs less than to key a new one for every request
        keyed = self._keyed.copy()
        keyed.update(text.encode("utf-8", "surrogatepass"))
        return b64encode(keyed.digest())

    def signed_request(self, authorization: str, request: Request, address: Address, texts: SignedTexts) -> bool:
        """Tell whether an Authorization header is this account's signature of the request.

        The date is signed but not compared with any clock: SDKs write the time of the machine, while tests move the
        engine's.

        :param authorization: `SharedKey account:signature`, or the same with `SharedKeyLite`
        :param texts: what of a request is signed
        """
        scheme, _, credential = authorization.partition(" ")
        account, _, signature = credential.partition(":")
        dated = request.headers.get("x-ms-date") or request.headers.get("date")
        if account != self.account or not dated or scheme not in _SCHEMES:
            return False
        lite = scheme == "SharedKeyLite"
        return any(self.signed(text, signature) for text in texts(account, request, address, lite))
