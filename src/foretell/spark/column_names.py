"""Column names, quoted for Spark."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column
from pyspark.sql import functions as f


def quoted_name(name: str) -> str:
    """Return the name of a column as SQL, which may contain dots and backticks."""
    return "`" + name.replace("`", "``") + "`"


def column(name: str) -> Column:
    """Return the column of a name."""
    return f.col(quoted_name(name))


def numbered_columns(names: Iterable[str]) -> list[Column]:
    """Return columns named by their numbers, for `mapInArrow`, which does not quote names; tasks rename them back."""
    return [column(name).alias(f"column{number}") for number, name in enumerate(names)]
