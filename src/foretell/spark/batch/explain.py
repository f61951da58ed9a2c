"""Explain a batch on Spark: how statements are divided over tasks, and what goes through the shuffle.

It needs no Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType

import numpy as np

from foretell.events.ingest.reader import EventBatch
from foretell.events.ingest.template_tables import TemplateTable
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.language.subscriptions import Subscriptions
from foretell.machine.observe.observer import NO_OBSERVERS
from foretell.plan.strategy import serves_all_rows
from foretell.spark.batch.plan import SHARDS_PER_CORE
from foretell.spark.partitioning.statement_groups import ROWS_PER_TASK, StatementGroup, batch_groups
from foretell.spark.pushdown.predicate import TextDialect, pushed_down_predicate
from foretell.spark.pushdown.quenching import may_matter, why_all_matter
from foretell.spark.pushdown.row_bounds import bounded_subscriptions


@dataclass(frozen=True)
class ExplainedShuffle:
    """A stream in the shuffle: its `columns` and the columns `cut`.

    If events are `dropped`, `pushed` is the pushed-down predicate. `why` says why there is none, or why all events go.
    Only where they are `named` by their IDs, no ID may be NULL. `counted` says how many events of a sample go through
    the shuffle, and how many there are.
    """

    stream: str
    columns: tuple[str, ...]
    cut: tuple[str, ...]
    dropped: bool
    pushed: str | None
    why: str | None
    named: bool = True
    counted: tuple[int, int] | None = None


@dataclass(frozen=True)
class SparkExplanation:
    """`runs` says of each statement in how many tasks it runs, and why."""

    runs: dict[str, str]
    streams: tuple[ExplainedShuffle, ...]

    def as_dict(self) -> dict[str, object]:
        return {"on Spark": asdict(self)}

    def as_text(self) -> str:
        return "\n".join(
            ["on Spark", *(f"  {name}: {text}" for name, text in self.runs.items()), *self._stream_lines()]
        )

    def _stream_lines(self) -> Iterator[str]:
        for shuffle in self.streams:
            cut = f" (cut: {', '.join(shuffle.cut)})" if shuffle.cut else ""
            yield f"  {shuffle.stream}: shuffled columns: {', '.join(shuffle.columns)}{cut}"
            if not shuffle.dropped:
                yield f"    shuffled events: all ({shuffle.why})"
                continue
            named = ", if no ID is NULL" if shuffle.named else ""
            counted = "" if shuffle.counted is None else ": {:,} of {:,}".format(*shuffle.counted)
            yield f"    shuffled events: those that some step accepts{named}{counted}"
            yield f"    pushed down: {shuffle.pushed or f'nothing ({shuffle.why})'}"


def explain_on_spark(
    program: Subscriptions,
    checked: CheckedProgram,
    tables: Mapping[str, TemplateTable],
    events: Mapping[str, EventBatch] = MappingProxyType({}),
) -> SparkExplanation:
    """Explain statements without their data: it assumes that no ID is NULL. On `events` it counts which are dropped."""
    statements = bounded_subscriptions(checked.statements, tables)
    tables = {str(s.tree.table): TemplateTable.empty() for s in statements if s.tree.table is not None} | dict(tables)
    schemas = {name: schema for name, schema in checked.streams.items() if name in program.sources}
    identified = frozenset(name for name, schema in schemas.items() if schema.id is not None)
    groups = batch_groups(statements, schemas, tables, NO_OBSERVERS, shards=SHARDS_PER_CORE, cores=1)
    runs = {s.name: _tasks(s, group) for group in groups for s in statements if s.name in group.statements}
    streams = []
    for name, schema in schemas.items():
        readers = [s for s in statements if name in map(str, s.tree.streams)]
        needed = {column for group in groups for column in group.columns.get(name, ())}
        columns = tuple(n for n in schema.attributes if n in needed)
        cut = tuple(n for n in schema.attributes if n not in needed)
        reasons = [f"{s.name}: {why}" for s in readers if (why := why_all_matter(s, identified)) is not None]
        derived = [str(item.name) for item in checked.derived.get(name, ())]
        pushed = pushed_down_predicate(name, schema.attributes, statements, identified, TextDialect(), derived)
        why = next(iter(reasons), None) or (None if pushed else "not translatable")
        named = not all(reader.correlated for reader in readers)
        dropped = bool(readers) and not reasons
        counted = _counted(events[name], statements, identified) if dropped and name in events else None
        streams.append(ExplainedShuffle(name, columns, cut, dropped, pushed, why, named, counted))
    return SparkExplanation(runs, tuple(streams))


def _counted(
    batch: EventBatch, statements: Sequence[CheckedSubscription], identified: Collection[str]
) -> tuple[int, int]:
    """Return how many events of a stream some statement may use, and how many there are."""
    kept, count = may_matter(batch, statements, identified), batch.table.num_rows
    return (count if kept is None else int(np.count_nonzero(kept))), count


def _tasks(statement: CheckedSubscription, group: StatementGroup) -> str:
    others = ", ".join(name for name in group.statements if name != statement.name)
    if group.keys:
        return f"{SHARDS_PER_CORE} shards per core, by {', '.join(group.keys)}{f', with {others}' if others else ''}"
    if statement.tree.per:
        return f"one task, with {others}: their results do not carry the partition key"
    if statement.tree.table is not None and statement.tree.forecast is None and not serves_all_rows(statement):
        table = statement.tree.table
        return f"one task for every {ROWS_PER_TASK} rows of {table}, at most one per core, each with all events"
    return "one task with all events; statements without PER are spread over the cores"
