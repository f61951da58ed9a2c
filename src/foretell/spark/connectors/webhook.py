"""`foretell_webhook`: a sink that posts the notifications of a streaming query by HTTP."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceStreamWriter
from pyspark.sql.types import StructType

from foretell.connectors.options import HEADER, WEBHOOK_OPTIONS, SourceOptions, receiver_of
from foretell.spark.connectors.outbox_writer import OutboxWriter, check_columns


class WebhookSource(DataSource):
    """A sink without a source. Options: docs/brokers.md."""

    @classmethod
    def name(cls) -> str:
        return "foretell_webhook"

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        check_columns(schema)
        options = SourceOptions(self.options, WEBHOOK_OPTIONS, HEADER)
        outbox = options.required("outbox", "a folder for unsent notifications")
        return OutboxWriter(receiver_of(options), outbox, options.seconds("wait", 30.0))
