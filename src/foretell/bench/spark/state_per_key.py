"""Baseline of the streaming benchmark: state for each key, as in Spark's own examples; Spark calls once for each key.

It runs the workload w1 (three rising prices in a row, the first below 60) and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

_OUTPUT = "key BIGINT, a BIGINT, b BIGINT, c BIGINT"
_STATE = "id1 BIGINT, price1 DOUBLE, id2 BIGINT, price2 DOUBLE"


def follow_by_key(ticks: DataFrame) -> DataFrame:
    from foretell.spark.streaming.query import use_rocksdb

    use_rocksdb(ticks.sparkSession)
    keyed = ticks.select("key", "id", "ts", "price").groupBy("key")
    return keyed.transformWithStateInPandas(_RisingPrices(), _OUTPUT, outputMode="Append", timeMode="None")


class _RisingPrices(StatefulProcessor):
    """Keeps the last two events of a key, which is all that three in a row need."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._last = handle.getValueState("last", _STATE)

    # (The parameter's name is Spark's.)
    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        import pandas as pd  # Spark passes pandas frames here

        events = pd.concat(list(rows)).sort_values("ts", kind="stable")
        first, low, second, high = self._last.get() or (None, None, None, None)
        matches = []
        for name, price in zip(events["id"].tolist(), events["price"].tolist()):
            if low is not None and high is not None and low < 60 and low < high < price:
                matches.append((key[0], first, second, name))
            first, low, second, high = second, high, name, price
        self._last.update((first, low, second, high))
        yield pd.DataFrame(matches, columns=["key", "a", "b", "c"])

    def close(self) -> None:
        pass
