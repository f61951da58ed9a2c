"""Subscriptions as table functions of Spark SQL."""

from foretell.spark.sql.table_function import register

__all__ = ["register"]
