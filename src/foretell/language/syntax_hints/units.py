"""Units of time that were misspelt."""

from __future__ import annotations

from foretell.errors import closest
from foretell.language.syntax_hints.rejection import Rejection
from foretell.language.syntax_hints.vocabulary import CLAUSES, OTHER_UNITS, STATEMENTS, UNITS


def is_unit(rejection: Rejection) -> bool:
    """Whether the token is a wrong unit: a word behind the number of WITHIN, or one that is nearly a unit."""
    if rejection.type_before() != "NUMBER" or "UNIT" not in rejection.fitting or not rejection.token.isalpha():
        return False
    if rejection.word in ("EVENTS", *STATEMENTS, *CLAUSES, "ABOVE") or closest(rejection.word, rejection.fitting, 0.75):
        return False
    if rejection.type_before(2) in ("WITHIN", "BY") or rejection.token in OTHER_UNITS:
        return True
    return bool(closest_unit(rejection.token))


def closest_unit(word: str) -> str:
    return closest(word, (*UNITS, "second", "minute", "hour", "day", "week", "seconds", "minutes"), 0.8)
