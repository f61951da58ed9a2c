"""The answer to a question about statements: yes or no, with a witness where events can show it, or "cannot tell"."""

from __future__ import annotations

from enum import Enum

from foretell.check.witness import Witness
from foretell.records import record


class Truth(Enum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "cannot tell"


@record
class Answer:
    """`reason` says why the answer is unknown, or what decides it. The `witness` shows a yes or a no by events."""

    truth: Truth
    reason: str = ""
    witness: Witness | None = None
