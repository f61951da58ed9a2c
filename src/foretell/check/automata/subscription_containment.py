"""Containment of subscriptions: does the right notify at every event at which the left does?

Three ways lead to a yes (decision 0020 has the reasons):

1. the patterns are equal up to names, and each condition of the right follows from those of the left;
2. every match of the left, from its first event to its last, ends with a match of the right. That is the inclusion of
   two languages, and as the match of the right lies within that of the left, it meets a window that is not shorter;
3. where the window of the right is the shorter one, the last event alone must be a match.

A no has a witness on which the reference evaluator has the left notify and the right not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import product

from foretell.check.answer import Answer, Truth
from foretell.check.automata.alphabet import EventOracle, TooManyLettersError, alphabet
from foretell.check.automata.event_conditions import about_one_event
from foretell.check.automata.event_scope import EventScope, event_scope, merged_scope, source_names, typed, types_differ
from foretell.check.automata.inclusion import InclusionSearch, Placed, SearchLimitError
from foretell.check.automata.letter_automaton import LetterAutomaton, UnboundedPatternError
from foretell.check.automata.step_correspondence import StructuralContainment, plain_statement
from foretell.check.automata.subscription_language import MOST_TRIED_STEPS, TOO_LONG, SubscriptionLanguage, languages
from foretell.check.automata.trial import in_another_lane, notified_events, time_step, witness_of
from foretell.check.automata.value_trials import ValueTrials
from foretell.check.deadline import Deadline
from foretell.check.witness import Witness
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.records import record


@record
class Programs:
    """The programs of the two statements."""

    left: CheckedProgram
    right: CheckedProgram


class SubscriptionContainment:
    def __init__(
        self,
        left: CheckedSubscription,
        right: CheckedSubscription,
        programs: Programs,
        deadline: Deadline,
        oracle: EventOracle | None = None,
    ) -> None:
        self._left, self._right = typed(left, programs.left), typed(right, programs.right)
        self._programs, self._deadline = programs, deadline
        self._oracle = oracle
        self._ours, self._theirs = (
            event_scope(self._left, programs.left),
            event_scope(self._right, programs.right),
        )

    def answer(self) -> Answer:
        reason = self._different_events()
        if reason:
            return Answer(Truth.UNKNOWN, reason)
        if self._ours.per == self._theirs.per and plain_statement(self._left) == plain_statement(self._right):
            return Answer(Truth.YES, "the statements are equal up to names")
        reason = self._incomparable()
        if reason:
            return Answer(Truth.UNKNOWN, reason)
        if self._ours.per == self._theirs.per and StructuralContainment(self._left, self._right, self._implies).holds():
            return Answer(Truth.YES, "the patterns are equal up to names, and the conditions follow from each other")
        try:
            ours, theirs = languages([self._left, self._right], self._scope, self._oracle)
            return self._by_languages(ours, theirs)
        except UnboundedPatternError as error:
            return Answer(Truth.UNKNOWN, f"the patterns differ, and {error}")
        except SearchLimitError:
            return Answer(Truth.UNKNOWN, "the search takes too long")

    def _different_events(self) -> str:
        if source_names(self._ours) != source_names(self._theirs):
            return "the statements read different streams"
        if self._ours.sources != self._theirs.sources:
            return "the streams that the statements read are declared differently"
        if types_differ(self._ours, self._theirs):
            return "the statements assume different types for what no stream declares"
        if self._theirs.per - self._ours.per:
            return "the right statement divides events into more lanes"
        return ""

    def _incomparable(self) -> str:
        left, right = self._left.tree, self._right.tree
        if left.table is not None or right.table is not None:
            return "FOR EACH makes a subscription of each row of its table"
        if self._left.uncertain or self._right.uncertain:
            return "LOSING reports estimates"
        if left.forecast is not None or right.forecast is not None:
            return "FORECAST depends on what is learned"
        return ""

    @cached_property
    def _scope(self) -> EventScope:
        return merged_scope(self._ours, self._theirs)

    def _implies(self, condition: tree.Expression, wanted: tree.Expression) -> bool:
        if about_one_event(condition) is None or about_one_event(wanted) is None:
            return self._oracle is not None and self._oracle.implies(condition, wanted)
        try:
            letters = alphabet([condition, wanted], self._scope, self._oracle)
        except TooManyLettersError:
            return False
        return not letters.satisfying([condition]) & ~letters.satisfying([wanted])

    # ── languages ──

    def _by_languages(self, ours: SubscriptionLanguage, theirs: SubscriptionLanguage) -> Answer:
        difference = self._found(ours.at_least, theirs.at_most, ours)
        if difference is None and theirs.removes_none and self._keeps_window():
            return Answer(Truth.YES, "every match of the left ends with a match of the right")
        for letters in self._candidates(ours, theirs, difference):
            own = [placed.letter for placed in letters]
            if not ours.can_be_tried(own) or not theirs.can_be_tried(own):
                return Answer(Truth.UNKNOWN, TOO_LONG)
            witness = self._tried(letters, ours)
            if witness is not None:
                return Answer(Truth.NO, "the left notifies at the last event, and the right does not", witness)
        witness = self._by_values(ours)
        if witness is not None:
            return Answer(Truth.NO, "the left notifies at the last event, and the right does not", witness)
        return Answer(Truth.UNKNOWN, self._unknown(theirs))

    def _by_values(self, ours: SubscriptionLanguage) -> Witness | None:
        """A difference found by trial. It need not be the shortest."""
        steps = max(len(self._left.positive), len(self._right.positive))
        if self._ours.is_produced or steps > MOST_TRIED_STEPS:
            return None
        trials = ValueTrials((self._left, self._right), (self._programs.left, self._programs.right), self._ours)
        examples = [e for letter in ours.usable if (e := ours.alphabet.letters[letter].example) is not None]
        return trials.difference(examples, self._deadline)

    def _keeps_window(self) -> bool:
        """Whether a match of the right that lies within one of the left meets its window. Events of a SUBSCRIBE
        statement last: a later one may begin sooner."""
        if self._right.within is None:
            return True
        return not any(source.produced for source in self._ours.sources)

    @property
    def _is_narrower(self) -> bool:
        """Whether the right has the shorter window."""
        if self._right.within is None:
            return False
        return self._left.within is None or self._left.within > self._right.within

    def _found(
        self, left: LetterAutomaton, right: LetterAutomaton, own: SubscriptionLanguage, *, usable: bool = False
    ) -> tuple[Placed, ...] | None:
        search = InclusionSearch(
            left,
            right,
            own.usable if usable else own.all_letters,
            self._deadline,
            foreign=self._ours.per != self._theirs.per,
            lone=self._is_narrower,
        )
        return search.counterexample()

    def _candidates(
        self, ours: SubscriptionLanguage, theirs: SubscriptionLanguage, difference: tuple[Placed, ...] | None
    ) -> list[tuple[Placed, ...]]:
        """Sequences on which the statements may differ, the shortest first."""
        if self._ours.is_produced:
            return []
        if difference is not None and ours.is_exact and theirs.is_exact:
            return [difference]
        pairs = product((ours.at_most, ours.at_least), (theirs.at_least, theirs.at_most))
        found = dict.fromkeys(self._found(left, right, ours, usable=True) for left, right in pairs)
        return sorted((letters for letters in found if letters is not None), key=len)

    def _tried(self, letters: Sequence[Placed], own: SubscriptionLanguage) -> Witness | None:
        witness = self._witness(letters, own)
        last = len(witness.events) - 1
        if last not in notified_events(self._left, self._programs.left, witness):
            return None
        return None if last in notified_events(self._right, self._programs.right, witness) else witness

    def _witness(self, letters: Sequence[Placed], own: SubscriptionLanguage) -> Witness:
        examples = [e for placed in letters if (e := own.alphabet.letters[placed.letter].example) is not None]
        witness = witness_of(examples, self._ours, self._times(len(examples)))
        events = [
            in_another_lane(event, self._ours, self._ours.per - self._theirs.per) if placed.foreign else event
            for event, placed in zip(witness.events, letters, strict=True)
        ]
        return Witness(tuple(events))

    def _times(self, count: int) -> list[int | float]:
        """Times within the window of the left. Where that of the right is shorter, the last event comes too late for
        it."""
        window = self._left.within
        if not self._is_narrower or count < 2:
            step = time_step(self._ours, count, window)
            return [number * step for number in range(count)]
        assert self._right.within is not None
        step = time_step(self._ours, 2, None)
        late = self._right.within + step if window is None else min(self._right.within + step, window)
        return [*(0 * step for _ in range(count - 1)), late]

    def _unknown(self, theirs: SubscriptionLanguage) -> str:
        if not theirs.removes_none:
            return "HAVING or AFTER MATCH of the right may remove matches"
        if self._ours.is_produced:
            return "not every sequence of the events that they read can come"
        return "conditions name more than one event, the time or keys of the lane"
