"""`foretell_webhook`: a sink that posts the notifications of a streaming query by HTTP."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceStreamWriter
from pyspark.sql.types import StructType

from foretell.connectors.secrets import Secret, is_secret_header
from foretell.connectors.webhook import Receiver
from foretell.spark.connectors.options import SourceOptions
from foretell.spark.connectors.outbox_writer import OutboxWriter, check_columns

_KNOWN = ("url", "outbox", "perRequest", "timeout", "wait", "ca")
_HEADER = "header."


def _header(name: str, value: str) -> str | Secret:
    return Secret.of(_HEADER + name, value) if is_secret_header(name) or value.startswith("env:") else value


class WebhookSource(DataSource):
    """A sink without a source. Options: docs/brokers.md."""

    @classmethod
    def name(cls) -> str:
        return "foretell_webhook"

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        check_columns(schema)
        options = SourceOptions(self.options, _KNOWN, _HEADER)
        receiver = Receiver(
            url=options.required("url", "the address to post to"),
            together=options.whole("perRequest", 1),
            timeout=options.seconds("timeout", 10.0),
            headers={name: _header(name, value) for name, value in options.prefixed(_HEADER).items()},
            ca=options.text("ca"),
        )
        outbox = options.required("outbox", "a folder for unsent notifications")
        return OutboxWriter(receiver, outbox, options.seconds("wait", 30.0))
