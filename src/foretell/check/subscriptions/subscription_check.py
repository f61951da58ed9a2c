"""The check of one subscription: first whether it matches, then its steps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from foretell.check.answer import Truth
from foretell.check.conditions.event_model import is_result_stream
from foretell.check.conditions.solver import ConditionSolver
from foretell.check.deadline import Deadline
from foretell.check.finding import Finding
from foretell.check.subscriptions.culprits import Culprit, culprits
from foretell.check.subscriptions.known_matches import KnownMatches
from foretell.check.subscriptions.match_search import FoundMatch, MatchSearch
from foretell.check.subscriptions.negated_steps import impossible_negation
from foretell.check.subscriptions.own_conditions import contradiction, contradiction_finding, redundant_conditions
from foretell.check.subscriptions.plain_statements import is_plainly_possible, plain_live_steps
from foretell.check.subscriptions.prefixes import prefix_before
from foretell.check.subscriptions.reduced_statements import without_steps
from foretell.check.subscriptions.trivial_matches import trivial_finding
from foretell.check.subscriptions.vacuity import (
    dead_step_finding,
    undecided,
    vacuous_finding,
    vacuous_source_finding,
)
from foretell.check.witness import Witness
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedStatement, CheckedStep, CheckedSubscription
from foretell.language.tree import place_of

#: Patterns of more steps are checked step by step only.
MOST_STEPS = 60


def is_checked_whole(statement: CheckedSubscription) -> bool:
    """Whether the matches of a statement are looked for, not only its steps."""
    silent = isinstance(statement.pattern, tree.Silence)
    return not statement.uncertain and not silent and len(statement.steps) <= MOST_STEPS


class SubscriptionCheck:
    """The check of one subscription within a deadline."""

    def __init__(
        self,
        statement: CheckedSubscription,
        program: CheckedProgram,
        deadline: Deadline,
        known: KnownMatches | None = None,
    ) -> None:
        self.known = KnownMatches() if known is None else known
        self.statement = statement
        self.program = program
        self.deadline = deadline

    @cached_property
    def solver(self) -> ConditionSolver:
        return ConditionSolver(self.statement, self.program)

    def findings(self) -> Iterator[Finding]:
        """All findings, in no order."""
        live: frozenset[str] = frozenset()
        whole = is_checked_whole(self.statement)
        sources = self._vacuous_sources()
        if sources:
            yield vacuous_source_finding(self.statement, sources)
        if whole:
            live = plain_live_steps(self.statement, self.program)
            live = live or MatchSearch(self.statement, self.program, self.known).match(self.deadline).steps
        doubtful = [step for name, step in self.statement.steps.items() if name not in live]
        doubtful = [step for step in doubtful if not is_plainly_possible(step, self.statement.attributes)]
        broken = {step.name: core for step in doubtful if (core := contradiction(step, self.solver, self.deadline))}
        rest = without_steps(self.statement, frozenset(n for n in broken if n in self.statement.positive))
        for name, core in broken.items():
            yield contradiction_finding(self.statement, self.statement.steps[name], core, never=rest is None)
        if whole and rest is not None:
            yield from self._unbound(rest, live, frozenset(broken))
        for name, step in self.statement.steps.items():
            if name not in broken:
                yield from redundant_conditions(self.statement, step, self.solver, self.deadline)
        if whole and not broken:
            yield from self._negations()
            yield from self._trivial()

    def _vacuous_sources(self) -> list[str]:
        """The statements that it reads, where it reads nothing else and none of them ever matches."""
        names = [str(name) for name in self.statement.tree.streams]
        if not all(is_result_stream(name, self.program) for name in names):
            return []
        own = {statement.name: statement for statement in self.program.statements if statement.name in names}
        return names if all(name in own and self._is_vacuous(own[name]) for name in names) else []

    def _is_vacuous(self, source: CheckedStatement) -> bool:
        if not isinstance(source, CheckedSubscription) or not is_checked_whole(source):
            return False
        if plain_live_steps(source, self.program):
            return False
        return MatchSearch(source, self.program).match(self.deadline).answer.truth is Truth.NO

    def _unbound(self, rest: CheckedSubscription, live: frozenset[str], broken: frozenset[str]) -> Iterator[Finding]:
        """The steps that no match binds, or the reason why there is no match at all."""
        search = MatchSearch(rest, self.program, self.known)
        if not live:
            found = search.match(self.deadline)
            if found.answer.truth is Truth.NO:
                yield vacuous_finding(self.statement, found.cores)
                return
            if found.answer.truth is Truth.UNKNOWN:
                question = f"whether '{self.statement.name}' ever matches"
                place = place_of(self.statement.tree.name)
                yield undecided("vacuous", self.statement, question, found.answer.reason, place)
                return
            live = found.steps
        dead: dict[tuple[Culprit, ...], list[tuple[str, FoundMatch]]] = {}
        for step in self._waiting(live, broken):
            if step.name in live:
                continue
            found = search.match(self.deadline, step.name)
            live |= found.steps
            if found.answer.truth is Truth.NO:
                dead.setdefault(tuple(culprits(found.cores)), []).append((step.name, found))
            elif found.answer.truth is Truth.UNKNOWN:
                question = f"whether a match ever binds '{step.name}'"
                yield undecided("dead-branch", self.statement, question, found.answer.reason, step.shape.place)
        for group in dead.values():
            names = [name for name, _ in group]
            (_, first), witness = group[0], self._witness_before(rest, names[-1])
            yield dead_step_finding(self.statement, names, first.cores, witness)

    def _witness_before(self, statement: CheckedSubscription, step: str) -> Witness | None:
        """Events after which a partial match waits for a step."""
        prefix = prefix_before(statement, step)
        if prefix is None:
            return None
        return MatchSearch(prefix, self.program).match(self.deadline.part(1.0), simple=True).answer.witness

    def _waiting(self, live: frozenset[str], broken: frozenset[str]) -> list[CheckedStep]:
        names = (name for name in self.statement.positive if name not in live and name not in broken)
        return [self.statement.steps[name] for name in names]

    def _negations(self) -> Iterator[Finding]:
        for step in self.statement.steps.values():
            if step.shape.negated:
                found = impossible_negation(self.statement, self.program, step, self.deadline)
                if found is not None:
                    yield found

    def _trivial(self) -> Iterator[Finding]:
        found = trivial_finding(self.statement, self.program, self.solver, self.deadline)
        if found is not None:
            yield found
