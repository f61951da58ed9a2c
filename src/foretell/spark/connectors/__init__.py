"""Spark data sources and sinks for MQTT and webhooks."""

from foretell.extras import require_extra

require_extra("spark", "Foretell on Spark")

from foretell.spark.connectors.registry import register  # noqa: E402

__all__ = ["register"]
