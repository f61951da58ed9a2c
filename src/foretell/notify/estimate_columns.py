"""The column `estimate` of notifications: the details of estimates in Arrow, and as objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.arrays import Ints
from foretell.events.arrow_interop import arrow_of, arrow_of_values
from foretell.events.detail_columns import DetailColumns
from foretell.events.estimate_detail import EstimateDetail, GapFactor, LostStep
from foretell.events.ingest.raw_columns import ArrowArray, ArrowType
from foretell.events.types import Type
from foretell.notify.notification_values import column_type

_ENDS = ("low", "high")


def estimate_type(losable: Sequence[str], time: Type) -> ArrowType:
    """The type of the column, with the steps that may be lost. Spark has no struct without fields: where only negated
    steps may be lost, `lost` is a text, and NULL."""
    interval = pa.struct([(name, column_type(time)) for name in _ENDS])
    lost = pa.struct([(step, interval) for step in losable]) if losable else pa.string()
    gap = pa.struct([("after", pa.string()), ("before", pa.string()), ("factor", pa.float64())])
    return pa.struct([("score", pa.string()), ("lost", lost), ("gaps", pa.list_(gap))])


def estimate_structs(details: DetailColumns, rows: Ints | None, time: Type) -> ArrowArray:
    """The column of these rows, or of all; `lost` has the steps that these estimates lack."""
    own = details if rows is None else details.filter(rows)
    count, kind = len(own.independent), column_type(time)
    intervals = {
        step: _structs({name: arrow_of(np.ascontiguousarray(t), kind) for name, t in zip(_ENDS, times.T, strict=True)})
        for step, times in own.lost.items()
    }
    ends = arrow_of(np.arange(count + 1, dtype=np.int32) * len(own.gaps))
    gaps = _structs(
        {
            "after": arrow_of_values([after for after, _ in own.gaps] * count, Type.STRING),
            "before": arrow_of_values([before for _, before in own.gaps] * count, Type.STRING),
            "factor": arrow_of(np.ascontiguousarray(own.factors).ravel()),
        }
    )
    lost = _structs(intervals) if intervals else pa.Array.from_buffers(pa.struct([]), count, [None])
    scores = arrow_of_values(own.scores, Type.STRING)
    return _structs({"score": scores, "lost": lost, "gaps": pa.ListArray.from_arrays(ends, gaps)})


def estimate_objects(column: ArrowArray) -> list[EstimateDetail | None]:
    """The details of a column."""
    return [None if row is None else _detail(row) for row in _with_numbers(column).to_pylist()]


def typed_estimates(details: Iterable[EstimateDetail | None], kind: ArrowType) -> ArrowArray:
    """The column of a type from objects."""
    has_steps = pa.types.is_struct(kind.field("lost").type)
    rows = [None if detail is None else asdict(detail) for detail in details]
    for row in filter(None, rows):
        row["lost"] = {lost.pop("step"): lost for lost in row["lost"]} if has_steps else None
    return pa.array(rows, kind)


def _detail(row: Mapping[str, Any]) -> EstimateDetail:
    lost = tuple(LostStep(step, **times) for step, times in (row["lost"] or {}).items() if times is not None)
    return EstimateDetail(row["score"], lost, tuple(GapFactor(**gap) for gap in row["gaps"]))


def _with_numbers(column: ArrowArray) -> ArrowArray:
    """The column with times as numbers."""
    kind = column.type
    lost = kind.field("lost").type
    if not any(pa.types.is_timestamp(end.type) for step in lost for end in step.type):
        return column
    plain = pa.struct([(step.name, pa.struct([(end.name, pa.int64()) for end in step.type])) for step in lost])
    return column.cast(pa.struct([(f.name, plain if f.name == "lost" else f.type) for f in kind]))


def _structs(columns: Mapping[str, ArrowArray]) -> ArrowArray:
    return pa.StructArray.from_arrays(list(columns.values()), list(columns))
