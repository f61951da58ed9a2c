"""Inclusion of two languages of matches, by a search for the shortest match of the left that the right does not know.

The right automaton starts anew at every event, so that it accepts where any of its matches ends. Of two situations
with the same state of the left, that with fewer states of the right suffices (an antichain: De Wulf, Doyen, Henzinger
and Raskin, 2006).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foretell.check.automata.letter_automaton import ACCEPTED, LetterAutomaton
from foretell.check.deadline import Deadline
from foretell.records import record

#: More situations are not looked at.
MOST_SITUATIONS = 50_000


class SearchLimitError(Exception):
    """A search that takes too long, or looks at too much."""


@record
class Placed:
    """A letter of a sequence. `foreign`: an event of another lane of the left statement."""

    letter: int
    foreign: bool = False


@record
class Situation:
    """A state of the left automaton and the states of the right one, with the letters that lead to it."""

    left: int
    right: int
    before: Situation | None
    placed: Placed

    def letters(self) -> tuple[Placed, ...]:
        found: list[Placed] = []
        situation: Situation | None = self
        while situation is not None:
            found.append(situation.placed)
            situation = situation.before
        return tuple(reversed(found))


class InclusionSearch:
    """`foreign`: events of other lanes of the left may lie between those of its matches. `lone`: the right statement
    accepts matches of one event alone, as where its window is the shorter one. Only `letters` are read."""

    def __init__(
        self,
        left: LetterAutomaton,
        right: LetterAutomaton,
        letters: Sequence[int],
        deadline: Deadline,
        *,
        foreign: bool = False,
        lone: bool = False,
    ) -> None:
        self._left, self._right, self._letters, self._deadline = left, right, letters, deadline
        self._foreign, self._lone = foreign, lone
        self._known: dict[int, list[int]] = {}

    def counterexample(self) -> tuple[Placed, ...] | None:
        """A shortest match of the left, at whose end the right has none; None where it is included."""
        level = list(self._firsts())
        looked_at = 0
        while level:
            following: list[Situation] = []
            for situation in level:
                if situation.left == ACCEPTED:
                    if not situation.right >> ACCEPTED & 1:
                        return situation.letters()
                elif self._is_new(situation):
                    following += self._after(situation)
                looked_at += 1
                if looked_at > MOST_SITUATIONS or (looked_at % 256 == 0 and self._deadline.is_over):
                    raise SearchLimitError
            level = following
        return None

    def _firsts(self) -> Iterator[Situation]:
        for letter in self._letters:
            right = self._right.first[letter]
            for state in bits_of(self._left.first[letter]):
                yield Situation(state, right, None, Placed(letter))

    def _after(self, situation: Situation) -> Iterator[Situation]:
        for letter in self._letters:
            right = self._right.first[letter]
            if not self._lone:
                right |= self._right.successors(situation.right, letter)
            for state in bits_of(self._left.following[situation.left][letter]):
                yield Situation(state, right, situation, Placed(letter))
            if self._foreign:
                yield Situation(situation.left, right, situation, Placed(letter, foreign=True))

    def _is_new(self, situation: Situation) -> bool:
        known = self._known.setdefault(situation.left, [])
        if any(right & ~situation.right == 0 for right in known):
            return False
        known[:] = [right for right in known if situation.right & ~right]
        known.append(situation.right)
        return True


def bits_of(states: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while states:
        low = states & -states
        yield low.bit_length() - 1
        states ^= low


def shortest_match(automaton: LetterAutomaton, letters: Sequence[int]) -> tuple[int, ...] | None:
    """A shortest match; None where no sequence of these letters is one."""
    before: dict[int, tuple[int, int]] = {}
    level = []
    for letter in letters:
        for state in bits_of(automaton.first[letter]):
            if state not in before:
                before[state] = (-1, letter)
                level.append(state)
    while level and ACCEPTED not in before:
        following = []
        for state in level:
            for letter in letters:
                for target in bits_of(automaton.following[state][letter]):
                    if target not in before:
                        before[target] = (state, letter)
                        following.append(target)
        level = following
    return _path(before) if ACCEPTED in before else None


def _path(before: dict[int, tuple[int, int]]) -> tuple[int, ...]:
    found, state = list[int](), ACCEPTED
    while state >= 0:
        state, letter = before[state]
        found.append(letter)
    return tuple(reversed(found))
