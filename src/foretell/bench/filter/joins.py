"""Events joined with subscriptions by Polars and DuckDB, on one thread, to compare with.

Both have the subscriptions in a table for each set of attributes that are fixed by equality, and join each table with
the events by those attributes; ranges that a subscription leaves out hold. That is the fastest form we found: a single
join with `:p IS NULL OR` in its condition compares every event with every subscription.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from foretell.bench.workloads.conjunctions import Conjunctions

if TYPE_CHECKING:
    import duckdb
    import polars as pl


class Join(Protocol):
    """`matches` has the columns `time` (the number of the event) and `id` (that of the subscription)."""

    name: str

    def matches(self, events: pa.Table) -> pa.Table: ...


def installed_joins(workload: Conjunctions, subscriptions: pa.Table) -> list[Join]:
    """The joins whose library is installed. Call it before anything imports Polars, which counts its threads then."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    groups = list(_groups(workload, subscriptions))
    joins: list[Join] = []
    if find_spec("polars") is not None:
        joins.append(PolarsJoin(workload, groups))
    if find_spec("duckdb") is not None:
        joins.append(DuckDbJoin(workload, groups))
    return joins


Groups = list[tuple[tuple[str, ...], pa.Table]]


def _groups(workload: Conjunctions, subscriptions: pa.Table) -> Iterator[tuple[tuple[str, ...], pa.Table]]:
    """The subscriptions that fix the same attributes, with their parameters under other names than the attributes."""
    for key in workload.keys:
        fixes = [pc.is_valid(subscriptions[name]) for name in key]
        leaves_out = [pc.is_null(subscriptions[name]) for name in workload.sizes if name not in key]
        chosen = fixes[0]
        for condition in (*fixes[1:], *leaves_out):
            chosen = pc.and_(chosen, condition)
        rows = subscriptions.filter(chosen)
        if rows.num_rows:
            ranges = [name for name in rows.column_names if name.endswith(("_from", "_to", "_above"))]
            names = {name: f"its_{name}" for name in key}
            yield key, rows.select(["id", *key, *ranges]).rename_columns(["id", *names.values(), *ranges])


class PolarsJoin:
    """An inner join for each group, then the ranges."""

    name = "Polars"

    def __init__(self, workload: Conjunctions, groups: Groups) -> None:
        import polars as pl

        self._groups = [(list(key), pl.DataFrame(pl.from_arrow(rows)).lazy()) for key, rows in groups]
        self._ranges = pl.all_horizontal([self._range(workload, name) for name in workload.bounded])
        self._from_arrow: Any = pl.from_arrow
        self._concat = pl.concat

    @staticmethod
    def _range(workload: Conjunctions, name: str) -> pl.Expr:
        import polars as pl

        if not workload.closed:
            return pl.col(name) > pl.col(f"{name}_above")
        low = pl.col(f"{name}_from")
        return low.is_null() | ((pl.col(name) >= low) & (pl.col(name) <= pl.col(f"{name}_to")))

    def matches(self, events: pa.Table) -> pa.Table:
        frame = self._from_arrow(events).lazy()
        joined = [
            frame.join(rows, left_on=key, right_on=[f"its_{name}" for name in key])
            .filter(self._ranges)
            .select("time", "id")
            for key, rows in self._groups
        ]
        found: pa.Table = self._concat(joined).collect().to_arrow()
        return found


class DuckDbJoin:
    """A UNION ALL of joins, which DuckDB's optimizer orders."""

    name = "DuckDB"

    def __init__(self, workload: Conjunctions, groups: Groups) -> None:
        import duckdb

        self._connection: duckdb.DuckDBPyConnection = duckdb.connect()
        self._connection.execute("SET threads = 1; SET preserve_insertion_order = false")
        ranges = " AND ".join(self._range(workload, name) for name in workload.bounded)
        selects = []
        for number, (key, rows) in enumerate(groups):
            self._connection.register("given", rows)
            self._connection.execute(f"CREATE TABLE wanted{number} AS SELECT * FROM given")
            equal = " AND ".join(f"e.{name} = w.its_{name}" for name in key)
            selects.append(f"SELECT e.time, w.id FROM events e JOIN wanted{number} w ON {equal} WHERE {ranges}")
        self._query = " UNION ALL ".join(selects)

    @staticmethod
    def _range(workload: Conjunctions, name: str) -> str:
        if not workload.closed:
            return f"e.{name} > w.{name}_above"
        return f"(w.{name}_from IS NULL OR e.{name} BETWEEN w.{name}_from AND w.{name}_to)"

    def matches(self, events: pa.Table) -> pa.Table:
        self._connection.register("events", events)
        found: pa.Table = self._connection.sql(self._query).to_arrow_table()
        self._connection.unregister("events")
        return found
