"""Limits on partial matches and on memory, and what happens beyond them.

A pattern such as `a ; b` without WITHIN keeps every a for ever. So that it cannot exhaust memory, a subscription stops
in a lane where it has too many partial matches, with a warning, or drops the oldest of them and counts these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from foretell.arrays import Ints
from foretell.errors import InputError
from foretell.machine.exec.memory_size import bytes_of, default_budget, format_bytes
from foretell.machine.kernels import layout
from foretell.plan.losing_size import MOST_PATTERNS, MOST_TABLES, LosingLimits
from foretell.plan.nfa.automaton_size import MOST_EDGES
from foretell.storage.recorded_values import whole

if TYPE_CHECKING:
    from foretell.machine.exec.nfa_executor import NfaExecutor


Limit = Literal["lane", "engine", "memory"]

#: The keys of lanes, by their numbers.
Keys = Sequence[Mapping[str, Any]]

#: The lanes of a subscription that are named in warnings; the others are counted.
MOST_NAMED_LANES = 20

#: The stopped lanes of all subscriptions that are listed with their keys. Limits may stop very many.
MOST_LISTED_LANES = 10_000

#: What a listed lane takes.
_LISTED_LANE_BYTES = 600

#: In place of the id of an owner.
_TABLES = -1

#: With less memory no engine starts.
LEAST_MEMORY = 2**20


@dataclass(frozen=True)
class Limits:
    """At most so many partial matches of one subscription in one `lane`, and of all in the `engine`; at most so much
    `memory` for all that an engine holds, in bytes or as in "4 GiB". By default that is half of what the computer, the
    container or `ulimit` grants. The notifications of one call may take so many bytes as `results` says; where they are
    many, they are in temporary files. By default that is half of the free room there. A pattern whose automaton needs
    more `edges` than these, and two for each of its steps, is refused; so is a statement with LOSING that needs more
    `patterns`, or more `tables` of delays.

    `then` is what happens when there are more. "refuse": the subscription stops in that lane, from the event on that
    exceeded the limit. "drop": the oldest are dropped, a quarter at once; matches are then missing.

    >>> Limits(lane=10_000, memory="2 GiB", then="drop").memory
    2147483648
    """

    lane: int = 1_000_000
    engine: int = 10_000_000
    then: Literal["refuse", "drop"] = "refuse"
    memory: int | str | None = None
    results: int | str | None = None
    edges: int = MOST_EDGES
    patterns: int = MOST_PATTERNS
    tables: int = MOST_TABLES

    def __post_init__(self) -> None:
        for name in ("lane", "engine", "edges", "patterns", "tables"):
            number = getattr(self, name)
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                raise InputError("wrong-limit", f"limits: {name} must be a whole number from 1 on, not {number!r}")
        if self.then not in ("refuse", "drop"):
            raise InputError("wrong-limit", f"limits: then must be 'refuse' or 'drop', not {self.then!r}")
        for name in ("memory", "results"):
            object.__setattr__(self, name, _amount(name, getattr(self, name)))

    @property
    def budget(self) -> int:
        """The bytes that an engine may hold."""
        return default_budget() if self.memory is None else int(self.memory)

    @property
    def losing(self) -> LosingLimits:
        """Those of statements with LOSING."""
        return LosingLimits(self.patterns, self.tables)

    def shared_by(self, engines: int) -> Limits:
        """The same limits for each of several engines on one computer: they share the memory that nobody set."""
        return self if self.memory is not None else replace(self, memory=max(LEAST_MEMORY, self.budget // engines))

    def exceeded(self, limit: Limit) -> str:
        """How a message says that a limit is exceeded."""
        if limit == "memory":
            return f"over {format_bytes(self.budget)} of memory"
        return f"over {getattr(self, limit):,} partial matches"


def _amount(name: str, given: object) -> int | None:
    if given is None:
        return None
    amount = bytes_of(given) if isinstance(given, str) else given
    if isinstance(amount, int) and not isinstance(amount, bool) and amount >= LEAST_MEMORY:
        return amount
    message = f"limits: {name} must be a number of bytes or a text like '4 GiB', {format_bytes(LEAST_MEMORY)} or more"
    raise InputError("wrong-limit", f"{message}, not {given!r}")


@dataclass
class RunLedger:
    """In how many lanes the limits `stopped` each subscription, and how many of its runs they dropped. `refused` has
    the first of these lanes with their keys.

    `warnings` are those that the caller has not taken yet; `held` is how many runs each executor has, by its id, and
    `bytes` how much memory each store takes, by the id of its owner.
    """

    limits: Limits = field(default_factory=Limits)
    refused: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    stopped: Counter[str] = field(default_factory=Counter)
    dropped: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    held: dict[int, int] = field(default_factory=dict)
    bytes: dict[int, int] = field(default_factory=dict)
    _unwarned: Counter[tuple[str, Limit]] = field(default_factory=Counter)  # lanes stopped since warnings were taken

    def __post_init__(self) -> None:
        self._budget = self.limits.budget

    @property
    def remaining(self) -> int:
        """How many more runs the engine may have."""
        return self.limits.engine - sum(self.held.values())

    @property
    def remaining_bytes(self) -> int:
        """How much more memory the engine may take."""
        return self._budget - sum(self.bytes.values())

    def no_room(self, stores: Mapping[str, int]) -> InputError:
        """The error where events do not fit into the memory; `stores` has the bytes of what is held besides runs."""
        held = {**stores, "stopped lanes": self.bytes.get(id(self), 0), "tables": self.bytes.get(_TABLES, 0)}
        held["partial matches"] = sum(self.bytes.values()) - sum(held.values())
        largest = sorted((size, name) for name, size in held.items() if size > 0)[::-1][:3]
        parts = ", ".join(f"{name} {format_bytes(size)}" for size, name in largest)
        return InputError(
            "memory-limit",
            f"the engine has no memory for these events: Limits.memory is {format_bytes(self.limits.budget)} ({parts})",
            hint="push fewer events at once, add WITHIN, or restore a snapshot with a higher Limits.memory",
        )

    def account_tables(self, size: int) -> None:
        """FOR EACH tables take so much memory, besides what executors have of their rows."""
        self.bytes[_TABLES] = size

    def forget(self, owner: object) -> None:
        """An owner of runs is no more."""
        self.held.pop(id(owner), None)
        self.bytes.pop(id(owner), None)

    def refuse(self, subscription: str, lanes: Sequence[int] | Ints, keys: Keys, limit: Limit) -> None:
        """A limit has stopped a subscription in some lanes, which have these keys."""
        self.stopped[subscription] += len(lanes)
        named = max(0, MOST_NAMED_LANES - self._unwarned[subscription, limit])
        listed = max(0, MOST_LISTED_LANES - len(self.refused))
        self._unwarned[subscription, limit] += len(lanes)
        for at, lane in enumerate(lanes[: max(named, listed)]):
            key = dict(keys[int(lane)])
            if at < listed:
                self.refused.append((subscription, key))
            if at < named:
                self._warn_stopped(subscription, f" in lane {key}" if key else "", limit)
        self._count_refused()

    def _warn_stopped(self, subscription: str, where: str, limit: Limit) -> None:
        exceeded = self.limits.exceeded(limit)
        self.warnings.append(f"'{subscription}' stopped{where}: {exceeded}; add WITHIN or raise Limits.{limit}")

    def _count_refused(self) -> None:
        self.bytes[id(self)] = _LISTED_LANE_BYTES * len(self.refused)

    def drop(self, subscription: str, count: int, limit: Limit) -> None:
        first = subscription not in self.dropped
        self.dropped[subscription] = self.dropped.get(subscription, 0) + count
        if first:
            self.warnings.append(
                f"'{subscription}' drops its oldest partial matches: {self.limits.exceeded(limit)}; "
                f"add WITHIN or raise Limits.{limit}"
            )

    def take_warnings(self) -> tuple[str, ...]:
        """The warnings since the last call."""
        if not self._unwarned and not self.warnings:
            return ()
        for (subscription, limit), lanes in self._unwarned.items():
            if lanes > MOST_NAMED_LANES:
                self._warn_stopped(subscription, f" in {lanes - MOST_NAMED_LANES:,} more lanes", limit)
        self._unwarned.clear()
        warnings, self.warnings = tuple(self.warnings), []
        return warnings

    def state(self) -> dict[str, Any]:
        refused = [[name, key] for name, key in self.refused]
        return {"refused": refused, "stopped": dict(self.stopped), "dropped": self.dropped}

    def restore(self, state: dict[str, Any]) -> None:
        refused = [(str(name), dict(key)) for name, key in state["refused"]]
        # Early snapshots list all lanes.
        stopped = state["stopped"] if "stopped" in state else Counter(name for name, _ in refused)
        self.stopped = Counter({str(name): whole(count, "the stopped lanes") for name, count in stopped.items()})
        self.refused = refused[:MOST_LISTED_LANES]
        self._count_refused()
        self.dropped = {str(name): whole(count, "the dropped matches") for name, count in state["dropped"].items()}


# ── the limits of an NFA ──


def enforce_lane_limit(executor: NfaExecutor, lane: int, position: int) -> None:
    """With the event at a position a lane has more runs than its limit. They may be of several subscriptions."""
    limits, pool = executor.ledger.limits, executor.pool
    executor.sweep()  # those whose windows have passed do not count
    runs = _in_lane(executor, lane)
    over = [member for member, count in _by_member(executor, runs).items() if count > limits.lane]
    if over and limits.then == "drop":
        _drop_oldest(executor, runs, max(1, len(runs) // 4), "lane")
    elif over:
        _refuse(executor, np.array([lane]), over, "lane", position)
    # Where runs are of several subscriptions, or shared, there may be more before they are counted again.
    left = int(pool.lanes.lengths[lane])
    pool.lanes.limits[lane] = 2 * left if left > limits.lane else limits.lane


def enforce_engine_limit(executor: NfaExecutor, position: int, limit: Limit = "engine") -> None:
    """The engine has more runs or bytes than its limit, and this executor needs room for the event at a position."""
    pool, limits = executor.pool, executor.ledger.limits
    runs = pool.in_use
    if limits.then == "drop":
        _drop_oldest(executor, runs, max(1, len(runs) // 4), limit)
        return
    lanes, counts = np.unique(pool.cells[runs, layout.RUN_LANE], return_counts=True)
    fullest = np.argsort(-counts, kind="stable")
    enough = 1 + int(np.searchsorted(4 * np.cumsum(counts[fullest]), len(runs)))
    _refuse(executor, lanes[fullest[:enough]], _by_member(executor, runs), limit, position)


def _in_lane(executor: NfaExecutor, lane: int) -> Ints:
    runs = executor.pool.in_use
    in_lane: Ints = runs[executor.pool.cells[runs, layout.RUN_LANE] == lane]
    return in_lane


def _by_member(executor: NfaExecutor, runs: Ints) -> dict[int, int]:
    """How many of some runs belong to each subscription."""
    states, counts = np.unique(executor.pool.cells[runs, layout.RUN_STATE], return_counts=True)
    totals: dict[int, int] = {}
    for state, count in zip(states.tolist(), counts.tolist(), strict=True):
        for member in executor.nfa.members[state]:
            totals[member] = totals.get(member, 0) + count
    return totals


def _refuse(executor: NfaExecutor, lanes: Ints, members: Iterable[int], limit: Limit, position: int) -> None:
    """Stop some subscriptions in some lanes from an event on; free the runs there that only they have."""
    stopped, pool = executor.stopped, executor.pool
    for member in members:
        new = stopped.stop(member, lanes, position)
        if len(new):
            executor.refusals.append((member, new, limit))
    chosen = np.zeros(max(len(pool.lanes.lengths), int(lanes.max()) + 1), np.bool_)
    chosen[lanes] = True
    runs = pool.in_use
    runs = runs[chosen[pool.cells[runs, layout.RUN_LANE]]]
    states, lane_of = pool.cells[runs, layout.RUN_STATE], pool.cells[runs, layout.RUN_LANE]
    dead = np.zeros(len(runs), np.bool_)
    for state in np.unique(states).tolist():
        own, at = executor.nfa.members[state], np.flatnonzero(states == state)
        dead[at] = bool(own) and stopped.all_stopped(own, lane_of[at])
    _remove(executor, runs[dead])
    everybody = {member for own in executor.nfa.members for member in own}
    pool.lanes.lengths[lanes[stopped.all_stopped(everybody, lanes)]] = -1  # the kernels pass them over


def _drop_oldest(executor: NfaExecutor, runs: Ints, count: int, limit: Limit) -> None:
    oldest = runs[np.argsort(executor.pool.cells[runs, layout.RUN_FIRST], kind="stable")[:count]]
    for member, lost in _by_member(executor, oldest).items():
        executor.dropped[member] = executor.dropped.get(member, 0) + lost
    executor.dropped_by = limit
    _remove(executor, oldest)


def _remove(executor: NfaExecutor, runs: Ints) -> None:
    executor.pool.remove(runs, 0 if executor.now is None else executor.now)
