"""Changes of the statements while a stream is followed: rows of a control stream, in the order of their numbers.

They travel with the events of their micro-batch to every shard and are applied before these, so a batch that is done
again after a failure brings the same changes at the same place. All shards see all changes, and each knows which are
its own; what cannot be done is told once, by one shard, as a row of the kind "refused".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from foretell.arguments.statements import parse
from foretell.engine import Engine
from foretell.errors import ForetellError, InputError, suggestion
from foretell.language import tree
from foretell.spark.partitioning.statement_groups import StatementGroup
from foretell.spark.streaming.shuffle_rows import PACKED, packed, part_of_task

ACTIONS = ("subscribe", "unsubscribe", "add rows", "remove rows")
_COLUMNS = {"number": "BIGINT", "action": "STRING", "name": "STRING", "text": "STRING", "rows": "STRING"}


class StatementChange(msgspec.Struct):
    """`name` is that of the statement to go or of the table, `text` has statements to come, `rows` is JSON: rows, the
    ids of rows, or for statements to come the rows of their tables by name."""

    number: int | None
    action: str | None
    name: str | None = None
    text: str | None = None
    rows: str | None = None


def changes_of(frame: DataFrame, shares: Sequence[StatementGroup]) -> DataFrame:
    """A control frame as rows for the shuffle."""
    for name in ("number", "action"):
        if name not in frame.columns:
            hint = suggestion(name, frame.columns) or f"its columns: {', '.join(_COLUMNS)}"
            raise InputError("missing-column", f"the control frame has no column '{name}'", hint=hint)
    columns = [_column(frame, name, kind) for name, kind in _COLUMNS.items()]
    codes = [code for share in shares for code in share.shards]
    return frame.select(*columns).mapInArrow(_Packer(tuple(codes)), PACKED)


def _column(frame: DataFrame, name: str, kind: str) -> Column:
    return (F.col(name) if name in frame.columns else F.lit(None)).cast(kind).alias(name)


@dataclass(frozen=True)
class _Packer:
    shards: tuple[int, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = [row for batch in batches for row in batch.to_pylist()]
        if rows:
            data, part = msgspec.json.encode(rows), part_of_task()
            yield packed((code, None, part, None, None, data) for code in self.shards)


def decode(blocks: Sequence[bytes]) -> list[StatementChange]:
    found = [change for block in blocks for change in msgspec.json.decode(block, type=list[StatementChange])]
    return sorted(found, key=lambda change: change.number or 0)


class StatementDirectory(msgspec.Struct):
    """Which share has each statement and table that changes brought, if it took them; the same in all shards."""

    statements: dict[str, str | None] = {}
    tables: dict[str, list[str]] = {}


@dataclass
class ChangeApplier:
    """Changes applied to the engine of one shard of a share; `first` is the share's first shard."""

    shares: Sequence[StatementGroup]
    share: StatementGroup
    first: bool
    directory: StatementDirectory
    refused: list[tuple[StatementChange, str]] = field(default_factory=list)

    def apply(self, engine: Engine, change: StatementChange) -> None:
        homes = self.shares[:1]  # who tells of what nobody can do
        try:
            homes = self._homes(change)
            self._note(change, homes[0])
            if self.share in homes:
                _do(engine, change)
        except ForetellError as error:
            if self.first and self.share is homes[0]:
                self.refused.append((change, str(error)))

    def _homes(self, change: StatementChange) -> Sequence[StatementGroup]:
        """The shares that a change is for. What depends on more than the changes so far is left to their engines."""
        match change.action:
            case "subscribe":
                return [self._home_of(change.text or "")]
            case "unsubscribe":
                return self._having(change.name, self._statements(), "subscription")
            case "add rows" | "remove rows":
                return self._having(change.name, self._tables(), "table")
        hint = suggestion(str(change.action), ACTIONS) or f"one of {', '.join(ACTIONS)}"
        raise InputError("unknown-action", f"unknown action '{change.action}'", hint=hint)

    def _home_of(self, text: str) -> StatementGroup:
        """The share that new statements come to: one that has their streams, dealt out by what they are PER."""
        reading = _reading(text)
        if not reading:
            raise InputError("no-statements", "there is no statement to subscribe to")
        known, made = self._statements(), {str(one.name) for one in reading}
        read = {str(name) for one in reading for name in one.streams} - made
        derived = {home for name in read for home in known.get(name, ())}
        streams = {name for name in read if not known.get(name)}
        per = set.intersection(*({str(name) for name in one.per} for one in reading))
        chained = bool(derived) or any(str(name) in made for one in reading for name in one.streams)
        for share in self.shares:
            here = derived <= {share.name} and streams <= set(share.streams) and set(share.keys) <= per
            if here and not (chained and share.keys):
                for name in made:
                    if known.get(name, [share.name]) not in ([], [share.name]):
                        hint = f"give it another name, or unsubscribe '{name}' first"
                        raise InputError("defined-twice", f"'{name}' is there already", hint=hint)
                return share
        there = "; ".join(f"{share.name} of {', '.join(share.streams)}" for share in self.shares)
        message = f"no shard can serve '{reading[0].name}': there are those {there}"
        raise InputError("no-shard", message, hint="start the query again with it among its statements")

    def _having(self, name: str | None, homes: Mapping[str, Sequence[str]], what: str) -> list[StatementGroup]:
        found = [share for share in self.shares if share.name in homes.get(str(name), ())]
        if not found:
            hint = suggestion(str(name), [n for n, some in homes.items() if some])
            raise InputError(f"unknown-{what}", f"there is no {what} '{name}'", hint=hint)
        return found

    def _statements(self) -> dict[str, list[str]]:
        known = {name: [share.name] for share in self.shares for name in share.statements}
        return known | {n: [] if home is None else [home] for n, home in self.directory.statements.items()}

    def _tables(self) -> dict[str, list[str]]:
        known = {name: list(homes) for name, homes in self.directory.tables.items()}
        for share in self.shares:
            for name in share.tables:
                known.setdefault(name, []).append(share.name)
        return known

    def _note(self, change: StatementChange, home: StatementGroup) -> None:
        """Before it is known whether the engine takes it, for only the home's shards will know."""
        if change.action == "unsubscribe":
            self.directory.statements[str(change.name)] = None
        elif change.action == "subscribe":
            for one in _reading(change.text or ""):
                self.directory.statements[str(one.name)] = home.name
                if isinstance(one, tree.Subscription) and one.table is not None:
                    homes = self.directory.tables.setdefault(str(one.table), [])
                    homes += [] if home.name in homes else [home.name]


def _reading(text: str) -> list[tree.Subscription | tree.Correlator]:
    return [s for s in parse(text).program.statements if isinstance(s, tree.Subscription | tree.Correlator)]


def _do(engine: Engine, change: StatementChange) -> None:
    match change.action:
        case "subscribe":
            engine.subscribe(change.text, tables=None if change.rows is None else _json(change.rows))
        case "unsubscribe":
            engine.unsubscribe(change.name or "")
        case "add rows":
            engine.add_rows(change.name or "", _json(change.rows))
        case "remove rows":
            engine.remove_rows(change.name or "", _json(change.rows))


def _json(text: str | None) -> Any:
    try:
        return msgspec.json.decode(text or "")
    except msgspec.DecodeError as error:
        raise InputError("bad-rows", f"rows: expected JSON, found '{text}'", hint=str(error)) from None
