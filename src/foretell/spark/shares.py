"""Which statements run where: a share is what some statements need to run by themselves, whole or in shards.

Statements with the same FROM and PER are one share, in as many shards as there are; each lane is in one of them.
Without PER a share is one task. Statements that read others run with them, in shards too where the key goes with the
results (chains.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from uuid import uuid4

from foretell.events.read import Declaration, LoadedTable
from foretell.events.types import Schema, Type
from foretell.language.checked import Checked, CheckedSubscription
from foretell.language.subscriptions import Subscriptions
from foretell.language.subscriptions import parse as parse_text
from foretell.machine.feed import needed
from foretell.machine.watching import NOBODY, Watching
from foretell.spark.chains import chains, keeps_its_key

#: So many bytes of packed events a task holds before it puts them down in files.
MEMORY = 1 << 30


@dataclass(frozen=True)
class Share:
    """Statements with the tasks that run them, from `first` on; `columns` are those that they need of each stream.

    `per` has the attributes that lanes are told apart by, in the type in which all streams of the share have them.
    """

    statements: frozenset[str]
    columns: Mapping[str, tuple[str, ...]]
    per: Mapping[str, Type]
    first: int
    tasks: int


# The plans that this worker process has had, by their names: what a plan has worked out it keeps for the next task.
_plans: dict[str, Plan] = {}
_KEPT = 4


@dataclass(frozen=True)
class Sent:
    """A plan on its way to the tasks. A worker process runs many of them, and goes on with the first that came."""

    name: str
    given: Plan

    @property
    def plan(self) -> Plan:
        while self.name not in _plans and len(_plans) >= _KEPT:
            del _plans[next(iter(_plans))]
        return _plans.setdefault(self.name, self.given)


@dataclass(frozen=True)
class Plan:
    """What every task is told: the statements as text, to be checked there again, and what is known of the data.

    Every event of the streams `named` has an ID. `watching` makes the forecasts.
    """

    text: str
    schemas: Mapping[str, Schema]
    known: Mapping[str, Schema]
    tables: Mapping[str, LoadedTable]
    until: int | float | None
    shares: tuple[Share, ...]
    memory: int
    named: frozenset[str]
    watching: Watching = NOBODY
    strict: bool = False

    def sent(self) -> Sent:
        return Sent(uuid4().hex, self)

    @property
    def tasks(self) -> int:
        return sum(share.tasks for share in self.shares)

    def share_of(self, task: int) -> Share:
        return next(share for share in self.shares if task < share.first + share.tasks)

    def needed(self, stream: str) -> frozenset[str]:
        """The columns that some statement needs of a stream."""
        return frozenset(name for share in self.shares for name in share.columns.get(stream, ()))

    def declaration(self, stream: str) -> Declaration:
        """With every type settled, so that each task reads its part of the events as all others do."""
        s = self.schemas[stream]
        assert s.time is not None
        return Declaration(stream, s.attributes, s.time, s.id, s.order, s.simultaneous, s.lateness)

    @cached_property
    def _checked(self) -> Checked:
        columns = {name: table.types for name, table in self.tables.items()}
        return parse_text(self.text).checked(self.known, columns)

    def statements(self, share: Share) -> list[CheckedSubscription]:
        return [s for s in self.checked(share).statements if isinstance(s, CheckedSubscription)]

    def checked(self, share: Share) -> Checked:
        """The statements of a share, each of the rank that it has among all."""
        mine = tuple(s for s in self._checked.statements if s.name in share.statements)
        return Checked(self._checked.streams, mine, self._checked.ranks)


def plan(
    program: Subscriptions,
    checked: Checked,
    schemas: Mapping[str, Schema],
    known: Mapping[str, Schema],
    tables: Mapping[str, LoadedTable],
    until: int | float | None,
    *,
    named: frozenset[str],
    shards: int,
    cores: int,
    watching: Watching = NOBODY,
) -> Plan:
    statements = [s for s in checked.statements if isinstance(s, CheckedSubscription)]
    shares: list[Share] = []
    for together in _together(statements, cores):
        first = shares[-1].first + shares[-1].tasks if shares else 0
        shares.append(_share(together, schemas, first, shards, watching))
    return Plan(program.text, schemas, known, tables, until, tuple(shares), MEMORY, named, watching)


def _share(
    together: Sequence[CheckedSubscription], schemas: Mapping[str, Schema], first: int, shards: int, watching: Watching
) -> Share:
    wanted: dict[str, set[str]] = {}
    for one in together:
        for stream in map(str, one.tree.streams):
            wanted.setdefault(stream, set()).update(needed(one) | watching.attributes(one))
    columns = {name: _columns(schemas[name], names) for name, names in wanted.items() if name in schemas}
    alone = not together[0].tree.per or (any(name not in schemas for name in wanted) and not keeps_its_key(together))
    per = {} if alone else {str(n): together[0].attributes.get(n, Type.STRING) for n in together[0].tree.per}
    return Share(frozenset(one.name for one in together), columns, per, first, 1 if alone else shards)


def _columns(schema: Schema, names: Iterable[str]) -> tuple[str, ...]:
    parts = {schema.time, schema.id, schema.order}
    wanted = parts.union(names)
    return tuple(name for name in schema.attributes if name in wanted)


def _together(statements: Sequence[CheckedSubscription], cores: int) -> list[list[CheckedSubscription]]:
    """What runs in one share."""
    every = chains(statements)
    found = [chain for chain in every if len(chain) > 1]
    alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[CheckedSubscription]] = {}
    for (one,) in (chain for chain in every if len(chain) == 1):
        alike.setdefault((one.tree.streams, one.tree.per), []).append(one)
    for (_, per), some in alike.items():
        parts = 1 if per else min(cores, len(some))
        found += [some[part::parts] for part in range(parts)]
    return found
