"""Subscriptions as table functions of Spark SQL."""

from foretell.extras import require_extra

require_extra("spark", "Foretell on Spark")

from foretell.spark.sql.table_function import register  # noqa: E402

__all__ = ["register"]
