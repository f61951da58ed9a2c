"""The registers whose values lead somewhere, to an event or to a text: those of a snapshot must lead to one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from foretell.arrays import Ints
from foretell.events.types import Type
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.kernels.run_checks import all_held
from foretell.plan.lower.program import CompiledNfa, SubscriptionPlan
from foretell.plan.lower.registers import POSITION_KINDS
from foretell.records import record
from foretell.storage.recorded_values import require, require_range


@record
class RegisterKinds:
    """Of so many registers that a match carries, those with positions of events and those with codes of texts."""

    count: int
    positions: tuple[int, ...]
    texts: tuple[int, ...]

    @classmethod
    def of_nfa(cls, nfa: CompiledNfa) -> RegisterKinds:
        slots = nfa.tables.finals.tolist()
        return cls(len(slots), _places(slots, nfa.positions), _places(slots, nfa.texts))

    @classmethod
    def of_plan(cls, plan: SubscriptionPlan) -> RegisterKinds:
        """Where a subscription has its registers to itself."""
        variables = plan.subscription.variables
        texts = (i for register, i in plan.finals.items() if variables.get(register.name) is Type.STRING)
        positions = (i for register, i in plan.finals.items() if register.kind in POSITION_KINDS)
        return cls(len(plan.finals), tuple(positions), tuple(texts))

    def check_positions(self, words: Ints, nulls: Any, bounds: StateBounds) -> None:
        """Refuse registers [match, register] of a snapshot that lead to no event."""
        for number in self.positions:
            if number < words.shape[1]:
                require(all_held(words[nulls[:, number] == 0, number], bounds.held), "the events of matches")

    def check_texts(self, words: Ints, nulls: Any, bounds: StateBounds) -> None:
        """Refuse registers [match, register] of a snapshot that lead to no text."""
        for number in self.texts:
            if number < words.shape[1]:
                require_range(words[nulls[:, number] == 0, number], bounds.texts, "the texts of matches")


def _places(slots: list[int], wanted: Iterable[int]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(np.isin(slots, list(wanted))).tolist())
