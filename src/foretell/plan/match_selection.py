"""FIRST, LAST and AFTER MATCH of a subscription, with steps by their numbers (LANGUAGE section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foretell.language import tree
from foretell.language.checked import CheckedSubscription


@dataclass(frozen=True)
class MatchSelection:
    """The rules by which finished matches are chosen.

    | field | holds |
    | --- | --- |
    | first_last | the steps with FIRST or LAST, and which of the two |
    | settled_by | each LAST that the end of the window may have to decide, with the steps that decide it earlier |
    | within | the window, for those |
    | policy, skip_to | AFTER MATCH, and the step it names |
    | simultaneous | whether events of one instant have the same rank |
    | ambiguous | whether the same match may be found twice |
    """

    first_last: tuple[tuple[int, str], ...]
    settled_by: Mapping[int, frozenset[int]]
    within: int | float | None
    policy: tree.Policy
    skip_to: int | None
    simultaneous: bool
    ambiguous: bool

    @property
    def excludes(self) -> bool:
        """Whether AFTER MATCH excludes events of a match from others."""
        return self.policy is not tree.Policy.HOLD

    @property
    def selects(self) -> bool:
        """Whether any rule may drop or delay a match."""
        return bool(self.first_last or self.settled_by or self.excludes or self.ambiguous)


def match_selection(subscription: CheckedSubscription, *, ambiguous: bool) -> MatchSelection:
    number = {step: i for i, step in enumerate(subscription.positive)}
    chosen = [(step, checked.shape.chosen) for step, checked in subscription.steps.items()]
    after = subscription.tree.after
    return MatchSelection(
        tuple((number[step], which) for step, which in chosen if which is not None),
        {
            number[step]: frozenset(number[other] for other in others)
            for step, others in subscription.known_late.items()
        },
        subscription.within,
        after.policy,
        None if after.step is None else number[after.step],
        subscription.simultaneous,
        ambiguous,
    )
