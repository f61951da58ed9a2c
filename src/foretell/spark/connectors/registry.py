"""Registration of the data sources `foretell_mqtt` and `foretell_webhook` in a Spark session."""

from __future__ import annotations

from pyspark.sql import SparkSession

from foretell.spark.connectors.mqtt import MqttSource
from foretell.spark.connectors.webhook import WebhookSource


def register(spark: SparkSession) -> None:
    """Register the sources and sinks in a session."""
    for source in (MqttSource, WebhookSource):
        spark.dataSource.register(source)
