"""How many partial matches there may be, and what happens when there are more.

A pattern such as `a ; b` without WITHIN keeps every a for ever. No machine is taken down by it: a lane that has more
partial matches of a subscription than it may is refused, which is told, or the oldest of them are dropped, counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from foretell.arrays import Ints
from foretell.errors import InputError
from foretell.machine.kernels import layout

if TYPE_CHECKING:
    from foretell.machine.exec.nfa_executor import NfaExecutor


@dataclass(frozen=True)
class Limits:
    """At most so many partial matches of one subscription in one `lane`, and of all in the `engine`.

    `then` is what happens when there are more. "refuse": the subscription is told nothing more in that lane, from the
    event on that was too much. "drop": the oldest are dropped, a quarter at once; matches are then missing. With as
    many as it may have by itself, an engine takes two to three gigabytes.
    """

    lane: int = 1_000_000
    engine: int = 10_000_000
    then: Literal["refuse", "drop"] = "refuse"

    def __post_init__(self) -> None:
        for name in ("lane", "engine"):
            number = getattr(self, name)
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                raise InputError("wrong-limit", f"limits: {name} must be a whole number from 1 on, not {number!r}")
        if self.then not in ("refuse", "drop"):
            raise InputError("wrong-limit", f"limits: then must be 'refuse' or 'drop', not {self.then!r}")


@dataclass
class RunLedger:
    """What the limits have done so far. `refused` has subscriptions and lane keys, `dropped` a count for each.

    `news` is what has not been told yet; `held` is asked how many partial matches there are in all.
    """

    limits: Limits = field(default_factory=Limits)
    refused: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    news: list[str] = field(default_factory=list)
    held: dict[int, int] = field(default_factory=dict)

    @property
    def left(self) -> int:
        """How many more there may be."""
        return self.limits.engine - sum(self.held.values())

    def refuse(self, subscription: str, key: dict[str, Any], most: int) -> None:
        self.refused.append((subscription, key))
        where = f" in lane {key}" if key else ""
        self.news.append(f"'{subscription}'{where} is refused: more than {most:,} partial matches")

    def drop(self, subscription: str, count: int) -> None:
        first = subscription not in self.dropped
        self.dropped[subscription] = self.dropped.get(subscription, 0) + count
        if first:
            self.news.append(f"'{subscription}' has too many partial matches: the oldest are dropped from now on")

    def tell(self) -> tuple[str, ...]:
        """What is new, once."""
        news, self.news = tuple(self.news), []
        return news

    def state(self) -> dict[str, Any]:
        return {"refused": [[name, key] for name, key in self.refused], "dropped": self.dropped}

    def restore(self, state: dict[str, Any]) -> None:
        self.refused = [(name, key) for name, key in state["refused"]]
        self.dropped = dict(state["dropped"])


# ── in a machine ──


def relieve_lane(stage: NfaExecutor, lane: int, position: int) -> None:
    """With the event at a position a lane has more instances than its limit. They may be of several subscriptions."""
    limits = stage.limits
    mine = stage.in_use
    mine = mine[stage.cells[mine, layout.RUN_LANE] == lane]
    over = [m for m, count in _by_member(stage, mine).items() if count > limits.lane]
    if over and limits.then == "drop":
        _drop_oldest(stage, mine, max(1, len(mine) // 4))
    elif over:
        _refuse(stage, lane, over, limits.lane, position)
    # Where they are of several, or shared with others, there may be more before it is looked at again.
    left = int(stage.lanes[1][lane])
    stage.lanes[2][lane] = 2 * left if left > limits.lane else limits.lane


def relieve_engine(stage: NfaExecutor, position: int) -> None:
    """The engine has more instances than its limit, and this machine wants room for the event at a position."""
    used = stage.in_use
    if stage.limits.then == "drop":
        _drop_oldest(stage, used, max(1, len(used) // 4))
        return
    lanes, counts = np.unique(stage.cells[used, layout.RUN_LANE], return_counts=True)
    freed = 0
    for at in np.argsort(-counts, kind="stable").tolist():
        _refuse(stage, int(lanes[at]), _by_member(stage, used), stage.limits.engine, position)
        freed += int(counts[at])
        if 4 * freed >= len(used):
            break


def _by_member(stage: NfaExecutor, instances: Ints) -> dict[int, int]:
    """How many of some instances are of each subscription."""
    states, counts = np.unique(stage.cells[instances, layout.RUN_STATE], return_counts=True)
    found: dict[int, int] = {}
    for state, count in zip(states.tolist(), counts.tolist(), strict=True):
        for member in stage.machine.members[state]:
            found[member] = found.get(member, 0) + count
    return found


def _refuse(stage: NfaExecutor, lane: int, members: Iterable[int], most: int, position: int) -> None:
    """From an event on some subscriptions are told nothing in a lane; what only they have there goes."""
    for member in members:
        if (member, lane) not in stage.refused:
            stage.refused[member, lane] = position
            stage.refusals.append((member, lane, most))
    gone = {m for m, where in stage.refused if where == lane}
    dead = np.array([bool(some) and some <= gone for some in stage.machine.members], np.bool_)
    mine = stage.in_use
    mine = mine[stage.cells[mine, layout.RUN_LANE] == lane]
    _remove(stage, mine[dead[stage.cells[mine, layout.RUN_STATE]]])
    if all(some <= gone for some in stage.machine.members):
        stage.lanes[1][lane] = -1  # the kernels pass it over


def _drop_oldest(stage: NfaExecutor, instances: Ints, count: int) -> None:
    oldest = instances[np.argsort(stage.cells[instances, layout.RUN_FIRST], kind="stable")[:count]]
    for member, lost in _by_member(stage, oldest).items():
        stage.dropped[member] = stage.dropped.get(member, 0) + lost
    _remove(stage, oldest)


def _remove(stage: NfaExecutor, instances: Ints) -> None:
    stage.cells[instances, layout.RUN_OVER] = layout.DEAD
    stage.sweep()
    stage.counters[layout.LONGEST] = max(0, int(stage.lanes[1].max()))
