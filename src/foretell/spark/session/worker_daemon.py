"""Spark's daemon of Python workers, with our modules loaded before it forks the workers.

A worker of Spark's own daemon would import them in its first task, each worker again.
"""

from __future__ import annotations

from pyspark.daemon import manager

import foretell.spark.batch.map_side
import foretell.spark.batch.reduce_side
import foretell.spark.streaming.shard_processor  # noqa: F401

if __name__ == "__main__":
    manager()
