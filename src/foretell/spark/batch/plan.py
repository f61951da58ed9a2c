"""Batch plan: the statements with their groups, and all that tasks need to know of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import uuid4

from foretell.arguments.period import ALL_TIME, Period
from foretell.engine.planning import delays_of, start_counting, start_runtime
from foretell.events.delays.delay_model import DelayModel
from foretell.events.ingest.reader import StreamDeclaration
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Schema
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.language.subscriptions import parse
from foretell.machine.exec.limits import Limits
from foretell.machine.observe.observer import NO_OBSERVERS, ObserverFactory
from foretell.machine.runtime import MatchRuntime
from foretell.spark.partitioning.statement_groups import StatementGroup
from foretell.spark.partitioning.task_limits import task_limits
from foretell.spark.pushdown.row_bounds import bounded_subscriptions

if TYPE_CHECKING:
    from foretell.recover.gap_counter import GapCountStage

#: Bytes of encoded events that a task holds in memory before it spills them to files.
MEMORY_BYTES = 1 << 30
#: Shards for each core: lanes differ in length, and a core that is done with a short shard takes the next.
SHARDS_PER_CORE = 4

# The plans of this worker process by id, the latest few: a plan caches the checked statements for the next task.
_plans: dict[str, BatchPlan] = {}
_CACHED_PLANS = 4


@dataclass(frozen=True)
class PlanHandle:
    """A plan as the tasks receive it. A worker process runs many tasks and reuses the first copy of a plan."""

    id: str
    shipped: BatchPlan

    @property
    def plan(self) -> BatchPlan:
        while self.id not in _plans and len(_plans) >= _CACHED_PLANS:
            del _plans[next(iter(_plans))]
        return _plans.setdefault(self.id, self.shipped)


@dataclass(frozen=True)
class BatchPlan:
    """The statements as text, which every worker checks again, and what the driver knows of the data.

    `schemas` are those that tasks read events with; `known` holds only what the data or declarations show, for the
    check. Every event of the streams `identified` has an ID. `declarations` are those of the statements and the caller.
    `observers` make the forecasts, `delays` are for estimates. Events outside of `period` are left out. `limits` are
    those of each task.
    """

    text: str
    schemas: Mapping[str, Schema]
    known: Mapping[str, Schema]
    tables: Mapping[str, TemplateTable]
    until: int | float | None
    groups: tuple[StatementGroup, ...]
    memory: int
    identified: frozenset[str]
    declarations: Mapping[str, StreamDeclaration]
    observers: ObserverFactory = NO_OBSERVERS
    strict: bool = False
    period: Period = ALL_TIME
    limits: Limits | None = None
    delays: Mapping[str, DelayModel] = field(default_factory=dict)

    def handle(self) -> PlanHandle:
        return PlanHandle(uuid4().hex, self)

    @property
    def shards(self) -> int:
        """The number of shards of all groups; each is a task."""
        return sum(len(group.shards) for group in self.groups)

    def group_of(self, shard: int) -> StatementGroup:
        return next(group for group in self.groups if shard in group.shards)

    def needed(self, stream: str) -> frozenset[str]:
        """Return the columns of a stream that any statement needs, and those that they are derived from."""
        needed = frozenset(name for group in self.groups for name in group.columns.get(stream, ()))
        return needed | self.declarations[stream].derived.inputs(needed)

    def declaration(self, stream: str) -> StreamDeclaration:
        """Return a declaration with all types settled, so that every task reads its events with the same ones."""
        return self.declarations[stream].settled(self.schemas[stream])

    @cached_property
    def _checked(self) -> CheckedProgram:
        columns = {name: table.types for name, table in self.tables.items()}
        return parse(self.text).checked(self.known, columns)

    @cached_property
    def statements(self) -> list[CheckedSubscription]:
        return bounded_subscriptions(self._checked.statements, self.tables)

    def statements_of(self, group: StatementGroup) -> list[CheckedSubscription]:
        return [s for s in self.statements if s.name in group.statements]

    def checked(self, group: StatementGroup) -> CheckedProgram:
        """Return the program of a group; each statement keeps the rank that it has among all."""
        statements = tuple(s for s in self._checked.statements if s.name in group.statements)
        return CheckedProgram(self._checked.streams, statements, self._checked.ranks)

    def runtime(self, group: StatementGroup, observers: ObserverFactory) -> MatchRuntime:
        """Return a runtime of a group's statements, with the rows of FOR EACH tables that the group runs."""
        delays, limits = delays_of(self.delays), task_limits(self.limits)
        return start_runtime(self.checked(group), self._tables_of(group), limits, observers, delays)

    def counting_runtime(
        self, group: StatementGroup, *, complete: bool
    ) -> tuple[MatchRuntime, Sequence[GapCountStage]]:
        """Return a runtime that counts the gaps of a group's statements with LOSING, and the stages that do."""
        limits = task_limits(self.limits)
        return start_counting(self.checked(group), self._tables_of(group), limits, complete=complete)

    def _tables_of(self, group: StatementGroup) -> dict[str, TemplateTable]:
        return {name: group.table_slice.of(table) for name, table in self.tables.items()}
