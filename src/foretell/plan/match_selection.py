"""FIRST, LAST and AFTER MATCH of a subscription, with steps by their numbers."""

from __future__ import annotations

from enum import Enum

from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.pattern_shape import has_trailing_negation, most_events
from foretell.records import record


@record
class StepChoice:
    """FIRST or LAST for a step. `settled_by` marks the steps that settle a LAST when one of them is bound; without such
    an event the end of the window settles it. None: the match's last event settles it."""

    step: int
    first: bool
    settled_by: tuple[bool, ...] | None = None


class Excludes(Enum):
    """The matches of its lane that a taken match excludes."""

    NOTHING = "HOLD"
    SAME_EVENTS = "CONSUME: matches that bind one of its events"
    SAME_START = "SKIP TO NEXT: matches that begin with its first event"
    EARLIER_STARTS = "SKIP PAST LAST, SKIP TO a step, LONGEST: matches that begin before some event of it"


@record
class AfterMatchRule:
    """AFTER MATCH. With EARLIER_STARTS, matches may begin again with the first or the `latest` event of the step
    `skip_to`; None: after the last event of the match. With `longest`, matches are taken by their first events, the
    longest of each, and not as they are completed."""

    excludes: Excludes = Excludes.NOTHING
    skip_to: int | None = None
    latest: bool = False
    longest: bool = False


def after_match_rule(policy: tree.Policy, step: int | None) -> AfterMatchRule:
    """`step` is the number of the step that SKIP TO FIRST and SKIP TO LAST name."""
    match policy:
        case tree.Policy.HOLD:
            return AfterMatchRule()
        case tree.Policy.CONSUME:
            return AfterMatchRule(Excludes.SAME_EVENTS)
        case tree.Policy.SKIP_TO_NEXT:
            return AfterMatchRule(Excludes.SAME_START)
        case tree.Policy.SKIP_PAST_LAST:
            return AfterMatchRule(Excludes.EARLIER_STARTS)
        case tree.Policy.LONGEST:
            return AfterMatchRule(Excludes.EARLIER_STARTS, longest=True)
    assert step is not None
    return AfterMatchRule(Excludes.EARLIER_STARTS, step, latest=policy is tree.Policy.SKIP_TO_LAST)


@record
class MatchSelection:
    """The rules by which finished matches are chosen.

    | field | holds |
    | --- | --- |
    | choices | FIRST and LAST |
    | after_match | AFTER MATCH |
    | within | the window, which settles a LAST that no event settles |
    | simultaneous | whether events of one instant have the same rank |
    | ambiguous | whether the same match may be found twice |
    | most_events | the most events that a match binds, None without a bound |
    """

    choices: tuple[StepChoice, ...]
    after_match: AfterMatchRule
    within: int | float | None
    simultaneous: bool
    ambiguous: bool
    most_events: int | None

    @property
    def late_choices(self) -> tuple[StepChoice, ...]:
        """Each LAST that the end of the window may have to settle."""
        return tuple(choice for choice in self.choices if choice.settled_by is not None)

    @property
    def excludes(self) -> bool:
        """Whether AFTER MATCH excludes matches."""
        return self.after_match.excludes is not Excludes.NOTHING

    @property
    def selects(self) -> bool:
        """Whether any rule may drop or delay a match."""
        return bool(self.choices or self.excludes or self.ambiguous)


def compares_windows(subscription: CheckedSubscription) -> bool:
    """Whether LAST compares matches with negations at their ends, whose windows may end at different times.

    Then the kernel reports a match with its last event, and the selection looks for events that break it: a match has
    to wait until those that LAST would prefer are broken.
    """
    chooses = any(step.shape.chosen == "LAST" for step in subscription.steps.values())
    return chooses and has_trailing_negation(subscription.pattern)


def match_selection(subscription: CheckedSubscription, *, ambiguous: bool) -> MatchSelection:
    steps, late, after = subscription.positive, subscription.known_late, subscription.tree.after
    choices = [
        StepChoice(
            steps.index(name),
            step.shape.chosen == "FIRST",
            tuple(other in late[name] for other in steps) if name in late else None,
        )
        for name, step in subscription.steps.items()
        if step.shape.chosen is not None
    ]
    return MatchSelection(
        tuple(choices),
        after_match_rule(after.policy, None if after.step is None else steps.index(after.step)),
        subscription.within,
        subscription.simultaneous,
        ambiguous,
        most_events(subscription.pattern),
    )
