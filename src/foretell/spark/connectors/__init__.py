"""Spark data sources and sinks for MQTT and webhooks."""

from foretell.spark.connectors.registry import register

__all__ = ["register"]
