"""What a batch on Spark will do with statements, in words: their shares, and what goes through the shuffle. No Spark is
needed to say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from foretell.events.ingest.template_tables import TemplateTable
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.language.subscriptions import Subscriptions
from foretell.plan.strategy import serves_all_rows
from foretell.spark.batch.plan import ROWS_PER_TASK, SHARDS_PER_CORE, Share, plan
from foretell.spark.pushdown.predicate import TextDialect, pushed_down_predicate
from foretell.spark.pushdown.quenching import why_all_matter


@dataclass(frozen=True)
class ExplainedStream:
    """Of a stream: the columns that go through the shuffle and those that are cut, and what an event must satisfy to go
    through it, as far as Spark's plan and Parquet's statistics can be asked; or why all do, or why none is asked."""

    stream: str
    columns: tuple[str, ...]
    cut: tuple[str, ...]
    dropped: bool
    pushed: str | None
    why: str | None


@dataclass(frozen=True)
class SparkExplanation:
    """`runs` says of each statement in how many tasks it runs, and why."""

    runs: dict[str, str]
    streams: tuple[ExplainedStream, ...]

    def as_dict(self) -> dict[str, object]:
        return {"on Spark": asdict(self)}

    def as_text(self) -> str:
        return "\n".join(
            ["on Spark", *(f"  {name}: {text}" for name, text in self.runs.items()), *self._stream_lines()]
        )

    def _stream_lines(self) -> Iterator[str]:
        for one in self.streams:
            cut = f"; cut: {', '.join(one.cut)}" if one.cut else ""
            yield f"  of {one.stream} through the shuffle: {', '.join(one.columns)}{cut}"
            if not one.dropped:
                yield f"    all events: {one.why}"
                continue
            yield "    only events that some step can take, if no ID is NULL"
            yield f"    Spark's plan and Parquet's statistics are asked for: {one.pushed or f'nothing, {one.why}'}"


def on_spark(program: Subscriptions, checked: CheckedProgram, tables: Mapping[str, TemplateTable]) -> SparkExplanation:
    """As far as the statements tell: every stream with an ID is taken to have no NULL there."""
    statements = [s for s in checked.statements if isinstance(s, CheckedSubscription)]
    tables = {str(s.tree.table): TemplateTable({}, []) for s in statements if s.tree.table is not None} | dict(tables)
    schemas = {name: schema for name, schema in checked.streams.items() if name in program.sources}
    named = frozenset(name for name, schema in schemas.items() if schema.id is not None)
    given = program, checked, schemas, schemas, tables, None
    planned = plan(*given, named=named, shards=SHARDS_PER_CORE, cores=1)
    runs = {
        one.name: _runs(one, share) for share in planned.shares for one in statements if one.name in share.statements
    }
    streams = []
    for name, schema in schemas.items():
        readers = [one for one in statements if name in map(str, one.tree.streams)]
        columns = tuple(n for n in schema.attributes if n in planned.needed(name))
        cut = tuple(n for n in schema.attributes if n not in columns)
        whys = [f"{why} ({one.name})" for one in readers if (why := why_all_matter(one, named)) is not None]
        pushed = pushed_down_predicate(name, schema.attributes, statements, named, TextDialect())
        why = next(iter(whys), None) or (None if pushed else "for these conditions it has no words")
        streams.append(ExplainedStream(name, columns, cut, bool(readers) and not whys, pushed, why))
    return SparkExplanation(runs, tuple(streams))


def _runs(statement: CheckedSubscription, share: Share) -> str:
    if share.keys:
        with_ = "" if len(share.statements) == 1 else f", together with {_others(statement, share)}"
        return f"{SHARDS_PER_CORE} shards a core, by {', '.join(share.keys)}{with_}"
    if statement.tree.per:
        return f"one task, with {_others(statement, share)}: their results do not carry the key on"
    if statement.tree.table is not None and statement.tree.forecast is None and not serves_all_rows(statement):
        return (
            f"one task for every {ROWS_PER_TASK} rows of {statement.tree.table}, up to one a core; each has all events"
        )
    return "one task, which has all events; statements without PER are spread over the cores"


def _others(statement: CheckedSubscription, share: Share) -> str:
    return ", ".join(name for name in share.statements if name != statement.name)
