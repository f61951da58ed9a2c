"""The language of a subscription: the sequences of events from the first to the last of a match.

A match depends on the events from its first to its last alone: where no step counts from the beginning of the lane, and
no negation stands at the edge of the pattern. So a subscription notifies at an event exactly where some sequence of its
language ends there, whatever came before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from foretell.check.answer import Answer, Truth
from foretell.check.automata.alphabet import Alphabet, EventOracle, TooManyLettersError, alphabet
from foretell.check.automata.event_scope import EventScope, event_scope, typed
from foretell.check.automata.inclusion import bits_of, shortest_match
from foretell.check.automata.letter_automaton import (
    ACCEPTED,
    LetterAutomaton,
    UnboundedPatternError,
    term_graph,
)
from foretell.check.automata.step_letters import Bound, StepLetters, SubscriptionConditions
from foretell.check.automata.trial import notified_events, time_step, witness_of
from foretell.check.witness import Witness
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.plan.nfa.term_graph import TermGraph

#: More combinations of events, or more events, are not tried by the reference evaluator.
_MOST_COMBINATIONS = 20_000
_MOST_TRIED = 40
_MOST_NEGATED = 12

#: Patterns with more steps are not tried on random values.
MOST_TRIED_STEPS = 8

TOO_LONG = "the events that would show it have too many combinations for the reference evaluator"

_PRODUCED = "not every sequence of the events that it reads can come"


class SubscriptionLanguage:
    """The automata of a subscription over an alphabet."""

    def __init__(
        self, subscription: CheckedSubscription, graph: TermGraph, conditions: SubscriptionConditions, letters: Alphabet
    ) -> None:
        self.subscription, self.alphabet = subscription, letters
        self._graph, self._conditions = graph, conditions

    @cached_property
    def at_least(self) -> LetterAutomaton:
        return LetterAutomaton(StepLetters(self._conditions, self.alphabet, Bound.AT_LEAST), self._graph)

    @cached_property
    def at_most(self) -> LetterAutomaton:
        return LetterAutomaton(StepLetters(self._conditions, self.alphabet, Bound.AT_MOST), self._graph)

    @property
    def is_exact(self) -> bool:
        """Whether it has the matches, no more and no fewer, and each letter an example."""
        chosen = any(step.shape.chosen is not None for step in self.subscription.steps.values())
        return self._conditions.are_whole and not chosen and self.alphabet.complete and self.removes_none

    @property
    def removes_none(self) -> bool:
        """Whether every match is notified: HAVING and AFTER MATCH remove none."""
        tree_ = self.subscription.tree
        return tree_.having is None and tree_.after.policy is tree.Policy.HOLD

    def can_be_tried(self, letters: Sequence[int]) -> bool:
        """Whether the reference evaluator, which tries all combinations of events, is soon done with these letters."""
        if len(letters) > (_MOST_NEGATED if self._has_negations else _MOST_TRIED):
            return False
        runs: Counter[int] = Counter()
        total = 0
        for letter in letters:
            after: Counter[int] = Counter(bits_of(self.at_least.first[letter]))
            for state, count in runs.items():
                for target in bits_of(self.at_least.following[state][letter]):
                    after[target] += count
            runs = after
            total += runs.total()
        return total <= _MOST_COMBINATIONS

    @property
    def _has_negations(self) -> bool:
        """Of combinations that a negation excludes the reference evaluator knows when they are complete."""
        return any(step.shape.negated for step in self.subscription.steps.values())

    @property
    def usable(self) -> tuple[int, ...]:
        """The letters that have an example."""
        return tuple(n for n, letter in enumerate(self.alphabet.letters) if letter.example is not None)

    @property
    def all_letters(self) -> range:
        return range(len(self.alphabet.letters))


def undecidable(subscription: CheckedSubscription) -> str:
    """The reason for which a subscription has no language of events; empty where it has."""
    clauses = subscription.tree
    if clauses.table is not None:
        return "FOR EACH makes a subscription of each row of its table"
    if clauses.losing is not None or subscription.uncertain:
        return "LOSING reports estimates"
    if clauses.forecast is not None:
        return "FORECAST depends on what is learned"
    if subscription.simultaneous:
        return "events of one instant are simultaneous"
    return ""


def languages(
    subscriptions: Iterable[CheckedSubscription], scope: EventScope, oracle: EventOracle | None = None
) -> list[SubscriptionLanguage]:
    """The languages of subscriptions over one alphabet; UnboundedPatternError where one has none."""
    graphs = []
    for subscription in subscriptions:
        reason = undecidable(subscription)
        if reason:
            raise UnboundedPatternError(reason)
        graphs.append((subscription, term_graph(subscription), SubscriptionConditions(subscription)))
    try:
        letters = alphabet([c for _, _, conditions in graphs for c in conditions.all()], scope, oracle)
    except TooManyLettersError as error:
        raise UnboundedPatternError("its conditions have too many combinations") from error
    return [SubscriptionLanguage(subscription, graph, own, letters) for subscription, graph, own in graphs]


def subscription_witness(
    letters: Alphabet, scope: EventScope, numbers: Iterable[int], window: int | float | None
) -> Witness:
    """An event for each letter, all in one window."""
    examples = [example for n in numbers if (example := letters.letters[n].example) is not None]
    step = time_step(scope, len(examples), window)
    return witness_of(examples, scope, [number * step for number in range(len(examples))])


class SubscriptionQuestions:
    """Is a subscription vacuous, trivial, live? An answer with a witness has been tried by the reference evaluator."""

    def __init__(
        self, subscription: CheckedSubscription, program: CheckedProgram, oracle: EventOracle | None = None
    ) -> None:
        self._subscription, self._program = typed(subscription, program), program
        self._scope = event_scope(self._subscription, program)
        self._reason = ""
        try:
            (self._language,) = languages([self._subscription], self._scope, oracle)
            self._automaton = self._language.at_least
        except UnboundedPatternError as error:
            self._reason = str(error)

    def vacuous(self) -> Answer:
        """Whether it never notifies."""
        if self._reason:
            return Answer(Truth.UNKNOWN, self._reason)
        if shortest_match(self._automaton, self._language.all_letters) is None:
            return Answer(Truth.YES, "no sequence of events is a match")
        if self._scope.is_produced:
            return Answer(Truth.UNKNOWN, _PRODUCED)
        automata = self._language.at_most, self._automaton
        for found in dict.fromkeys(shortest_match(automaton, self._language.usable) for automaton in automata):
            if found is not None:
                if not self._language.can_be_tried(found):
                    return Answer(Truth.UNKNOWN, TOO_LONG)
                witness = self._witness(found)
                if len(found) - 1 in notified_events(self._subscription, self._program, witness):
                    return Answer(Truth.NO, "these events are a match", witness)
        return Answer(Truth.UNKNOWN, "conditions name more than one event")

    def trivial(self) -> Answer:
        """Whether it notifies at every event. Then it does at the first one of a lane, whichever it is."""
        if self._reason:
            return Answer(Truth.UNKNOWN, self._reason)
        for number in () if self._scope.is_produced else self._language.usable:
            if not self._automaton.first[number] >> ACCEPTED & 1:
                witness = self._witness((number,))
                if not notified_events(self._subscription, self._program, witness):
                    return Answer(Truth.NO, "it does not notify at this event", witness)
        matched = self._language.at_most.first
        every = all(matched[number] >> ACCEPTED & 1 for number in self._language.all_letters)
        if every and self._removes_no_last_event():
            return Answer(Truth.YES, "every event is a match by itself")
        return Answer(Truth.UNKNOWN, "conditions name more than one event, or HAVING or AFTER MATCH remove matches")

    def live(self) -> Answer:
        """Whether a notification can come after all that may have come: a match may begin at any event."""
        vacuous = self.vacuous()
        if vacuous.truth is Truth.NO:
            if self._language.alphabet.free:
                return Answer(Truth.YES, "a match may begin at any event", vacuous.witness)
            return Answer(Truth.UNKNOWN, "conditions name the time or keys of the lane")
        if vacuous.truth is Truth.YES:
            return Answer(Truth.NO, vacuous.reason, Witness(()))
        return vacuous

    def _removes_no_last_event(self) -> bool:
        """Under AFTER MATCH a match is removed where another one was taken before, at an earlier event or at its last
        event. A match of the last event alone shares none with earlier ones; LONGEST removes it nevertheless."""
        clauses = self._subscription.tree
        return clauses.having is None and clauses.after.policy is not tree.Policy.LONGEST

    def _witness(self, numbers: Iterable[int]) -> Witness:
        return subscription_witness(self._language.alphabet, self._scope, numbers, self._subscription.within)
