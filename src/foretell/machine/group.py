"""Subscriptions that share one machine: what begins alike is looked for once (P-ToPSS section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from foretell.events.types import Type
from foretell.filter.columns import Column, Strings
from foretell.filter.selection import Selection
from foretell.language.checked import CheckedSubscription
from foretell.machine.arrivals import Arrivals
from foretell.machine.feed import Feed
from foretell.machine.history import Piece
from foretell.machine.ordering import Order
from foretell.machine.stage import Stage
from foretell.machine.subscription import Subscription
from foretell.machine.told import Told
from foretell.plan.arrivals import lower
from foretell.plan.registers import Lagged
from foretell.plan.sharing import Shared
from foretell.plan.strategy import Kind


@dataclass
class Group:
    """Subscriptions on one feed. `parameters` and `selection` are of the one template that has a group to itself."""

    feed: Feed
    strings: Strings
    parameters: Mapping[str, Column] = field(default_factory=dict)
    selection: Selection | None = None
    kind: Kind = Kind.ALONE

    def __post_init__(self) -> None:
        checked = self.feed.checked
        self.shared = Shared(self.strings.code, checked.simultaneous, checked.time)
        self.members: dict[int, Subscription] = {}
        self.stage: Stage | Arrivals | None = None

    @property
    def open(self) -> bool:
        """Whether others may join."""
        return self.kind.shares and not self.shared.full

    def add(self, checked: CheckedSubscription, types: Mapping[str, Type] | None = None) -> Subscription:
        """One more subscription, from the next event on."""
        if self.kind is Kind.ARRIVALS:
            plan = lower(checked, self.strings.code, types, selected=self.selection is not None)
            self.stage = Arrivals(plan, self.strings, self.parameters, self.selection)
            number, program = 0, plan.program
        else:
            number, program = self.shared.add(checked, types, selected=self.selection is not None)
        member = Subscription(program, self.strings, self.feed, parameters=self.parameters, since=self.feed.positions)
        self.members[number] = member
        return member

    def remove(self, member: Subscription) -> None:
        number = next(n for n, m in self.members.items() if m is member)
        del self.members[number]
        self.shared.remove(number)
        self.settle()

    def settle(self) -> None:
        """Puts the machine as it is now to work."""
        if isinstance(self.stage, Arrivals):
            return
        machine = self.shared.machine()
        if self.stage is None:
            self.stage = Stage(machine, self.strings, self.parameters, self.selection)
        else:
            self.stage.adopt(machine)

    @property
    def lagged(self) -> set[Lagged]:
        return self.stage.machine.lagged if isinstance(self.stage, Stage) else set()

    def tell(self, piece: Piece, now: int | float, order: Order) -> list[Told]:
        assert self.stage is not None
        found = self.stage.feed(piece, len(self.feed.lanes), now)
        if len(self.members) == 1:
            return [member.tell(found, now, order) for member in self.members.values()]
        assert isinstance(self.stage, Stage)
        owner = self.stage.machine.owners[found.state]
        by = np.argsort(owner, kind="stable")
        found, owner = found.only(by), owner[by]
        told = []
        for number, member in self.members.items():
            first, last = np.searchsorted(owner, [number, number + 1])
            told.append(member.tell(found.only(slice(first, last)), now, order))
        return told

    @property
    def oldest(self) -> int | None:
        """The earliest event that a partial match, or one that waits to be told, speaks of."""
        found = [m.oldest for m in self.members.values()]
        found.append(None if self.stage is None else self.stage.oldest)
        return min((o for o in found if o is not None), default=None)
