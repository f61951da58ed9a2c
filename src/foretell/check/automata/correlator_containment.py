"""Containment and equivalence of correlators, by a search over pairs of their configurations.

Contained: at each event the right emits all tokens of the left, each at least as often. Equivalent: both emit the same
tokens in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.check.answer import Answer, Truth
from foretell.check.automata.alphabet import Alphabet, EventOracle, TooManyLettersError, alphabet
from foretell.check.automata.configurations import MachineAlphabet, TracedMachine, machine_alphabet
from foretell.check.automata.correlator_questions import usable_letters
from foretell.check.automata.event_scope import event_scope, merged_scope, source_names, typed, types_differ
from foretell.check.automata.trial import emitted_tokens, time_step, witness_of
from foretell.check.deadline import Deadline
from foretell.check.witness import Witness
from foretell.errors import InputError
from foretell.language import tree
from foretell.language.checked import CheckedCorrelator, CheckedProgram
from foretell.machine.kernels.correlation import LaneStates

#: More moves between pairs of configurations are not looked at.
MOST_PAIR_MOVES = 40_000


class CorrelatorPair:
    """Two correlators over one alphabet. `same`: whether they are to be equivalent, or the left contained."""

    def __init__(
        self, left: CheckedCorrelator, right: CheckedCorrelator, programs: Sequence[CheckedProgram], *, same: bool
    ) -> None:
        self._statements = typed(left, programs[0]), typed(right, programs[1])
        self._programs, self._same = programs, same
        scopes = [event_scope(s, p) for s, p in zip(self._statements, programs, strict=True)]
        self._ours, self._theirs = scopes

    def answer(self, deadline: Deadline, oracle: EventOracle | None = None) -> Answer:
        if source_names(self._ours) != source_names(self._theirs) or self._ours.sources != self._theirs.sources:
            return Answer(Truth.UNKNOWN, "the statements read different streams")
        if types_differ(self._ours, self._theirs):
            return Answer(Truth.UNKNOWN, "the statements assume different types for what no stream declares")
        if self._ours.per != self._theirs.per:
            return Answer(Truth.UNKNOWN, "the statements divide events into different lanes")
        ours, theirs = (statement.tree for statement in self._statements)
        if ours.table != theirs.table:
            return Answer(Truth.UNKNOWN, "the statements are FOR EACH row of different tables")
        if ours.forecast != theirs.forecast:
            return Answer(Truth.UNKNOWN, "the statements forecast in different ways")
        conditions = [c for s in self._statements for step in s.conditions.values() for c in step]
        try:
            letters = alphabet(conditions, merged_scope(self._ours, self._theirs), oracle)
        except TooManyLettersError:
            return Answer(Truth.UNKNOWN, "their conditions have too many combinations")
        if self._are_equal(letters):
            return Answer(Truth.YES, "the expressions are equal, and their steps accept the same events")
        if ours.table is not None:
            return Answer(Truth.UNKNOWN, "FOR EACH makes a correlator of each row of its table")
        return self._searched(letters, deadline)

    def _are_equal(self, letters: Alphabet) -> bool:
        """Whether the expressions are equal where each step is named by its letters."""
        left, right = (
            _named(s.tree.expression, {step: str(letters.satisfying(own)) for step, own in s.conditions.items()})
            for s in self._statements
        )
        return left == right

    def _searched(self, letters: Alphabet, deadline: Deadline) -> Answer:
        search = _PairSearch(self._statements, letters, same=self._same)
        if search.finds_difference(deadline):
            witness = self._witness(letters, search.difference)
            if witness is not None:
                return Answer(Truth.NO, "their tokens differ at the last event", witness)
            return Answer(Truth.UNKNOWN, "not every sequence of the events that they read is known to be possible")
        if search.reason:
            return Answer(Truth.UNKNOWN, search.reason)
        if self._same:
            return Answer(Truth.YES, "at every event they emit the same tokens")
        return Answer(Truth.YES, "at every event the right emits the tokens of the left")

    def _witness(self, letters: Alphabet, path: Sequence[int]) -> Witness | None:
        """The events of a difference, if the reference evaluator shows it too."""
        if self._ours.is_produced or not set(path) <= set(usable_letters(letters)):
            return None
        examples = [example for n in path if (example := letters.letters[n].example) is not None]
        step = time_step(self._ours, len(examples), None)
        witness = witness_of(examples, self._ours, [number * step for number in range(len(examples))])
        try:
            ours, theirs = (
                emitted_tokens(statement, program, witness)
                for statement, program in zip(self._statements, self._programs, strict=True)
            )
        except InputError:
            return None
        return witness if differ(ours[-1], theirs[-1], same=self._same) else None


def differ(left: Sequence[str], right: Sequence[str], *, same: bool) -> bool:
    """Whether the tokens of one event contradict the equivalence, or the containment, of two correlators."""
    return list(left) != list(right) if same else bool(Counter(left) - Counter(right))


class _PairSearch:
    """Pairs of configurations, breadth first."""

    def __init__(self, statements: Sequence[CheckedCorrelator], letters: Alphabet, *, same: bool) -> None:
        self._same = same
        self._traced = [TracedMachine(s.tree.expression) for s in statements]
        self._letters = [_letters(t, s, letters) for t, s in zip(self._traced, statements, strict=True)]
        self._size = len(letters.letters)
        self._numbers: dict[bytes, int] = {}
        self._pairs: list[list[tuple[NDArray[np.uint8], Ints]]] = []
        self._before: list[tuple[int, int] | None] = []
        self.reason = ""
        self.difference: tuple[int, ...] = ()
        self._add([traced.flat.initial() for traced in self._traced], None)

    def finds_difference(self, deadline: Deadline) -> bool:
        done = 0
        while done < len(self._pairs):
            end = len(self._pairs)
            if end * self._size > MOST_PAIR_MOVES or deadline.is_over:
                self.reason = (
                    "they have too many configurations" if not deadline.is_over else "the search takes too long"
                )
                return False
            if self._expand(range(done, end)):
                return True
            done = end
        return False

    def _expand(self, level: range) -> bool:
        moved = [self._moves(side, level) for side in range(2)]
        for row in range(len(level) * self._size):
            before = (level.start + row // self._size, row % self._size)
            ours, theirs = (traced.tokens(taken[row]) for traced, (_, taken) in zip(self._traced, moved, strict=True))
            if differ(ours, theirs, same=self._same):
                self.difference = (*self._path(before[0]), before[1])
                return True
            self._add([(states.active[row], states.counters[row]) for states, _ in moved], before)
        return False

    def _moves(self, side: int, level: range) -> tuple[LaneStates, list[tuple[int, ...]]]:
        chosen = [self._pairs[number][side] for number in level]
        active = np.repeat(np.stack([a for a, _ in chosen]), self._size, axis=0)
        counters = np.repeat(np.stack([c for _, c in chosen]), self._size, axis=0)
        satisfied = np.ascontiguousarray(np.tile(self._letters[side].satisfied, len(level)))
        return self._traced[side].moves(active, counters, satisfied)

    def _add(self, pair: Sequence[tuple[NDArray[np.uint8], Ints]], before: tuple[int, int] | None) -> None:
        name = b"".join(active.tobytes() + counters.tobytes() for active, counters in pair)
        if name not in self._numbers:
            self._numbers[name] = len(self._pairs)
            self._pairs.append([(active.copy(), counters.copy()) for active, counters in pair])
            self._before.append(before)

    def _path(self, number: int) -> tuple[int, ...]:
        found = list[int]()
        step = self._before[number]
        while step is not None:
            number, letter = step
            found.append(letter)
            step = self._before[number]
        return tuple(reversed(found))


def _letters(traced: TracedMachine, statement: CheckedCorrelator, letters: Alphabet) -> MachineAlphabet:
    bits = {step: letters.satisfying(statement.conditions[step]) for step in traced.steps}
    columns = [
        {step: bool(found >> number & 1) for step, found in bits.items()} for number in range(len(letters.letters))
    ]
    return machine_alphabet(traced.steps, columns)


def _named(node: tree.Correlation, names: dict[str, str]) -> tree.Correlation:
    """An expression with other names for its steps."""
    match node:
        case tree.On(step=step):
            return tree.On(names[step])
        case tree.Modes(modes=modes):
            return tree.Modes(tuple(tree.Mode(names[m.guard], _named(m.body, names)) for m in modes))
        case tree.Unless(body=body, stopper=stopper):
            return tree.Unless(_named(body, names), _named(stopper, names))
        case tree.Fail(body=body) | tree.Push(body=body) | tree.Again(body=body):
            return replace(node, body=_named(body, names))
        case (
            tree.Accumulate(parts=parts)
            | tree.Select(parts=parts)
            | tree.Sequential(parts=parts)
            | tree.Parallel(parts=parts)
        ):
            return replace(node, parts=tuple(_named(part, names) for part in parts))
    raise AssertionError(node)
