"""A run of `Rekey.verify` or `repair`, which may be interrupted and resumed."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import BadToken
from ...jobs.walk import Mark
from .difference import RekeyReport


@dataclass(frozen=True)
class Verification:
    """A run of `verify`, which may be interrupted and resumed.

    :param is_clean: whether earlier calls found no difference
    """

    id: str
    mark: Mark
    is_clean: bool = True

    def token(self, mark: Mark, report: RekeyReport) -> str:
        """Return the token that continues the run at a mark.

        :param report: what was found since the call began
        """
        return f"{self.id}-{int(self.is_clean and report.is_clean)}-{mark.text()}"

    @classmethod
    def parse(cls, token: str, kind: str) -> Verification:
        """Return the run that a token continues.

        :raises BadToken: it is not a token of this move's verification
        """
        run_id, _, remainder = token.partition("-")
        clean, _, mark = remainder.partition("-")
        if clean not in ("0", "1"):
            raise BadToken("resume", token, "it is not a token of verify", "begin without one")
        return cls(run_id, Mark.parse(mark, f"verify {kind}"), clean == "1")
