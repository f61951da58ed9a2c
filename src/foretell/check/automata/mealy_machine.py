"""Deterministic machines over letters with an output at each: minimisation and a canonical key.

A subscription is one whose output says whether it notifies, a correlator one whose outputs are tuples of tokens.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from foretell.check.automata.configurations import Configurations
from foretell.check.automata.letter_automaton import ACCEPTED, LetterAutomaton
from foretell.records import record

#: Machines with more states have no key.
MOST_MEALY_STATES = 400

#: The successor and the output of a letter.
MealyMove = tuple[int, Hashable]


@record
class MealyMachine:
    """`moves` has those of each state by letter; the first state is the initial one."""

    moves: tuple[tuple[MealyMove, ...], ...]


def notification_machine(automaton: LetterAutomaton) -> MealyMachine | None:
    """The machine that outputs whether a match ends; None where it would be too large."""
    numbers, todo = {0: 0}, [0]
    moves: list[tuple[MealyMove, ...]] = []
    for states in todo:
        own: list[MealyMove] = []
        for letter in range(automaton.size):
            after = automaton.successors(states, letter) | automaton.first[letter]
            rest = after & ~(1 << ACCEPTED)
            if rest not in numbers:
                numbers[rest] = len(todo)
                todo.append(rest)
            own.append((numbers[rest], bool(after >> ACCEPTED & 1)))
        moves.append(tuple(own))
        if len(todo) > MOST_MEALY_STATES:
            return None
    return MealyMachine(tuple(moves))


def token_machine(found: Configurations) -> MealyMachine | None:
    """The machine that outputs tokens; None where there are too many configurations."""
    if not found.complete or len(found) > MOST_MEALY_STATES:
        return None
    rows = (tuple((move.target, found.traced.tokens(move.taken)) for move in own) for own in found.moves)
    return MealyMachine(tuple(rows))


def minimal(machine: MealyMachine) -> MealyMachine:
    """The machine with the fewest states: groups of states are divided until their moves are alike (Moore)."""
    group = [0] * len(machine.moves)
    count = 1
    while True:
        numbers: dict[Hashable, int] = {}
        rows = [tuple((group[target], output) for target, output in own) for own in machine.moves]
        divided = [numbers.setdefault((group[state], row), len(numbers)) for state, row in enumerate(rows)]
        if len(numbers) == count:
            break
        group, count = divided, len(numbers)
    first = {number: state for state, number in reversed([*enumerate(group)])}
    moves = (tuple((group[target], output) for target, output in machine.moves[first[n]]) for n in range(count))
    return MealyMachine(tuple(moves))


def letter_columns(machine: MealyMachine) -> tuple[tuple[MealyMove, ...], ...]:
    """The moves of all states by letter. Letters with equal columns make no difference."""
    return tuple(zip(*machine.moves, strict=True))


def canonical_moves(machine: MealyMachine, letters: Sequence[int]) -> tuple[tuple[MealyMove, ...], ...]:
    """The moves by these letters, with states numbered in the order in which they are reached."""
    numbers: dict[int, int] = {0: 0}
    order = [0]
    rows: list[tuple[MealyMove, ...]] = []
    for state in order:
        row = []
        for letter in letters:
            target, output = machine.moves[state][letter]
            if target not in numbers:
                numbers[target] = len(order)
                order.append(target)
            row.append((numbers[target], output))
        rows.append(tuple(row))
    return tuple(rows)


def numbered_by_first(values: Sequence[Hashable]) -> tuple[tuple[int, ...], Mapping[Hashable, int]]:
    """The values as numbers, in the order in which they come first."""
    numbers: dict[Hashable, int] = {}
    return tuple(numbers.setdefault(value, len(numbers)) for value in values), numbers
