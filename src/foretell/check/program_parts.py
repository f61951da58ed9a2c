"""Parts of a program: a statement with all that it reads."""

from __future__ import annotations

from dataclasses import replace

from foretell.language.checked import CheckedProgram


def part_for(program: CheckedProgram, name: str) -> CheckedProgram:
    """The program of a statement and of those that it reads. Statements come in an order in which each reads only those
    before it."""
    wanted = {name}
    for statement in reversed(program.statements):
        if statement.name in wanted:
            wanted.update(map(str, statement.tree.streams))
    return replace(program, statements=tuple(s for s in program.statements if s.name in wanted))
