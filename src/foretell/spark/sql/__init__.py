"""SQL table functions."""

from foretell.spark.sql.table_function import register

__all__ = ["register"]
