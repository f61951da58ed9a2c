"""Statement groups: which statements run together, in which shards, and what they need of each stream.

Streams group statements by their partition keys alone, and statements without PER into one group of a single shard. So
a statement with another PER adds a group and leaves the state of the others where it is.

Batches have no state to keep in place and divide further. Statements with the same FROM and PER are a group, in as many
shards as there are. Without PER every task has all events: statements are spread over as many tasks as there are cores,
and so are the rows of a FOR EACH table, if they are many and each runs an NFA of its own.

In both, statements that read one another's results are in one group (statement_chains.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from foretell.events.ingest.reader import EventBatch, StreamDeclaration
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Schema
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.subscriptions import Subscriptions, of_program
from foretell.machine.observe.observer import ObserverFactory
from foretell.plan.match_plan import attributes_read_by
from foretell.plan.strategy import serves_all_rows
from foretell.spark.partitioning.hash_partitioner import hash_partition, split_by_partition
from foretell.spark.partitioning.shard_ids import shard_ids
from foretell.spark.partitioning.statement_chains import (
    ReadingStatement,
    completed_by_time,
    partition_keys,
    read_within,
    statement_chains,
)

#: Rows of a FOR EACH table, each with an NFA of its own, that justify sending all events to another task. Measured: an
#: additional event costs a task 0.3 microseconds, and an NFA 0.04 for each event.
ROWS_PER_TASK = 16


@dataclass(frozen=True)
class TableSlice:
    """The rows of FOR EACH tables that a group runs: every `count`th, from `number` on."""

    number: int = 0
    count: int = 1

    def of(self, table: TemplateTable) -> TemplateTable:
        return table if self.count == 1 else table.take(np.arange(self.number, len(table), self.count))


@dataclass(frozen=True, kw_only=True)
class StatementGroup:
    """Statements that run together, in the shards whose ids are `shards`.

    The shuffle partitions events by `keys` and carries `columns` of each stream. `tables` names the FOR EACH tables.
    `text` is the program that a stream's engines run: the statements, and the STREAM statements of all streams, since
    their time is common.
    """

    keys: tuple[str, ...]
    statements: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]
    shards: tuple[int, ...]
    tables: tuple[str, ...] = ()
    table_slice: TableSlice = TableSlice()
    text: str = ""

    @property
    def name(self) -> str:
        return _group_name(self.keys)

    def partition(self, batch: EventBatch, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Yield the rows of `table`, one for each event of the batch, by the id of their shard."""
        partitions = len(self.shards)
        for number, rows in split_by_partition(table, hash_partition(batch, self.keys, partitions), partitions):
            yield self.shards[number], rows


def quarantine_shards(groups: Sequence[StatementGroup]) -> dict[str, int]:
    """Return for each stream the shard that reports its malformed events: the first that reads it."""
    shard_of: dict[str, int] = {}
    for group in groups:
        for stream in group.columns:
            shard_of.setdefault(stream, group.shards[0])
    return shard_of


# ── streams ──


def stream_groups(
    program: Subscriptions, declarations: Mapping[str, StreamDeclaration], shards: int
) -> tuple[StatementGroup, ...]:
    """Return the groups of a stream's statements, in the order of their first statements."""
    statements = [s for s in program.program.statements if isinstance(s, tree.Subscription | tree.Correlator)]
    by_keys: dict[tuple[str, ...], list[ReadingStatement]] = {}
    for chain in statement_chains(statements):
        by_keys.setdefault(partition_keys(chain), []).extend(chain)
    order = {str(s.name): number for number, s in enumerate(program.program.statements)}
    return tuple(
        _stream_group(keys, sorted(members, key=lambda s: order[str(s.name)]), program, declarations, shards)
        for keys, members in by_keys.items()
    )


def _stream_group(
    keys: tuple[str, ...],
    statements: Sequence[ReadingStatement],
    program: Subscriptions,
    declarations: Mapping[str, StreamDeclaration],
    shards: int,
) -> StatementGroup:
    names = tuple(str(s.name) for s in statements)
    streams = dict.fromkeys(str(stream) for s in statements for stream in s.streams if str(stream) not in names)
    tables = dict.fromkeys(str(s.table) for s in statements if s.table)
    return StatementGroup(
        keys=keys,
        statements=names,
        # All columns: a statement that comes by the control stream may need any of them.
        columns={stream: tuple(declarations[stream].columns) for stream in streams},
        shards=shard_ids(_group_name(keys), shards if keys else 1),
        tables=tuple(tables),
        text=str(of_program(tree.Program((*program.declared.values(), *statements)))),
    )


