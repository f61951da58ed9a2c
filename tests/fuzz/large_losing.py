"""Large and nasty statements with LOSING alone (see large_statements, where each fifth statement is one of these)."""

from __future__ import annotations

from random import Random

from tests.fuzz.large_statements import STREAM, through
from tests.fuzz.losing_statements import losing_statement


def prepare(numbers: range) -> None:
    """Warm the kernels."""
    for number in numbers[:40]:
        run(number, None)


def run(number: int, prepared: object) -> str:
    chance = Random(number)
    text, model = losing_statement(chance)
    return through(STREAM + text, chance, chance.choice([2, 8, 20]), model)
