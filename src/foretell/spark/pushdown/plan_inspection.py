"""Plan inspection: whether reading a Spark DataFrame twice is cheap, and whether a column of it can be NULL.

A frame that only reads columns of files or of Spark's own cache, and at most computes and filters row by row, can be
read a second time for the time column alone at little cost. A join or a sort would run twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

_ROW_BY_ROW = ("Project", "Filter")
_IN_MEMORY = ("InMemoryRelation", "LocalRelation", "Range")
_COLUMNAR = ("Parquet", "ORC")


def is_cheap(frame: DataFrame) -> bool:
    """Return whether reading a frame twice is cheap and filtering it leaves its rows in the same partitions.

    Spark would skip folders and buckets of one value as a whole, and distribute the others anew.
    """
    plan = _plan(frame)
    return plan is not None and all(node.deterministic() and _is_cheap(node) for node in _nodes(plan))


def _is_cheap(node: Any) -> bool:
    name = node.nodeName()
    if name in _ROW_BY_ROW or name.partition(" ")[0] in _IN_MEMORY:
        return True
    files = _files(node)
    return (
        files is not None
        and files.fileFormat().toString() in _COLUMNAR
        and files.partitionSchema().isEmpty()
        and files.bucketSpec().isEmpty()
    )


def never_null(frame: DataFrame, name: str) -> bool:
    """Return whether the schema, the filters or the files of a frame show that a column has no NULL."""
    if not frame.schema[name].nullable:
        return True
    plan = _plan(frame)
    if plan is None:
        return False
    number = next((output.exprId().id() for output in _items(plan.output()) if output.name() == name), None)
    constraints = filter(_is_not_null, _items(plan.constraints().toSeq()))
    if number in [constraint.child().exprId().id() for constraint in constraints]:
        return True
    *above, leaf = _nodes(plan)
    files = _files(leaf) if all(node.nodeName() in _ROW_BY_ROW for node in above) else None
    stored = [output.name() for output in _items(leaf.output()) if output.exprId().id() == number]
    if files is None or files.fileFormat().toString() != "Parquet" or not stored:
        return False
    return all(_has_no_null(path, stored[0]) for path in files.location().inputFiles())


def _is_not_null(condition: Any) -> bool:
    """Return whether a condition is that a column is not NULL."""
    return bool(condition.prettyName() == "isnotnull" and hasattr(condition.child(), "exprId"))


def _has_no_null(address: str, name: str) -> bool:
    """Return whether the footer of a Parquet file on this machine says that a column has no NULL."""
    url = urlparse(address)
    if url.scheme not in ("", "file"):
        return False
    try:
        with pq.ParquetFile(unquote(url.path)) as file:
            return sum(null_count(file, group, name) for group in range(file.num_row_groups)) == 0
    except (pa.ArrowException, OSError):
        return False


def null_count(file: pq.ParquetFile, group: int, name: str | None) -> int:
    """Return the number of NULLs of a column in a row group; 1 if the file does not say."""
    names = file.schema_arrow.names
    if name not in names or file.metadata.num_columns != len(names):
        return 1
    statistics = file.metadata.row_group(group).column(names.index(name)).statistics
    return 1 if statistics is None or statistics.null_count is None else int(statistics.null_count)


# ── Spark's objects in the JVM ──


def _plan(frame: DataFrame) -> Any:
    """Return the optimized plan; None with Spark Connect, where it is in another process."""
    java = getattr(frame, "_jdf", None)
    return None if java is None else java.queryExecution().optimizedPlan()


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for child in _items(plan.children()):
        yield from _nodes(child)


def _files(node: Any) -> Any:
    """Return the files that a leaf of a plan reads; None if it reads none."""
    if node.nodeName().partition(" ")[0] not in ("LogicalRelation", "Relation"):
        return None
    relation = node.relation()
    return relation if relation.getClass().getSimpleName() == "HadoopFsRelation" else None


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(number) for number in range(sequence.size())]