def _group_name(keys: Iterable[str]) -> str:
    """Checkpoints have this name: it must stay the same."""
    return f"PER {', '.join(keys)}" if keys else "without PER"


# ── batches ──


def batch_groups(
    statements: Sequence[CheckedSubscription],
    schemas: Mapping[str, Schema],
    tables: Mapping[str, TemplateTable],
    observers: ObserverFactory,
    *,
    shards: int,
    cores: int,
) -> tuple[StatementGroup, ...]:
    """Return the groups of a batch's statements. Shard ids are the numbers of tasks, from 0 on."""
    groups: list[StatementGroup] = []
    for members, keys, table_slice in _batch_divisions(statements, tables, cores):
        first = groups[-1].shards[-1] + 1 if groups else 0
        groups.append(
            StatementGroup(
                keys=keys,
                statements=tuple(statement.name for statement in members),
                columns=_needed_columns(members, schemas, observers),
                shards=tuple(range(first, first + (shards if keys else 1))),
                table_slice=table_slice,
            )
        )
    return tuple(groups)


def _needed_columns(
    statements: Sequence[CheckedSubscription], schemas: Mapping[str, Schema], observers: ObserverFactory
) -> dict[str, tuple[str, ...]]:
    """Return the columns that statements need of each stream, in the schema's order."""
    names: dict[str, set[str]] = {}
    for statement in statements:
        for stream in map(str, statement.tree.streams):
            names.setdefault(stream, set()).update(attributes_read_by(statement) | observers.attributes(statement))
    columns = {}
    for stream, schema in ((stream, schemas[stream]) for stream in names if stream in schemas):
        wanted = {schema.time, schema.id, schema.order} | names[stream]
        columns[stream] = tuple(name for name in schema.attributes if name in wanted)
    return columns


def _batch_divisions(
    statements: Sequence[CheckedSubscription], tables: Mapping[str, TemplateTable], cores: int
) -> Iterator[tuple[list[CheckedSubscription], tuple[str, ...], TableSlice]]:
    """Yield the statements of each group, their partition keys, and their rows of FOR EACH tables."""
    by_name = {statement.name: statement for statement in statements}
    chains = [[by_name[str(s.name)] for s in chain] for chain in statement_chains(s.tree for s in statements)]
    for chain in chains:
        if len(chain) > 1:
            yield chain, batch_keys(chain), TableSlice()
    alike: dict[tuple[tuple[str, ...], tuple[str, ...], int], list[CheckedSubscription]] = {}
    for statement in (chain[0] for chain in chains if len(chain) == 1):
        slices = table_slices(statement, tables, cores)
        alike.setdefault((statement.tree.streams, statement.tree.per, slices), []).append(statement)
    for (_, _, slices), members in alike.items():
        keys = batch_keys(members[:1])
        if slices > 1:
            yield from ((members, keys, TableSlice(number, slices)) for number in range(slices))
        else:
            tasks = 1 if keys else min(cores, len(members))
            yield from ((members[task::tasks], keys, TableSlice()) for task in range(tasks))


def table_slices(statement: CheckedSubscription, tables: Mapping[str, TemplateTable], cores: int) -> int:
    """Return the number of tasks over which the rows of a statement's FOR EACH table are spread."""
    subscription = statement.tree
    # The rows of a statement with FORECAST learn from one another, so they stay together.
    if subscription.table is None or subscription.per or subscription.forecast is not None:
        return 1
    table = tables[subscription.table]
    return 1 if serves_all_rows(statement, table.types) else max(1, min(cores, len(table) // ROWS_PER_TASK))


def batch_keys(chain: Sequence[CheckedSubscription]) -> tuple[str, ...]:
    """Return the partition keys of a chain.

    A result that time alone completes has no event of its lane that would order it among the results of all lanes. If
    another statement reads such results, the chain runs in one shard.
    """
    by_name = {statement.name: statement for statement in chain}
    read = [by_name[str(s.name)] for s in read_within([statement.tree for statement in chain])]
    if any(statement.tree.table is not None or completed_by_time(statement.tree) for statement in read):
        return ()
    return partition_keys([statement.tree for statement in chain])
