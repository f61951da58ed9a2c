"""The search for a match: along paths of the pattern, shortest first, until the reference evaluator confirms one.

YES is confirmed by a run of the reference evaluator on the match's events. NO is a proof: the conditions of no path can
hold, on open paths, of which each match is one. All else is "cannot tell": paths with more events than are tried, more
paths than are tried, formulas that z3 gives up, and models that only an approximation allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from foretell.check.answer import Answer, Truth
from foretell.check.conditions.assumed_types import parameter_types, with_assumed_types
from foretell.check.conditions.event_model import EventModel
from foretell.check.conditions.model_values import ModelValues, values_of
from foretell.check.conditions.query import Labelled, Outcome
from foretell.check.deadline import Deadline
from foretell.check.subscriptions.known_matches import KnownMatch, KnownMatches
from foretell.check.subscriptions.match_confirmation import Confirmation, is_costly
from foretell.check.subscriptions.match_formulas import MatchFormulas
from foretell.check.subscriptions.paths import PathSearch, PatternPath
from foretell.check.subscriptions.reduced_statements import has_step
from foretell.check.witness import Witness
from foretell.events.types import Scalar
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.language.pattern_shape import most_events
from foretell.records import record

#: Paths that are tried for one answer, the events by which they may be longer than the shortest, and the longest.
MOST_PATHS = 200
#: Paths that are tried before a proof that there is no match.
FIRST_PATHS = 3
FURTHER_EVENTS, MOST_EVENTS = 6, 14


@record
class FoundMatch:
    """The answer to whether there is a match, and the steps that it binds."""

    answer: Answer
    steps: frozenset[str] = frozenset()
    #: Of each path that was proved impossible, the parts that contradict each other.
    cores: tuple[tuple[Labelled, ...], ...] = ()


class MatchSearch:
    """Questions about the matches of one statement."""

    def __init__(
        self, statement: CheckedSubscription, program: CheckedProgram, known: KnownMatches | None = None
    ) -> None:
        self.statement = with_assumed_types(statement)
        self._known = KnownMatches() if known is None else known
        self.program = program
        self.model = EventModel.of(self.statement, program)
        self._kinds = parameter_types(statement)
        self._paths = PathSearch()
        self._row: Mapping[str, Scalar] = {}

    def match(self, deadline: Deadline, step: str | None = None, *, simple: bool = False) -> FoundMatch:
        """A match, one that binds a step if it is named; with `simple` one that is easy to read."""
        guessed = None if simple else self._guessed(step)
        if guessed is not None:
            return guessed
        pattern = self.statement.pattern if step is None else binding(self.statement.pattern, step)
        shortest = self._shortest(pattern, step)
        found, reason = self._first_match(islice(shortest, FIRST_PATHS), deadline, simple=simple)
        if found is None:
            impossible = self._impossible(pattern, step, deadline, reason)
            if impossible.answer.truth is Truth.NO:
                return impossible
            found, reason = self._first_match(shortest, deadline, simple=simple)
            return found or FoundMatch(Answer(Truth.UNKNOWN, reason or impossible.answer.reason))
        return found

    def _first_match(
        self, paths: Iterator[PatternPath], deadline: Deadline, *, simple: bool
    ) -> tuple[FoundMatch | None, str]:
        """The first match that is confirmed, or why there may be others."""
        reason = ""
        for path in paths:
            if deadline.is_over:
                return None, "time is over"
            formulas = MatchFormulas(self.statement, self.model, path)
            witness = self._confirmed(formulas, deadline, simple=simple)
            if witness is not None:
                self._known.add(self.statement, KnownMatch(witness, self._row, path.steps))
                return FoundMatch(Answer(Truth.YES, "", witness), path.steps), ""
            if not formulas.query.refuted:
                reason = "no match was found by trial"
        return None, reason

    def _shortest(self, pattern: tree.Pattern, step: str | None) -> Iterator[PatternPath]:
        fewest, most = max(1, self._paths.fewest(pattern)), most_events(pattern)
        longest = min(fewest + FURTHER_EVENTS, MOST_EVENTS, MOST_EVENTS if most is None else most)
        found = (p for size in range(fewest, longest + 1) for p in self._paths.paths(pattern, size))
        return islice((path for path in found if step is None or step in path.steps), MOST_PATHS)

    def _impossible(self, pattern: tree.Pattern, step: str | None, deadline: Deadline, reason: str) -> FoundMatch:
        """NO where the conditions of no open path can hold."""
        cores: list[tuple[Labelled, ...]] = []
        found = (p for p in self._paths.paths(pattern, None) if p.bound and (step is None or step in p.steps))
        for number, path in enumerate(found):
            if deadline.is_over or number >= MOST_PATHS:
                limit = "time is over" if deadline.is_over else f"the pattern has more than {MOST_PATHS} paths"
                return FoundMatch(Answer(Truth.UNKNOWN, reason or limit))
            formulas = MatchFormulas(self.statement, self.model, path)
            if formulas.query.outcome(formulas.parts, deadline) is not Outcome.UNSATISFIABLE:
                return FoundMatch(Answer(Truth.UNKNOWN, reason or "a longer match may do"))
            if not cores:
                cores.append(formulas.query.smallest_core(formulas.parts, deadline))
        return FoundMatch(Answer(Truth.NO), cores=tuple(cores))

    # ── confirmation ──

    def _guessed(self, step: str | None) -> FoundMatch | None:
        """A match of a statement with other constants, carried over to this one."""
        for guess in self._known.guesses(self.statement):
            if step is not None and step not in guess.steps:
                continue
            if is_costly(self.statement, len(guess.witness.events)):
                continue
            confirmation = Confirmation(self.statement, self.program, guess.row, self._kinds)
            if confirmation.binds(guess.witness, guess.steps):
                self._known.add(self.statement, guess)
                return FoundMatch(Answer(Truth.YES, "", guess.witness), guess.steps)
        return None

    def _confirmed(self, formulas: MatchFormulas, deadline: Deadline, *, simple: bool) -> Witness | None:
        query, frames = formulas.query, formulas.frames
        symbols = [frames.events[slot] for slot in formulas.path.slots]
        for model in query.models(formulas.parts, deadline, simple=simple):
            parameters = list(frames.parameters.values())
            values = ModelValues(model, query.texts, [*values_of(symbols), *parameters])
            events = tuple(values.event(symbol) for symbol in symbols)
            row = {name: values.scalar(value) for name, value in frames.parameters.items()}
            witness = Witness(events, self._until(events[-1].time))
            if Confirmation(self.statement, self.program, row, self._kinds).confirms(formulas.path, witness):
                self._row = row
                return witness
        return None

    def _until(self, end: int | float) -> int | float | None:
        window = self.statement.within
        return None if window is None else end + 2 * window + 1


def binding(pattern: tree.Pattern, step: str) -> tree.Pattern:
    """The pattern without branches that cannot bind a step, and with a round of each repetition around it."""
    if not has_step(pattern, step):
        return pattern
    match pattern:
        case tree.Alternation(branches=branches):
            own = [branch for branch in branches if has_step(branch, step)]
            return binding(own[0], step)
        case tree.Repeat(body=body, high=1):
            return tree.Repeat(binding(body, step), 1, 1, pattern.under, place=pattern.place)
        case tree.Repeat(low=low):
            return tree.Repeat(pattern.body, max(1, low), pattern.high, pattern.under, place=pattern.place)
        case tree.Conjunction(sides=sides):
            return tree.Conjunction(tuple(binding(side, step) for side in sides), place=pattern.place)
        case tree.Sequence(parts=parts, absent=absent):
            bound = tuple(
                tree.SequencePart(binding(p.pattern, step), p.operator, p.absent, place=p.place) for p in parts
            )
            return tree.Sequence(bound, absent, place=pattern.place)
    return pattern
