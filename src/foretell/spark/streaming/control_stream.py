"""Control stream: changes of the statements while a stream runs, as rows in the order of their numbers.

Changes travel with the events of their micro-batch to every shard, which applies them before the events. A micro-batch
that is repeated after a failure therefore brings the same changes at the same place. All shards see all changes, and
each applies its own; one shard reports a change that fails, as a row of the kind "refused".

Who writes to the stream need not be who runs the query: a change carries rows, never the path of a file, and whatever
else is in it, the query goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from foretell.arguments.statements import parse
from foretell.arguments.validation import describe
from foretell.engine import Engine
from foretell.errors import ForetellError, InputError, suggestion
from foretell.language import tree
from foretell.machine.matches.results import ResultBatch
from foretell.spark.column_names import column
from foretell.spark.partitioning.shuffle_rows import SHUFFLE_COLUMNS, ShuffleWriter, map_task
from foretell.spark.partitioning.statement_groups import StatementGroup
from foretell.spark.streaming.row_changes import ADD, NetChanges, consecutive

ACTIONS = ("subscribe", "unsubscribe", "add rows", "remove rows", "confirm", "refute")

#: The actions that say whether an estimate happened.
_VERDICTS = {"confirm": True, "refute": False}

#: Longer ones are refused: every shard parses them.
MOST_TEXT = 1_000_000
MOST_ROWS = 64_000_000

_COLUMNS = {"number": "BIGINT", "action": "STRING", "name": "STRING", "text": "STRING", "rows": "STRING"}


class StatementChange(msgspec.Struct):
    """A row of the control stream.

    `name` is the statement to unsubscribe, the table, or the id of an estimate. `text` holds new statements. `rows` is
    JSON: rows, the ids of rows, the rows of new statements' tables by name, or further columns of the estimate.
    """

    number: int | None
    action: str | None
    name: str | None = None
    text: str | None = None
    rows: str | None = None


def control_rows(frame: DataFrame, groups: Sequence[StatementGroup]) -> DataFrame:
    """Return the shuffle rows of a control frame."""
    for name in ("number", "action"):
        if name not in frame.columns:
            hint = suggestion(name, frame.columns) or f"its columns: {', '.join(_COLUMNS)}"
            raise InputError("missing-column", f"the control frame has no column '{name}'", hint=hint)
    columns = [_typed_column(frame, name, kind) for name, kind in _COLUMNS.items()]
    return frame.select(*columns).mapInArrow(_ControlMapper(tuple(groups)), SHUFFLE_COLUMNS)


def _typed_column(frame: DataFrame, name: str, kind: str) -> Column:
    # A text in place of a number is NULL. Texts come as bytes, which need not be UTF-8: see _text.
    given = column(name) if name in frame.columns else f.lit(None)
    return (given.cast("STRING").cast("BINARY") if kind == "STRING" else given.try_cast(kind)).alias(name)


@dataclass(frozen=True)
class _ControlMapper:
    groups: tuple[StatementGroup, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = [{name: _text(value) for name, value in row.items()} for batch in batches for row in batch.to_pylist()]
        if rows:
            yield from ShuffleWriter(self.groups).changes(rows, map_task())


def _text(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def decode_changes(lists: Sequence[pa.Buffer]) -> list[StatementChange]:
    changes = [change for data in lists for change in msgspec.json.decode(data, type=list[StatementChange])]
    return sorted(changes, key=lambda change: change.number or 0)


class StatementDirectory(msgspec.Struct):
    """The group of each statement, and the groups of each table, that changes have brought; the same in all shards.

    A statement that has left has None. Checkpoints hold it: the names of its fields must not change.
    """

    statements: dict[str, str | None] = {}
    tables: dict[str, list[str]] = {}


@dataclass
class ChangeApplier:
    """Applies changes to the engine of one shard; `is_first` says whether it is the first shard of its group.
    `revised` are the estimates that changes confirm or withdraw."""

    groups: Sequence[StatementGroup]
    group: StatementGroup
    is_first: bool
    directory: StatementDirectory
    refused: list[tuple[StatementChange, str]] = field(default_factory=list)
    revised: list[ResultBatch] = field(default_factory=list)

    def apply_all(self, engine: Engine, changes: Sequence[StatementChange]) -> None:
        """Applies changes in their order; consecutive ones of the rows of a table at once, where that is the same."""
        for together in consecutive(changes):
            if len(together) == 1 or not self._apply_rows(engine, together):
                for change in together:
                    self.apply(engine, change)
        self.refused.sort(key=lambda refused: refused[0].number or 0)

    def _apply_rows(self, engine: Engine, changes: Sequence[StatementChange]) -> bool:
        """Applies changes of the rows of one table at once; False where nothing was done, as one of them may have to
        be refused alone."""
        name = changes[0].name or ""
        try:
            for change in changes:
                _check_sizes(change)
            if self.group not in self._targets(changes[0]):
                return True
            net = NetChanges.of(changes)
            if net is None:
                return False
            if net.removed:
                engine.remove_rows(name, net.removed)
        except ForetellError:
            return False
        try:
            if net.added:
                engine.add_rows(name, net.added)
        except ForetellError:
            for change in changes:
                if change.action == ADD:
                    self.apply(engine, change)
        return True

    def apply(self, engine: Engine, change: StatementChange) -> None:
        targets = self.groups[:1]  # the group that reports a change without a target
        try:
            targets = self._targets(change)
            self._record(change, targets[0])
            if change.action in _VERDICTS:
                self._settle(engine, change)
            elif self.group in targets:
                _apply(engine, change)
        except ForetellError as error:
            if self.is_first and self.group is targets[0]:
                self.refused.append((change, str(error)))

    def _settle(self, engine: Engine, change: StatementChange) -> None:
        """Confirm or withdraw an estimate, which one shard has. Where there are several, none knows of one that nobody
        has."""
        estimate = _estimate(change)
        try:
            self.revised += engine.confirm_columns(estimate, happened=_VERDICTS[str(change.action)])
        except InputError as error:
            if error.code != "unknown-estimate" or self._is_alone:
                self.refused.append((change, str(error)))

    @property
    def _is_alone(self) -> bool:
        return sum(len(group.shards) for group in self.groups) == 1

    def _targets(self, change: StatementChange) -> Sequence[StatementGroup]:
        """Return the groups that a change is for, by the changes so far; their engines check the rest."""
        _check_sizes(change)
        match change.action:
            case "subscribe":
                return [self._group_for(change.text or "")]
            case "unsubscribe":
                return self._groups_with(change.name, self._statements(), "subscription")
            case "add rows" | "remove rows":
                return self._groups_with(change.name, self._tables(), "table")
            case "confirm" | "refute":
                return self.groups
        hint = suggestion(str(change.action), ACTIONS) or f"one of {', '.join(ACTIONS)}"
        raise InputError("unknown-action", f"unknown action '{change.action}'", hint=hint)

    def _group_for(self, text: str) -> StatementGroup:
        """Return the group for new statements: one that has their streams, and partition keys among their PER."""
        new = _reading_statements(text)
        if not new:
            raise InputError("no-statements", "there is no statement to subscribe to")
        known, names = self._statements(), {str(statement.name) for statement in new}
        inputs = {str(stream) for statement in new for stream in statement.streams} - names
        derived_from = {group for name in inputs for group in known.get(name, ())}
        streams = {name for name in inputs if not known.get(name)}
        per = set.intersection(*({str(name) for name in statement.per} for statement in new))
        chained = bool(derived_from) or any(str(stream) in names for statement in new for stream in statement.streams)
        for group in self.groups:
            fits = derived_from <= {group.name} and streams <= set(group.columns) and set(group.keys) <= per
            if fits and not (chained and group.keys):
                for name in names:
                    if known.get(name, [group.name]) not in ([], [group.name]):
                        hint = f"give it another name, or unsubscribe '{name}' first"
                        raise InputError("defined-twice", f"'{name}' exists already", hint=hint)
                return group
        existing = "; ".join(f"{group.name} of {', '.join(group.columns)}" for group in self.groups)
        message = f"no shard can serve '{new[0].name}': the query has shards {existing}"
        raise InputError("no-shard", message, hint="start the query again with it among its statements")

    def _groups_with(
        self, name: str | None, groups_of: Mapping[str, Sequence[str]], subject: str
    ) -> list[StatementGroup]:
        groups = [group for group in self.groups if group.name in groups_of.get(str(name), ())]
        if not groups:
            hint = suggestion(str(name), [n for n, present in groups_of.items() if present])
            raise InputError(f"unknown-{subject}", f"there is no {subject} '{name}'", hint=hint)
        return groups

    def _statements(self) -> dict[str, list[str]]:
        """Return the names of the groups of each statement."""
        initial = {name: [group.name] for group in self.groups for name in group.statements}
        return initial | {n: [] if group is None else [group] for n, group in self.directory.statements.items()}

    def _tables(self) -> dict[str, list[str]]:
        """Return the names of the groups of each table."""
        tables = {name: list(groups) for name, groups in self.directory.tables.items()}
        for group in self.groups:
            for name in group.tables:
                tables.setdefault(name, []).append(group.name)
        return tables

    def _record(self, change: StatementChange, group: StatementGroup) -> None:
        """Enter a change in the directory before an engine accepts it: only the shards of its group will know."""
        if change.action == "unsubscribe":
            self.directory.statements[str(change.name)] = None
        elif change.action == "subscribe":
            for statement in _reading_statements(change.text or ""):
                self.directory.statements[str(statement.name)] = group.name
                if statement.table is not None:
                    groups = self.directory.tables.setdefault(str(statement.table), [])
                    groups += [] if group.name in groups else [group.name]


def _reading_statements(text: str) -> list[tree.Subscription | tree.Correlator]:
    try:
        statements = parse(text).program.statements
    except RecursionError:
        raise InputError("bad-change", "text: the statements are nested too deeply") from None
    return [s for s in statements if isinstance(s, tree.Subscription | tree.Correlator)]


def _check_sizes(change: StatementChange) -> None:
    for name, value, most in (("text", change.text, MOST_TEXT), ("rows", change.rows, MOST_ROWS)):
        if value is not None and len(value) > most:
            raise InputError("bad-change", f"{name}: {len(value):,} characters are more than {most:,}")


def _apply(engine: Engine, change: StatementChange) -> None:
    match change.action:
        case "subscribe":
            engine.subscribe(change.text or "", tables=None if change.rows is None else _tables(change.rows))
        case "unsubscribe":
            engine.unsubscribe(change.name or "")
        case "add rows":
            engine.add_rows(change.name or "", _rows(_json(change.rows)))
        case "remove rows":
            engine.remove_rows(change.name or "", _ids(_json(change.rows)))


def _estimate(change: StatementChange) -> dict[str, object]:
    """The columns of the estimate of a change."""
    columns = {} if change.rows is None else _json(change.rows)
    if not isinstance(columns, dict):
        raise _bad_rows('columns of the estimate, {"subscription": ..., "events": {...}}', columns)
    if change.name is None:
        raise InputError("bad-change", "name: expected the id of an estimate, found None")
    return {**columns, "id": change.name}


def _tables(text: str) -> dict[str, list[dict[str, object]]]:
    """The rows of new statements' tables. An engine would take the path of a file for a table as well: not here."""
    tables = _json(text)
    if not isinstance(tables, dict):
        raise _bad_rows('the rows of each table, {"table": [{"id": ...}, ...]}', tables)
    return {name: _rows(rows) for name, rows in tables.items()}


def _rows(rows: object) -> list[dict[str, object]]:
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _bad_rows('a list of rows, [{"id": ...}, ...]', rows)
    return rows


def _ids(ids: object) -> list[Any]:
    if not isinstance(ids, list) or not all(isinstance(row_id, bool | int | float | str) for row_id in ids):
        raise _bad_rows("a list of ids", ids)
    return ids


def _bad_rows(expected: str, found: object) -> InputError:
    return InputError("bad-rows", f"rows: expected {expected}, found {describe(found)}")


def _json(text: str | None) -> Any:
    try:
        return msgspec.json.decode(text or "")
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError("bad-rows", f"rows: expected JSON, found {describe(text)}", hint=str(error)) from None
