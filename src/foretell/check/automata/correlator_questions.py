"""Is a correlator vacuous, trivial, live (ECL section 6, Analysis)? Which of its transitions are never taken?

What all configurations show is certain. Where they are too many to be looked at, configurations with free counters
have all that can happen and perhaps more: they show what cannot happen; and the configurations that were looked at show
what can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from foretell.check.answer import Answer, Truth
from foretell.check.automata.alphabet import Alphabet, EventOracle, TooManyLettersError, alphabet
from foretell.check.automata.configurations import Configurations, MachineAlphabet, TracedMachine, machine_alphabet
from foretell.check.automata.event_scope import event_scope, typed
from foretell.check.automata.trial import emitted_tokens, time_step, witness_of
from foretell.check.deadline import Deadline
from foretell.check.witness import Witness
from foretell.errors import InputError
from foretell.language.checked import CheckedCorrelator, CheckedProgram

#: So often each letter follows a witness, to see that no token comes.
_TRIED_AFTER = 3


class CorrelatorQuestions:
    """The questions about one correlator. `reason` says why they cannot be answered, where they cannot."""

    def __init__(
        self,
        correlator: CheckedCorrelator,
        program: CheckedProgram,
        deadline: Deadline,
        oracle: EventOracle | None = None,
    ) -> None:
        self.correlator, self._program, self._deadline = typed(correlator, program), program, deadline
        self._scope = event_scope(self.correlator, program)
        self.reason = ""
        try:
            conditions = [c for step in self.correlator.conditions.values() for c in step]
            self.alphabet = alphabet(conditions, self._scope, oracle)
        except TooManyLettersError:
            self.reason = "its conditions have too many combinations"

    # ── letters ──

    def satisfying(self, step: str) -> int:
        """The letters that satisfy a step, as bits."""
        return self.alphabet.satisfying(self.correlator.conditions[step])

    @cached_property
    def usable(self) -> tuple[int, ...]:
        """The letters that have an example."""
        return usable_letters(self.alphabet)

    # ── configurations ──

    @cached_property
    def traced(self) -> TracedMachine:
        return TracedMachine(self.correlator.tree.expression)

    @cached_property
    def counted(self) -> Configurations:
        """The configurations that were looked at, perhaps not all."""
        return Configurations(self.traced, self._letters, self._deadline)

    @cached_property
    def every(self) -> Configurations | None:
        """Configurations with all that can happen, and perhaps more; None where they are too many."""
        if self.counted.complete:
            return self.counted
        found = Configurations(self.traced, self._letters, self._deadline, free=True)
        return found if found.complete else None

    @cached_property
    def taken(self) -> frozenset[int] | None:
        """The transitions that may be taken; None where that is not known."""
        if self.every is None:
            return None
        return frozenset(number for moves in self.every.moves for move in moves for number in move.taken)

    @cached_property
    def possible_tokens(self) -> frozenset[str] | None:
        """The tokens that may come; None where that is not known."""
        return None if self.taken is None else frozenset(self.traced.tokens(sorted(self.taken)))

    # ── answers ──

    def vacuous(self) -> Answer:
        """Whether no token ever comes."""
        if self.reason:
            return Answer(Truth.UNKNOWN, self.reason)
        if self.possible_tokens is not None and not self.possible_tokens:
            return Answer(Truth.YES, "no sequence of events emits a token")
        for path in self._paths_to_tokens():
            witness = self.witness(path)
            if self._emitted(witness, len(path) - 1):
                return Answer(Truth.NO, "a token comes at the last event", witness)
        return Answer(Truth.UNKNOWN, self.counted.reason or self._unsure())

    def trivial(self) -> Answer:
        """Whether a token comes at every event."""
        if self.reason:
            return Answer(Truth.UNKNOWN, self.reason)
        for number, letter in self._silent_moves():
            witness = self.witness((*self.counted.path(number), letter))
            if self._emitted(witness, len(witness.events) - 1) == []:
                return Answer(Truth.NO, "no token comes at the last event", witness)
        if self.every is not None and all(self.traced.tokens(m.taken) for moves in self.every.moves for m in moves):
            return Answer(Truth.YES, "a token comes at every event")
        return Answer(Truth.UNKNOWN, self.counted.reason or self._unsure())

    def live(self) -> Answer:
        """Whether after any sequence of events a token may still come. A no has a shortest one after which none can."""
        if self.reason:
            return Answer(Truth.UNKNOWN, self.reason)
        dead = self.dead_configuration()
        if dead is not None:
            witness = self.witness(self.counted.path(dead))
            if self._stays_silent(witness):
                return Answer(Truth.NO, "after these events no token can come any more", witness)
            return Answer(Truth.UNKNOWN, "the reference evaluator has not shown it")
        if self.counted.complete and self.alphabet.free and self.alphabet.complete and not self._scope.is_produced:
            return Answer(Truth.YES, "a token may come from every configuration")
        return Answer(Truth.UNKNOWN, self.counted.reason or self._unsure())

    def dead_configuration(self) -> int | None:
        """The first configuration from which no token can come, reached by usable letters."""
        if self.every is None or self._scope.is_produced:
            return None
        living = _living(self.every, self.traced)
        if self.every is self.counted:
            dead = {number for number in range(len(self.counted)) if number not in living}
        else:
            silent = {self.every.active(n).tobytes() for n in range(len(self.every)) if n not in living}
            dead = {n for n in range(len(self.counted)) if self.counted.active(n).tobytes() in silent}
        shown = set(self.usable)
        return min((n for n in dead if set(self.counted.path(n)) <= shown), default=None)

    def is_over(self, configuration: int) -> bool:
        """Whether the whole expression has completed."""
        module, active = self.traced.machine.module, self.counted.active(configuration)
        return bool(active[module.success] or active[module.failure])

    def _paths_to_tokens(self) -> Iterable[tuple[int, ...]]:
        """Shortest sequences of usable letters with a token at the last."""
        shown = set(self.usable)
        for number, moves in enumerate(self.counted.moves):
            for letter, move in enumerate(moves):
                path = (*self.counted.path(number), letter)
                if self.traced.tokens(move.taken) and set(path) <= shown:
                    yield path
                    return

    def _silent_moves(self) -> Iterable[tuple[int, int]]:
        """The first move by a usable letter without a token."""
        shown = set(self.usable)
        for number, moves in enumerate(self.counted.moves):
            for letter, move in enumerate(moves):
                if not self.traced.tokens(move.taken) and {letter, *self.counted.path(number)} <= shown:
                    yield number, letter
                    return

    # ── trials ──

    def witness(self, path: Sequence[int]) -> Witness:
        examples = [e for letter in path if (e := self.alphabet.letters[letter].example) is not None]
        step = time_step(self._scope, len(examples), None)
        return witness_of(examples, self._scope, [number * step for number in range(len(examples))])

    def _emitted(self, witness: Witness, place: int) -> list[str] | None:
        """The tokens at one event; None where the reference evaluator cannot run it, or the events cannot come."""
        if self._scope.is_produced or self._is_template:
            return None
        try:
            return emitted_tokens(self.correlator, self._program, witness)[place]
        except InputError:
            return None

    def _stays_silent(self, witness: Witness) -> bool:
        """Whether the reference evaluator emits no token at events that follow."""
        if self._is_template:
            return False
        count = len(witness.events)
        tail = [letter for letter in self.usable for _ in range(_TRIED_AFTER)]
        examples = [e for letter in tail if (e := self.alphabet.letters[letter].example) is not None]
        step = time_step(self._scope, 2, None)
        later = witness_of(examples, self._scope, [(count + number) * step for number in range(len(examples))])
        try:
            tokens = emitted_tokens(self.correlator, self._program, Witness((*witness.events, *later.events)))
        except InputError:
            return False
        return not any(tokens[count:])

    @property
    def _is_template(self) -> bool:
        """Whether parameters have the values of rows: what some values show, the rows of the table may not."""
        return self.correlator.tree.table is not None

    def _unsure(self) -> str:
        if self._is_template:
            return "FOR EACH makes a correlator of each row of its table"
        if self._scope.is_produced:
            return "not every sequence of the events that it reads can come"
        return "conditions name the time, keys of the lane or attributes that are worked out"

    @cached_property
    def _letters(self) -> MachineAlphabet:
        satisfied = {step: self.satisfying(step) for step in self.traced.steps}
        letters = [
            {step: bool(bits >> number & 1) for step, bits in satisfied.items()}
            for number in range(len(self.alphabet.letters))
        ]
        return machine_alphabet(self.traced.steps, letters)


def usable_letters(letters: Alphabet) -> tuple[int, ...]:
    return tuple(number for number, letter in enumerate(letters.letters) if letter.example is not None)


def _living(found: Configurations, traced: TracedMachine) -> set[int]:
    """The configurations from which a token may come."""
    into: dict[int, set[int]] = {}
    todo = list[int]()
    for number, moves in enumerate(found.moves):
        for move in moves:
            into.setdefault(move.target, set()).add(number)
            if traced.tokens(move.taken):
                todo.append(number)
    living = set[int]()
    while todo:
        number = todo.pop()
        if number not in living:
            living.add(number)
            todo += into.get(number, ())
    return living
