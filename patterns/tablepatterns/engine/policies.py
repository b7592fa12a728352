"""Stored access policies: what a shared access signature may leave to the service, and the owner may change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..edm import Ticks
from ..limits import MAX_ACCESS_POLICIES
from .refusal import Refusal
from .texts import INVALID_XML_DOCUMENT

MAX_POLICY_ID_LENGTH: Final = 64


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """A named policy; a part that is None is left to the signature.

    :param id: the name, at most 64 characters
    :param permission: letters of the service's permissions, such as "raud"
    """

    id: str
    start: Ticks | None = None
    expiry: Ticks | None = None
    permission: str | None = None


def check_policies(policies: Sequence[AccessPolicy], letters: str) -> None:
    """Refuse more than five policies, two of one name, a long name, or a permission the service does not know.

    :param letters: the permissions that the service knows
    :raises Refusal: InvalidXmlDocument
    """
    names = {policy.id for policy in policies}
    if len(policies) > MAX_ACCESS_POLICIES or len(names) < len(policies):
        raise Refusal(INVALID_XML_DOCUMENT)
    if any(len(name) > MAX_POLICY_ID_LENGTH for name in names):
        raise Refusal(INVALID_XML_DOCUMENT)
    if any(set(policy.permission or "") - set(letters) for policy in policies):
        raise Refusal(INVALID_XML_DOCUMENT)
