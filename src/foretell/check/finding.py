"""A finding about a statement: a code that can be silenced, a place, a message, a hint, and a witness."""

from __future__ import annotations

from foretell.check.witness import Witness
from foretell.errors import NOWHERE, Place
from foretell.records import record


@record
class Finding:
    """`certain` is False where the check ran into its limits: then the message begins with "cannot tell"."""

    code: str
    statement: str
    message: str
    place: Place = NOWHERE
    hint: str = ""
    witness: Witness | None = None
    certain: bool = True
