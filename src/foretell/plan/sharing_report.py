"""What the subscriptions of a program share: equal predicates are answered once, equal beginnings looked for once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import asdict, dataclass

from foretell.language.checked import CheckedSubscription
from foretell.plan.prefix_sharing import SharedNfa
from foretell.plan.strategy import GroupKind, choose_strategy


def reads(checked: CheckedSubscription) -> tuple[Hashable, ...]:
    """What subscriptions must have in common to read the same events in the same lanes."""
    per = tuple(map(str, checked.tree.per))
    return tuple(map(str, checked.tree.streams)), per, checked.simultaneous, checked.time


@dataclass(frozen=True)
class SharingReport:
    """How many states and predicates subscriptions have, each by itself and together.

    `serving` states serve more than one of them.
    """

    subscriptions: int
    machines: int
    states: int
    states_together: int
    serving: int
    predicates: int
    predicates_together: int

    def as_dict(self) -> dict[str, object]:
        return {"together": asdict(self)}

    def as_text(self) -> str:
        return (
            f"together: {self.subscriptions} subscriptions in {self.machines} machines\n"
            f"  {self.states} states are {self.states_together}, of which {self.serving} serve several subscriptions\n"
            f"  {self.predicates} predicates are {self.predicates_together}"
        )


def together(statements: Iterable[CheckedSubscription], code_of: Callable[[str], int]) -> SharingReport:
    """As the engine would put them into machines, of what can share one."""
    machines: dict[tuple[Hashable, GroupKind], list[SharedNfa]] = {}
    count = states = predicates = 0
    for one in statements:
        kind = choose_strategy(one).group_kind
        if one.tree.losing is not None or not kind.shares:
            continue
        alone, _ = SharedNfa.empty(code_of, one.simultaneous, one.time).joined_by(one)
        mine = machines.setdefault((reads(one), kind), [])
        if not mine or mine[-1].full:
            mine.append(SharedNfa.empty(code_of, one.simultaneous, one.time))
        mine[-1], _ = mine[-1].joined_by(one)
        count, states = count + 1, states + len(alone.states)
        predicates += len(alone.numbers.predicates)
    every = [shared for some in machines.values() for shared in some]
    distinct = {(place, p) for (place, _), some in machines.items() for s in some for p in s.numbers.predicates}
    return SharingReport(
        count,
        len(every),
        states,
        sum(len(shared.states) for shared in every),
        sum(shared.shared_states for shared in every),
        predicates,
        len(distinct),
    )
