"""Sources of a batch: Spark DataFrames, files that the tasks read, and events that are in this process already.

Parquet files have their types in their footers. Those of JSON lines and CSV depend on all of the data: a first pass in
the tasks collects the few values that decide them (events/ingest/type_evidence.py).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from foretell.arguments.streams import observed_schema
from foretell.errors import InputError
from foretell.events.arrow_interop import table_to_bytes
from foretell.events.ingest.arrow_columns import ArrowSource, combine_tables
from foretell.events.ingest.epoch_numbers import common_unit
from foretell.events.ingest.file_systems import NoFileSystemError
from foretell.events.ingest.folder_columns import with_folder_columns
from foretell.events.ingest.formats import FetchedFiles
from foretell.events.ingest.input_files import (
    JSON_LINES,
    PARQUET,
    SPARK_FORMATS,
    InputFile,
    InputFiles,
    input_files,
    is_pipe,
)
from foretell.events.ingest.null_markers import apply_null_markers
from foretell.events.ingest.parquet_files import parquet_file, read_parquet
from foretell.events.ingest.reader import (
    EventBatch,
    StreamDeclaration,
    guessed_strings,
    infer_schema,
    missing_column_notes,
    read,
    stray_notes,
    string_remarks,
    time_notes,
    time_reading,
    with_time_column,
    with_times,
)
from foretell.events.ingest.time_column import epoch_note, with_joined_time
from foretell.events.ingest.time_forms import reading_of
from foretell.events.ingest.type_evidence import TypeEvidence, evidence_of, merged_strays, table_from_evidence
from foretell.events.types import Schema, Type
from foretell.spark.arrow_schemas import empty_source, schema_from_arrow
from foretell.spark.batch.input_splits import ARRIVAL_BITS, ROWS, InputSplit, text_chunks
from foretell.spark.batch.map_side import map_files, map_loaded
from foretell.spark.batch.plan import PlanHandle
from foretell.spark.batch.spark_files import fetch, spark_frame
from foretell.spark.column_names import column
from foretell.spark.nested_frames import flattened
from foretell.spark.pushdown.plan_inspection import never_null, null_count
from foretell.spark.worker_tasks import TaskFunction

#: Text files up to this size together are read here: a first pass in Spark would take longer.
SMALL_BYTES = 8 << 20

#: Runs a function over the rows of a table in tasks, and returns the texts that come out.
Survey: TypeAlias = Callable[[TaskFunction, pa.Table], list[str]]


@dataclass(frozen=True)
class BatchSource:
    """The source of a stream: one of splits, frame and loaded.

    `known` is the schema as far as data or declarations show it. `declaration` has the reading of times that the data
    decided. `identified` says that every event has an ID. `notes` are those of what the driver has read.
    """

    schema: Schema
    known: Schema
    declaration: StreamDeclaration
    splits: tuple[InputSplit, ...] = ()
    frame: DataFrame | None = None
    loaded: EventBatch | None = None
    identified: bool = False
    notes: tuple[str, ...] = ()

    def map_work(self, handle: PlanHandle, name: str) -> tuple[TaskFunction, pa.Table]:
        """Return the map function of a source without a frame, and its input: a row for each split or slice."""
        if self.loaded is None:
            return partial(map_files, handle, name, self.splits), numbered_rows(len(self.splits))
        table = self.loaded.table
        firsts = range(0, max(1, table.num_rows), ROWS)
        columns: dict[str, Any] = {
            "arrival": list(firsts),
            "data": [table_to_bytes(table.slice(n, ROWS)) for n in firsts],
        }
        return partial(map_loaded, handle, name), pa.table(columns)


def numbered_rows(count: int) -> pa.Table:
    return pa.table({"number": pa.array(range(count), pa.int64())})


def source_of(
    source: object, declaration: StreamDeclaration, strict: bool, survey: Survey, start: Callable[[], SparkSession]
) -> BatchSource:
    """The source of a stream; `start` gives the session, where Spark itself must read."""
    if isinstance(source, DataFrame):
        return _frame_source(source, declaration)
    if not isinstance(source, str | os.PathLike) or is_pipe(source):
        return _loaded_source(source, declaration, strict)
    try:
        listing = input_files(source, declaration.read)
    except NoFileSystemError:
        fetched = fetch(start(), os.fspath(source), declaration.read)
        if isinstance(fetched, FetchedFiles):
            return _loaded_source(fetched, declaration, strict)
        return _frame_source(spark_frame(start(), fetched), declaration)
    if listing.format in SPARK_FORMATS:
        return _frame_source(spark_frame(start(), listing), declaration)
    if listing.format == PARQUET:
        return _parquet_source(listing.files, declaration)
    if sum(file.size() for file in listing.files) <= SMALL_BYTES:
        return _loaded_source(source, declaration, strict)
    return _text_source(listing, declaration, survey)


def _loaded_source(source: object, declaration: StreamDeclaration, strict: bool) -> BatchSource:
    loaded = read(source, declaration, strict=strict)
    identified = declaration.id is not None and loaded.table[declaration.id].null_count == 0
    known, timed = observed_schema(loaded), replace(declaration, time=str(loaded.schema.time))
    return BatchSource(loaded.schema, known, timed, loaded=loaded, identified=identified, notes=loaded.notes)


def _frame_source(source: DataFrame, given: StreamDeclaration) -> BatchSource:
    frame, declaration = flattened(source, _timed(given))
    stored = frame.limit(0).toArrow().schema
    schema = schema_from_arrow(stored, declaration)
    notes = time_notes(declaration, schema)
    declaration = replace(declaration, time=str(schema.time))
    if schema.time_type.numeric and declaration.guesses_epochs:
        bounds = frame.agg(f.min(column(declaration.time)), f.max(column(declaration.time))).collect()[0]
        schema, guesses = _with_epochs(schema, declaration.stream, *bounds)
        notes = (*notes, *guesses)
    identified = _keeps_nulls([stored], schema, declaration) and never_null(frame, str(declaration.id))
    return BatchSource(schema, schema, declaration, frame=frame, identified=identified, notes=notes)


def _timed(declaration: StreamDeclaration) -> StreamDeclaration:
    """Return the declaration with the reading of times by its options alone, for data that are not read as a whole."""
    return replace(declaration, times=reading_of(declaration.read))


def _with_epochs(
    schema: Schema, source: str, least: float | None, greatest: float | None
) -> tuple[Schema, tuple[str, ...]]:
    """Return the schema, with TIMESTAMP as its time if all numbers are plausible epoch numbers, and a note on that."""
    unit, time = common_unit(least, greatest), schema.time
    if unit is None or time is None:
        return schema, ()
    return replace(schema, attributes={**schema.attributes, time: Type.TIMESTAMP}), (epoch_note(source, time, unit),)


def _keeps_nulls(stored: Iterable[pa.Schema], schema: Schema, declaration: StreamDeclaration) -> bool:
    """Return whether every ID of these columns is one of ours: a FLOAT may be NaN or no INT, and a marker is NULL."""
    name = declaration.id
    if name is None or declaration.read.nulls:
        return False
    whole = schema.attributes[name] is Type.INT and all(_is_int(columns, name) for columns in stored)
    return whole or schema.attributes[name] is Type.STRING


def _is_int(columns: pa.Schema, name: str) -> bool:
    """Return whether a column is missing, or all its values are INTs."""
    kind: Any = columns.field(name).type if name in columns.names else pa.int64()
    return bool(pa.types.is_integer(kind) and not pa.types.is_uint64(kind))


def _parquet_source(files: Sequence[InputFile], declaration: StreamDeclaration) -> BatchSource:
    """Read the footers of Parquet files: their columns, and the place of their rows."""
    splits: list[InputSplit] = []
    sources: list[ArrowSource] = []
    arrival, null_ids = 0, 0
    for listed in files:
        with parquet_file(listed.path) as file:
            row = 0
            for group in range(file.num_row_groups):
                splits.append(InputSplit(PARQUET, listed.path, arrival, group, row, listed.keys))
                row += file.metadata.row_group(group).num_rows
                null_ids += null_count(file, group, declaration.id)
            sources.append(empty_source(listed.path, file.schema_arrow))
            arrival += row
    marked = apply_null_markers(with_folder_columns(combine_tables(sources), files), declaration.read.nulls)
    columns, settled = with_time_column(marked, _timed(declaration))
    columns = with_times(columns, settled)
    schema = infer_schema(columns, settled)
    notes = (*time_notes(declaration, schema), *missing_column_notes(columns, settled))
    if schema.time_type.numeric and declaration.guesses_epochs:
        source = files[0].path if len(files) == 1 else declaration.stream
        schema, guesses = _with_epochs(schema, source, *_number_bounds(files, settled.time))
        notes = (*notes, *guesses)
    identified = null_ids == 0 and _keeps_nulls([s.table.schema for s in sources], schema, declaration)
    return BatchSource(schema, schema, settled, splits=tuple(splits), identified=identified, notes=notes)


def _number_bounds(files: Sequence[InputFile], name: str) -> tuple[Any, Any]:
    """Return the least and the greatest number of a column of Parquet files."""
    tables = (combine_tables([read_parquet(file.path, frozenset({name}))]) for file in files)
    bounds = [bound for table in tables if name in table.columns for bound in table.columns[name].number_bounds()]
    known = [bound for bound in bounds if bound is not None]
    return min(known, default=None), max(known, default=None)


# ── JSON lines and CSV ──


def _text_source(listing: InputFiles, declaration: StreamDeclaration, survey: Survey) -> BatchSource:
    files = listing.files
    splits = tuple(
        InputSplit(listing.format, file.path, number << ARRIVAL_BITS, keys=file.keys)
        for number, file in enumerate(files)
    )
    texts = survey(partial(_collect_evidence, splits, declaration), numbered_rows(len(splits)))
    order = {file.path: number for number, file in enumerate(files)}
    evidence = sorted(map(_decoded_evidence, texts), key=lambda file: order[file.source])
    joined = replace(declaration, read=replace(declaration.read, time_columns=None))
    marked = apply_null_markers(with_folder_columns(table_from_evidence(evidence), files), declaration.read.nulls)
    gathered, joined = with_time_column(marked, joined)
    gathered, declaration = with_times(gathered, joined), replace(declaration, time=joined.time)
    schema = infer_schema(gathered, declaration)
    guessed = guessed_strings(schema.attributes, declaration)
    strays = {name: found for name, found in merged_strays(evidence).items() if name in guessed}
    schema = replace(schema, remarks=string_remarks(strays, declaration))
    missing = missing_column_notes(gathered, declaration)
    notes = (*missing, *listing.notes, *gathered.notes, *stray_notes(strays, declaration))
    total = sum(file.rows + file.rejected for file in evidence)
    timed = gathered.rows > 0 or declaration.declared_type(declaration.time) is not None
    empty = EventBatch(declaration.stream, schema, pa.table({}), (), total, declaration.open, timed)
    settled = replace(declaration, times=time_reading(gathered, declaration))
    return BatchSource(schema, observed_schema(empty), settled, splits=splits, notes=notes)


def _collect_evidence(
    splits: Sequence[InputSplit], declaration: StreamDeclaration, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            assert number is not None
            yield pa.RecordBatch.from_pydict({"found": [_encoded_evidence(splits[number], declaration)]})


def _encoded_evidence(split: InputSplit, declaration: StreamDeclaration) -> str:
    """Return the type evidence of a file, or the error of reading it, as JSON."""
    options, wanted = declaration.read, None if declaration.open else declaration.wanted
    try:
        texts = split.format != JSON_LINES
        evidence = TypeEvidence(split.path, [], {}, 0, 0, texts=texts)
        for _, chunk in text_chunks(replace(split, keys=()), wanted, options):
            marked = with_joined_time(apply_null_markers(chunk, options.nulls), options, declaration.stream)
            evidence += evidence_of(split.path, marked, texts=texts, identifiers=declaration.identifiers)
    except InputError as error:
        return json.dumps({"code": error.code, "message": error.message, "hint": error.hint})
    return json.dumps(msgspec.to_builtins(evidence))


def _decoded_evidence(text: str) -> TypeEvidence:
    document = json.loads(text)
    if "code" in document:
        raise InputError(document["code"], document["message"], hint=document["hint"])
    return msgspec.convert(document, TypeEvidence)
