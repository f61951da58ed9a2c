"""What makes `foretell_mqtt` and `foretell_webhook` known to a Spark session."""

from __future__ import annotations

from pyspark.sql import SparkSession

from foretell.spark.connectors.mqtt import MqttSource
from foretell.spark.connectors.webhook import WebhookSource


def register(spark: SparkSession) -> None:
    """From here on the session knows our sources and sinks."""
    for source in (MqttSource, WebhookSource):
        spark.dataSource.register(source)
