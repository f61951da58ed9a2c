"""The findings about one correlator (decision 0020 lists the codes)."""

from __future__ import annotations

from collections.abc import Iterator

from foretell.check.answer import Truth
from foretell.check.automata.alphabet import EventOracle
from foretell.check.automata.correlator_parts import (
    LocatedPart,
    PartStates,
    located_parts,
    never_completing,
    never_starting,
)
from foretell.check.automata.correlator_questions import CorrelatorQuestions
from foretell.check.automata.solver_oracle import SolverOracle
from foretell.check.deadline import Deadline
from foretell.check.finding import Finding
from foretell.language import tree
from foretell.language.checked import CheckedCorrelator, CheckedProgram
from foretell.language.tree import place_of


def correlator_findings(
    statement: CheckedCorrelator, program: CheckedProgram, deadline: Deadline, oracle: EventOracle | None = None
) -> Iterator[Finding]:
    """All findings about a correlator, those about the whole of it first."""
    oracle = oracle or SolverOracle(statement, program, deadline)
    return _CorrelatorFindings(statement, CorrelatorQuestions(statement, program, deadline, oracle)).all()


class _CorrelatorFindings:
    def __init__(self, correlator: CheckedCorrelator, questions: CorrelatorQuestions) -> None:
        self._correlator, self._questions = correlator, questions

    def all(self) -> Iterator[Finding]:
        if self._questions.reason:
            yield self._undecided(self._questions.reason)
            return
        unmet = {step for step in self._correlator.conditions if not self._questions.satisfying(step)}
        yield from self._unmet_steps(unmet)
        yield from self._whole()
        yield from self._overlapping_guards()
        if self._questions.every is None:
            yield self._undecided(self._questions.counted.reason)
            return
        yield from self._parts(unmet)

    def _finding(self, code: str, message: str, **more: object) -> Finding:
        return Finding(code, self._correlator.name, message, **more)  # type: ignore[arg-type]

    def _undecided(self, reason: str) -> Finding:
        return self._finding(
            "not-decided",
            f"cannot tell whether tokens of '{self._correlator.name}' can come: {reason}",
            place=place_of(self._correlator.tree.name),
            certain=False,
        )

    def _unmet_steps(self, unmet: set[str]) -> Iterator[Finding]:
        for definition in self._correlator.tree.definitions:
            for step in definition.steps:
                if step in unmet:
                    yield self._finding(
                        "step-never-holds",
                        f"no event satisfies '{step}'",
                        place=place_of(step),
                        hint="its conditions contradict each other: change one of them",
                    )

    # ── the whole ──

    def _whole(self) -> Iterator[Finding]:
        name = self._correlator.name
        place = place_of(self._correlator.tree.name)
        vacuous, trivial, live = self._questions.vacuous(), self._questions.trivial(), self._questions.live()
        if vacuous.truth is Truth.YES:
            pushes = any(isinstance(node, tree.Push) for node in self._correlator.tree.expression.walk())
            hint = "change what its push waits for" if pushes else "add push('token'){...} around the part to report"
            yield self._finding("vacuous", f"'{name}' never emits a token", place=place, hint=hint)
            return
        if trivial.truth is Truth.YES:
            yield self._finding("trivial", f"'{name}' emits a token at every event", place=place)
        if live.truth is Truth.NO and live.witness is not None:
            dead = self._questions.dead_configuration()
            over = dead is not None and self._questions.is_over(dead)
            events = _counted(len(live.witness.events), "event")
            reason = "it has completed" if over else "nothing that it waits for can come"
            hint = "put repeat{...} around the expression to start it again" if over else ""
            yield self._finding(
                "not-live",
                f"after {events} '{name}' can emit no token any more: {reason}",
                place=place,
                hint=hint,
                witness=live.witness,
            )

    # ── modes ──

    def _overlapping_guards(self) -> Iterator[Finding]:
        for node in self._correlator.tree.expression.walk():
            if isinstance(node, tree.Modes):
                yield from self._overlaps(node)

    def _overlaps(self, modes: tree.Modes) -> Iterator[Finding]:
        """The first pair of guards for each guard that another one before it overlaps."""
        letters = {mode.guard: self._questions.satisfying(mode.guard) for mode in modes.modes}
        shown = sum(1 << number for number in self._questions.usable)
        for number, mode in enumerate(modes.modes):
            for earlier in modes.modes[:number]:
                both = letters[mode.guard] & letters[earlier.guard] & shown
                if both:
                    yield self._overlap(str(earlier.guard), mode, (both & -both).bit_length() - 1, len(modes.modes))
                    break

    def _overlap(self, first: str, mode: tree.Mode, letter: int, count: int) -> Finding:
        second = str(mode.guard)
        if first == second:
            subject = f"'{first}' guards two modes"
        else:
            subject = f"an event can satisfy the guards '{first}' and '{second}'"
        if count == 2:
            effect = "each such event leaves the active mode for the other one"
        else:
            effect = f"the mode of '{first}', which is written first, is entered unless it is active"
        return self._finding(
            "guards-overlap",
            f"{subject}: {effect}",
            place=mode.place,
            hint=f"exclude one in the condition of the other: {second} AS ... AND NOT (...)",
            witness=self._questions.witness([letter]),
        )

    # ── parts ──

    def _parts(self, unmet: set[str]) -> Iterator[Finding]:
        questions = self._questions
        every, taken, tokens = questions.every, questions.taken, questions.possible_tokens
        assert every is not None
        assert taken is not None
        assert tokens is not None
        parts = list(located_parts(self._correlator.tree.expression, questions.traced.machine.module))
        states = PartStates(questions.traced, every, taken)
        blocked = list(never_completing(parts, states))
        for part, around in blocked:
            yield self._finding(
                "part-never-completes",
                f"'{part.name}' never completes, and '{around.name}' waits for it",
                place=part.node.place,
            )
        waiting = {around.module.span.states for _, around in blocked}
        for part in never_starting(parts, states):
            if part.around is None or part.around.module.span.states not in waiting:
                yield self._finding("part-never-starts", f"'{part.name}' can never start", place=part.node.place)
        if tokens:
            yield from self._missing_tokens(parts, tokens)

    def _missing_tokens(self, parts: list[LocatedPart], tokens: frozenset[str]) -> Iterator[Finding]:
        reported = set[str]()
        for part in parts:
            if isinstance(part.node, tree.Push) and part.node.token not in tokens | reported:
                reported.add(part.node.token)
                yield self._finding(
                    "token-never-comes", f"the token '{part.node.token}' never comes", place=part.node.place
                )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
