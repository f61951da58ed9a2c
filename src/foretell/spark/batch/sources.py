"""What a batch reads: Spark DataFrames, files that the tasks read, and events that are in this process already.

Parquet files tell their types in their footers. Those of JSON lines and CSV only all of the data tell: a first pass in
the tasks looks for the few values that decide (events/ingest/type_evidence.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from foretell.arguments.streams import observed_schema
from foretell.errors import InputError
from foretell.events.arrow_interop import table_to_bytes
from foretell.events.atomic_files import unreadable_file
from foretell.events.ingest.arrow_columns import ArrowSource, combine_tables
from foretell.events.ingest.csv_reader import read_csv
from foretell.events.ingest.formats import input_files
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, infer_schema, read
from foretell.events.ingest.type_evidence import TypeEvidence, evidence_of, table_from_evidence
from foretell.events.types import Schema, Type
from foretell.spark.batch.input_splits import ROWS, InputSplit, json_chunks
from foretell.spark.batch.map_side import pack_files, pack_tables
from foretell.spark.batch.plan import PlanHandle
from foretell.spark.pushdown.plan_inspection import never_null, nulls

#: Text files that are not larger together are read here: a first pass in Spark would take longer.
SMALL = 8 << 20

#: What runs in a task: rows in, rows out.
TaskFunction: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
#: What runs such work over the rows of a table in tasks, and brings back all that comes out, of a column of texts.
Survey: TypeAlias = Callable[[TaskFunction, pa.Table], list[str]]


@dataclass(frozen=True)
class BatchSource:
    """A stream: `known` is its schema as far as the data show it. One of files, frame and loaded is there.

    `named` tells that every event surely has an ID.
    """

    schema: Schema
    known: Schema
    files: tuple[InputSplit, ...] = ()
    frame: DataFrame | None = None
    loaded: EventBatch | None = None
    named: bool = False

    def packing(self, sent: PlanHandle, name: str) -> tuple[TaskFunction, pa.Table]:
        """What packs its events, and of what: a row for each file or piece, or for so many events that are here."""
        if self.loaded is None:
            return partial(pack_files, sent, name, self.files), numbered(len(self.files))
        table = self.loaded.table
        firsts = range(0, max(1, table.num_rows), ROWS)
        columns: dict[str, Any] = {
            "arrival": list(firsts),
            "data": [table_to_bytes(table.slice(n, ROWS)) for n in firsts],
        }
        return partial(pack_tables, sent, name), pa.table(columns)


def numbered(count: int) -> pa.Table:
    return pa.table({"number": pa.array(range(count), pa.int64())})


def source_of(given: object, declaration: StreamDeclaration, strict: bool, survey: Survey) -> BatchSource:
    if isinstance(given, DataFrame):
        return _frame(given, declaration)
    kind, files = input_files(given)
    if kind == "Parquet":
        return _parquet([str(file) for file in files], declaration)
    if not files or sum(_size(file) for file in files) <= SMALL:
        loaded = read(given, declaration, strict=strict)
        named = declaration.id is not None and loaded.table[declaration.id].null_count == 0
        return BatchSource(loaded.schema, observed_schema(loaded), loaded=loaded, named=named)
    return _texts(kind, [str(file) for file in files], declaration, survey)


def _frame(frame: DataFrame, declaration: StreamDeclaration) -> BatchSource:
    arrow = frame.limit(0).toArrow().schema
    schema = infer_schema(combine_tables([_sheet(declaration.stream, arrow)]), declaration)
    named = declaration.id is not None and _exact(schema, declaration.id) and never_null(frame, declaration.id)
    return BatchSource(schema, schema, frame=frame, named=named)


def _exact(schema: Schema, name: str) -> bool:
    """Whether a column has no NULL if its source has none: of FLOATs, NaN becomes one."""
    return schema.attributes[name] in (Type.INT, Type.STRING)


def _parquet(files: list[str], declaration: StreamDeclaration) -> BatchSource:
    """What the files' own footers tell: their columns, and where their rows lie."""
    pieces: list[InputSplit] = []
    sheets: list[ArrowSource] = []
    arrival, unnamed = 0, 0
    for path in files:
        try:
            with pq.ParquetFile(path) as file:
                row = 0
                for group in range(file.num_row_groups):
                    pieces.append(InputSplit("Parquet", path, arrival, group, row))
                    row += file.metadata.row_group(group).num_rows
                    unnamed += nulls(file, group, declaration.id)
                sheets.append(_sheet(path, file.schema_arrow))
                arrival += row
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            detail = str(error).splitlines()[0]
            raise InputError("wrong-format", f"{path} is not a Parquet file", hint=detail) from None
        except OSError as error:
            raise unreadable_file(Path(path), error) from None
    schema = infer_schema(combine_tables(sheets), declaration)
    named = declaration.id is not None and unnamed == 0 and _exact(schema, declaration.id)
    return BatchSource(schema, schema, files=tuple(pieces), named=named)


def _sheet(name: str, schema: pa.Schema) -> ArrowSource:
    columns: list[Any] = [pa.chunked_array([pa.array([], field.type)]) for field in schema]
    return ArrowSource(name, pa.table(columns, schema=schema), schema.names)


# ── JSON lines and CSV ──


def _texts(kind: str, files: list[str], declaration: StreamDeclaration, survey: Survey) -> BatchSource:
    pieces = tuple(InputSplit(kind, path, number << 33) for number, path in enumerate(files))
    wanted = None if declaration.open else frozenset(declaration.columns)
    found = survey(partial(_witnesses, pieces, wanted), numbered(len(pieces)))
    witnesses = [_witness(text) for text in found]
    order = {path: number for number, path in enumerate(files)}
    gathered = table_from_evidence(sorted(witnesses, key=lambda one: order[one.source]))
    schema = infer_schema(gathered, declaration)
    total = sum(one.rows + one.rejected for one in witnesses)
    timed = gathered.rows > 0 or declaration.declared_type(declaration.time) is not None
    empty = EventBatch(declaration.stream, schema, pa.table({}), (), total, declaration.open, timed)
    return BatchSource(schema, observed_schema(empty), files=pieces)


def _witnesses(
    pieces: Sequence[InputSplit], wanted: frozenset[str] | None, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            assert number is not None
            yield pa.RecordBatch.from_pydict({"found": [_looked_at(pieces[number], wanted)]})


def _looked_at(piece: InputSplit, wanted: frozenset[str] | None) -> str:
    """What a file shows, or what is wrong with it."""
    try:
        if piece.format == "CSV":
            gathered = read_csv([(piece.path, Path(piece.path).read_bytes())])
            found = evidence_of(piece.path, gathered, texts=True)
        else:
            found = TypeEvidence(piece.path, [], {}, 0, 0, texts=False)
            for _, chunk in json_chunks(piece.path, wanted):
                found += evidence_of(piece.path, chunk, texts=False)
    except InputError as error:
        return json.dumps({"code": error.code, "message": error.message, "hint": error.hint})
    return json.dumps(msgspec.to_builtins(found))


def _witness(text: str) -> TypeEvidence:
    found = json.loads(text)
    if "code" in found:
        raise InputError(found["code"], found["message"], hint=found["hint"])
    return msgspec.convert(found, TypeEvidence)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError as error:
        raise unreadable_file(file, error) from None
