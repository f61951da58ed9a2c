"""Spark data sources and sinks: MQTT and webhooks."""

from foretell.spark.connectors.registry import register

__all__ = ["register"]
