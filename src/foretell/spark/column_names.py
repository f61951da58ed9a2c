"""Column names, quoted for Spark."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as f


def column(name: str) -> Column:
    """Return the column of a name, which may contain dots and backticks."""
    return f.col("`" + name.replace("`", "``") + "`")
