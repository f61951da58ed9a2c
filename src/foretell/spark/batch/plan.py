"""Which statements of a batch run where: a share is what some statements need to run by themselves, whole or in shards.

Statements with the same FROM and PER are one share, in as many shards as there are; each lane is in one of them.
Statements that read others run with them, in shards too where the key goes with the results (chains.py). Without PER
every task has all events: statements are spread over as many as there are cores, and so are the rows of a FOR EACH
table, where each has a machine of its own and they are many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from uuid import uuid4

from foretell.events.ingest.reader import StreamDeclaration
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Schema
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.language.subscriptions import Subscriptions
from foretell.language.subscriptions import parse as parse_text
from foretell.machine.observe.observer import NO_OBSERVERS, ObserverFactory
from foretell.plan.match_plan import attributes_read_by
from foretell.plan.strategy import serves_all_rows
from foretell.spark.partitioning import statement_groups
from foretell.spark.partitioning.statement_chains import (
    completed_by_time,
    partition_keys,
    read_within,
    statement_chains,
)

#: So many bytes of packed events a task holds before it puts them down in files.
MEMORY = 1 << 30
#: Shards for each core: lanes are not alike, and a core that has done a short one takes the next.
SHARDS_PER_CORE = 4
#: Rows of a FOR EACH table, each with a machine of its own, that are worth giving all events to another task. Measured:
#: an event more costs a task 0.3 microseconds, and a machine 0.04 for each event.
ROWS_PER_TASK = 16


@dataclass(frozen=True, kw_only=True)
class Share(statement_groups.StatementGroup):
    """Statements with the numbers of the tasks that run them; `columns` are those that they need of each stream.

    Where the rows of tables are spread, it has every one of so many `rows`, from a number on.
    """

    columns: Mapping[str, tuple[str, ...]]
    rows: tuple[int, int] = (0, 1)

    @property
    def first(self) -> int:
        return self.shards[0]

    @property
    def tasks(self) -> int:
        return len(self.shards)


# The plans that this worker process has had, by their names: what a plan has worked out it keeps for the next task.
_plans: dict[str, BatchPlan] = {}
_KEPT = 4


@dataclass(frozen=True)
class PlanHandle:
    """A plan on its way to the tasks. A worker process runs many of them, and goes on with the first that came."""

    name: str
    given: BatchPlan

    @property
    def plan(self) -> BatchPlan:
        while self.name not in _plans and len(_plans) >= _KEPT:
            del _plans[next(iter(_plans))]
        return _plans.setdefault(self.name, self.given)


@dataclass(frozen=True)
class BatchPlan:
    """What every task is told: the statements as text, to be checked there again, and what is known of the data.

    Every event of the streams `named` has an ID. `watching` makes the forecasts.
    """

    text: str
    schemas: Mapping[str, Schema]
    known: Mapping[str, Schema]
    tables: Mapping[str, TemplateTable]
    until: int | float | None
    shares: tuple[Share, ...]
    memory: int
    named: frozenset[str]
    watching: ObserverFactory = NO_OBSERVERS
    strict: bool = False

    def sent(self) -> PlanHandle:
        return PlanHandle(uuid4().hex, self)

    @property
    def tasks(self) -> int:
        return sum(share.tasks for share in self.shares)

    def share_of(self, task: int) -> Share:
        return next(share for share in self.shares if task in share.shards)

    def tables_of(self, share: Share) -> Mapping[str, TemplateTable]:
        """With those of their rows that a share has."""
        first, step = share.rows
        return {name: replace(table, rows=table.rows[first::step]) for name, table in self.tables.items()}

    def needed(self, stream: str) -> frozenset[str]:
        """The columns that some statement needs of a stream."""
        return frozenset(name for share in self.shares for name in share.columns.get(stream, ()))

    def declaration(self, stream: str) -> StreamDeclaration:
        """With every type settled, so that each task reads its part of the events as all others do."""
        s = self.schemas[stream]
        assert s.time is not None
        return StreamDeclaration(stream, s.attributes, s.time, s.id, s.order, s.simultaneous, s.lateness)

    @cached_property
    def _checked(self) -> CheckedProgram:
        columns = {name: table.types for name, table in self.tables.items()}
        return parse_text(self.text).checked(self.known, columns)

    @cached_property
    def statements(self) -> list[CheckedSubscription]:
        return [s for s in self._checked.statements if isinstance(s, CheckedSubscription)]

    def statements_of(self, share: Share) -> list[CheckedSubscription]:
        return [s for s in self.statements if s.name in share.statements]

    def checked(self, share: Share) -> CheckedProgram:
        """The statements of a share, each of the rank that it has among all."""
        mine = tuple(s for s in self._checked.statements if s.name in share.statements)
        return CheckedProgram(self._checked.streams, mine, self._checked.ranks)


def plan(
    program: Subscriptions,
    checked: CheckedProgram,
    schemas: Mapping[str, Schema],
    known: Mapping[str, Schema],
    tables: Mapping[str, TemplateTable],
    until: int | float | None,
    *,
    named: frozenset[str],
    shards: int,
    cores: int,
    watching: ObserverFactory = NO_OBSERVERS,
) -> BatchPlan:
    statements = [s for s in checked.statements if isinstance(s, CheckedSubscription)]
    shares: list[Share] = []
    for together, keys, rows in _together(statements, tables, cores):
        first = shares[-1].shards[-1] + 1 if shares else 0
        tasks = tuple(range(first, first + (shards if keys else 1)))
        columns = _columns(together, schemas, watching)
        names = tuple(one.name for one in together)
        shares.append(Share(keys, names, tuple(columns), tasks, columns=columns, rows=rows))
    return BatchPlan(program.text, schemas, known, tables, until, tuple(shares), MEMORY, named, watching)


def _columns(
    together: Sequence[CheckedSubscription], schemas: Mapping[str, Schema], watching: ObserverFactory
) -> dict[str, tuple[str, ...]]:
    """What statements need of each stream."""
    wanted: dict[str, set[str]] = {}
    for one in together:
        for stream in map(str, one.tree.streams):
            wanted.setdefault(stream, set()).update(attributes_read_by(one) | watching.attributes(one))
    return {name: _in_order(schemas[name], names) for name, names in wanted.items() if name in schemas}


def _in_order(schema: Schema, names: Iterable[str]) -> tuple[str, ...]:
    wanted = {schema.time, schema.id, schema.order}.union(names)
    return tuple(name for name in schema.attributes if name in wanted)


def _together(
    statements: Sequence[CheckedSubscription], tables: Mapping[str, TemplateTable], cores: int
) -> Iterator[tuple[list[CheckedSubscription], tuple[str, ...], tuple[int, int]]]:
    """What runs in one share, what it is in shards by, and which of so many rows it has."""
    by_name = {one.name: one for one in statements}
    every = [[by_name[str(one.name)] for one in chain] for chain in statement_chains(one.tree for one in statements)]
    for chain in (chain for chain in every if len(chain) > 1):
        yield chain, _keys(chain), (0, 1)
    alike: dict[tuple[tuple[str, ...], tuple[str, ...], int], list[CheckedSubscription]] = {}
    for one in (chain[0] for chain in every if len(chain) == 1):
        alike.setdefault((one.tree.streams, one.tree.per, template_splits(one, tables, cores)), []).append(one)
    for (_, _, parts), some in alike.items():
        keys = _keys(some[:1])
        if parts > 1:
            yield from ((some, keys, (part, parts)) for part in range(parts))
        else:
            apart = 1 if keys else min(cores, len(some))
            yield from ((some[part::apart], keys, (0, 1)) for part in range(apart))


def template_splits(statement: CheckedSubscription, tables: Mapping[str, TemplateTable], cores: int) -> int:
    """Over how many tasks the rows of a table are spread."""
    tree = statement.tree
    if tree.table is None or tree.per or tree.forecast is not None:  # the rows of one learn from one another
        return 1
    table = tables[tree.table]
    return 1 if serves_all_rows(statement, table.types) else max(1, min(cores, len(table.rows) // ROWS_PER_TASK))


def _keys(chain: Sequence[CheckedSubscription]) -> tuple[str, ...]:
    """What the events of a chain are dealt out by. A result that only time completes has no event of its lane to stand
    by among the results of all lanes, so where another statement reads such results the chain runs whole."""
    by_name = {one.name: one for one in chain}
    read = [by_name[str(one.name)] for one in read_within([one.tree for one in chain])]
    whole = any(one.tree.table is not None or completed_by_time(one.pattern) for one in read)
    return () if whole else partition_keys([one.tree for one in chain])
