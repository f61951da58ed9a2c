"""Which subscriptions are observed, for forecasts or training: the plan depends on it."""

from __future__ import annotations

from typing import Protocol

from foretell.language.checked import CheckedSubscription


class ObservationPolicy(Protocol):
    """Tells which subscriptions are observed, and which attributes their observers read."""

    def observes(self, subscription: CheckedSubscription) -> bool: ...

    def attributes(self, subscription: CheckedSubscription) -> set[str]:
        """The attributes of events that the observer reads, besides those that the subscription names."""


class NothingObserved:
    """The policy of a run without observers."""

    def observes(self, _: CheckedSubscription) -> bool:
        return False

    def attributes(self, _: CheckedSubscription) -> set[str]:
        return set()


NOTHING_OBSERVED = NothingObserved()
