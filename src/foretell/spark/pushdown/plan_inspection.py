"""What Spark's plan of a frame tells before it runs: whether reading it twice is cheap, and whether its IDs are there.

A frame that only reads columns out of files or out of Spark's own cache, and at most computes and filters row by row,
is read a second time for the time column alone at little cost. A join or a sort would be done twice.
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
    """Whether a frame can be read twice at little cost, and its rows come in the same partitions if some are left out.

    Folders and buckets that hold one value would be left out as wholes, and the others dealt out anew.
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
    """Whether a column surely has no NULL: as the frame's schema says, or its filters, or the files it comes from."""
    if not frame.schema[name].nullable:
        return True
    plan = _plan(frame)
    if plan is None:
        return False
    number = next((one.exprId().id() for one in _each(plan.output()) if one.name() == name), None)
    if number in [one.child().exprId().id() for one in _each(plan.constraints().toSeq()) if _tells(one)]:
        return True
    *above, leaf = _nodes(plan)
    files = _files(leaf) if all(node.nodeName() in _ROW_BY_ROW for node in above) else None
    stored = [one.name() for one in _each(leaf.output()) if one.exprId().id() == number]
    if files is None or files.fileFormat().toString() != "Parquet" or not stored:
        return False
    return all(_full(path, stored[0]) for path in files.location().inputFiles())


def _tells(condition: Any) -> bool:
    """Whether a condition says that a column is not NULL."""
    return bool(condition.prettyName() == "isnotnull" and hasattr(condition.child(), "exprId"))


def _full(address: str, name: str) -> bool:
    """Whether the footer of a Parquet file on this machine says that a column has no NULL."""
    place = urlparse(address)
    if place.scheme not in ("", "file"):
        return False
    try:
        with pq.ParquetFile(unquote(place.path)) as file:
            return sum(nulls(file, group, name) for group in range(file.num_row_groups)) == 0
    except (pa.ArrowException, OSError):
        return False


def nulls(file: pq.ParquetFile, group: int, name: str | None) -> int:
    """How many NULLs a column has in a row group; one at least, where the file does not say."""
    names = file.schema_arrow.names
    if name not in names or file.metadata.num_columns != len(names):
        return 1
    said = file.metadata.row_group(group).column(names.index(name)).statistics
    return 1 if said is None or said.null_count is None else int(said.null_count)


# ── Spark's own objects ──


def _plan(frame: DataFrame) -> Any:
    """The optimized plan; None where Spark is elsewhere (Connect)."""
    java = getattr(frame, "_jdf", None)
    return None if java is None else java.queryExecution().optimizedPlan()


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for child in _each(plan.children()):
        yield from _nodes(child)


def _files(node: Any) -> Any:
    """The files that a leaf of a plan reads; None where it reads none."""
    if node.nodeName().partition(" ")[0] not in ("LogicalRelation", "Relation"):
        return None
    relation = node.relation()
    return relation if relation.getClass().getSimpleName() == "HadoopFsRelation" else None


def _each(some: Any) -> list[Any]:
    return [some.apply(number) for number in range(some.size())]
