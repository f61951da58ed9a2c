"""`foretell_mqtt`: a source of an MQTT broker's messages, and a sink that publishes notifications to a broker.

Spark needs offsets and may read the same messages again; MQTT has neither. So one subscriber, in the driver's process,
writes all messages to a spool (connectors.mqtt.spool), which the tasks read; offsets are message numbers in the spool.
All tasks must reach its folder: local mode, or a folder that all machines share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, DataSourceStreamWriter, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from foretell.connectors.mqtt.client import Broker
from foretell.connectors.mqtt.payloads import ENVELOPE, message_table
from foretell.connectors.mqtt.publisher import Topic
from foretell.connectors.mqtt.spool import SpoolRange
from foretell.connectors.mqtt.subscriber import Subscriber, TopicSubscription
from foretell.connectors.options import MQTT_SINK_OPTIONS, MQTT_SOURCE_OPTIONS, SourceOptions, broker_of
from foretell.errors import InputError
from foretell.events.types import Type
from foretell.spark.connectors.outbox_writer import OutboxWriter, check_columns

_MESSAGE = "topic STRING, payload BINARY, received TIMESTAMP, number LONG"
_TYPES: Mapping[type[DataType], Type] = {
    BooleanType: Type.BOOL,
    LongType: Type.INT,
    DoubleType: Type.FLOAT,
    StringType: Type.STRING,
    TimestampType: Type.TIMESTAMP,
}
_ARROW_BATCH = 10_000  # messages in a record batch of a task
_QUIET = 1.0  # seconds without a message after which `availableNow` assumes that the broker has sent all it had


class MqttSource(DataSource):
    """A source and a sink. Options: docs/brokers.md."""

    @classmethod
    def name(cls) -> str:
        return "foretell_mqtt"

    def schema(self) -> str:
        fields = self.options.get("schema")
        return f"{_MESSAGE}, malformed STRING, {fields}" if fields else _MESSAGE

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        options = SourceOptions(self.options, MQTT_SOURCE_OPTIONS)
        topic = options.required("topic", "the topics to subscribe to, such as plant/+/temperature")
        return MqttReader(
            broker_of(options),
            TopicSubscription(topic, options.whole("qos", 1), options.text("clientId")),
            options.required("spool", "a folder that keeps messages until the query has processed them"),
            options.whole("maxMessagesPerBatch", 0),
            schema,
            _fields(schema),
        )

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        check_columns(schema)
        options = SourceOptions(self.options, MQTT_SINK_OPTIONS)
        name = options.required("topic", "the topic to publish to, such as foretell/{subscription}")
        outbox = options.required("outbox", "a folder for unsent notifications")
        return OutboxWriter(Topic(broker_of(options), name), outbox, options.seconds("wait", 30.0))


@dataclass
class SpoolPartition(InputPartition):
    """The messages that one task reads."""

    slice: SpoolRange


class MqttReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads messages. Spark sends copies of it to the tasks, so it connects only when Spark asks for offsets."""

    def __init__(
        self,
        broker: Broker,
        subscription: TopicSubscription,
        spool: str,
        limit: int,
        schema: StructType,
        fields: Mapping[str, Type],
    ) -> None:
        self._broker, self._subscription, self._spool = broker, subscription, spool
        self._limit, self._schema, self._fields = limit, schema, fields
        self._subscriber: Subscriber | None = None
        self._target: int | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return self._offset(self._open().spool.first)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self._limit) if self._limit else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        subscriber = self._open()
        subscriber.settle(_QUIET)
        self._target = subscriber.spool.next

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        subscriber = self._open()
        subscriber.check()
        begin = self._number(start)
        end = subscriber.spool.next if self._target is None else self._target
        if isinstance(limit, ReadMaxRows):
            end = min(end, begin + limit.max_rows)
        return self._offset(max(begin, end))

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        return self._offset(self._open().spool.next)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [SpoolPartition(part) for part in self._open().spool.slices(self._number(start), self._number(end))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, SpoolPartition)
        messages = partition.slice.read()
        while batch := list(islice(messages, _ARROW_BATCH)):
            yield from self._shaped(message_table(batch, self._fields)).to_batches()

    def commit(self, end: dict[str, Any]) -> None:
        self._open().discard(self._number(end))

    def stop(self) -> None:
        if self._subscriber is not None:
            self._subscriber.close()

    def _open(self) -> Subscriber:
        if self._subscriber is None:
            self._subscriber = Subscriber(self._broker, self._subscription, self._spool)
        return self._subscriber

    def _offset(self, number: int) -> dict[str, Any]:
        return {"spool": self._open().spool.id, "number": number}

    def _number(self, offset: dict[str, Any]) -> int:
        if offset["spool"] != self._open().spool.id:
            raise InputError(
                "other-spool",
                f"the checkpoint belongs to another spool than '{self._spool}'",
                hint="restore that spool, or start with a new checkpoint",
            )
        return int(offset["number"])

    def _shaped(self, table: pa.Table) -> pa.Table:
        """Return the columns of the query, in its order."""
        columns = [_text(table[f.name]) if _is_text(f) else table[f.name] for f in self._schema.fields]
        return pa.table(columns, names=self._schema.names)


def _is_text(field: Any) -> bool:
    return field.name == "payload" and isinstance(field.dataType, StringType)


def _text(payloads: Any) -> Any:
    return pa.array([payload.decode("utf-8", "replace") for payload in payloads.to_pylist()], pa.string())


def _fields(schema: StructType) -> dict[str, Type]:
    """Return the columns that are fields of the payload: those that are not columns of every message."""
    kinds = {field.name: type(field.dataType) for field in schema.fields}
    if len(kinds) < len(schema.fields):
        raise InputError(
            "bad-option", "schema: a column occurs twice; every message has topic, payload, received and number"
        )
    _check_envelope(kinds)
    fields = {name: kind for name, kind in kinds.items() if name not in ENVELOPE}
    for name, kind in fields.items():
        if kind not in _TYPES:
            raise InputError(
                "wrong-type",
                f"{name}: a field is BOOLEAN, BIGINT, DOUBLE, STRING or TIMESTAMP, not {kind.typeName().upper()}",
                hint="leave the field out, and extract it from the payload with from_json",
            )
    if fields and not {"payload", "malformed"} <= kinds.keys():
        raise InputError(
            "missing-column",
            "a schema with fields also needs 'payload BINARY' and 'malformed STRING', or malformed messages are lost",
            hint="add them, or use .option('schema', …) instead of .schema(…), which adds them",
        )
    return {name: _TYPES[kind] for name, kind in fields.items()}


def _check_envelope(kinds: Mapping[str, type[DataType]]) -> None:
    wanted: Mapping[str, tuple[type[DataType], ...]] = {
        "topic": (StringType,),
        "payload": (BinaryType, StringType),
        "received": (TimestampType,),
        "number": (LongType,),
        "malformed": (StringType,),
    }
    for name in kinds.keys() & wanted.keys():
        if kinds[name] not in wanted[name]:
            expected = wanted[name][0].typeName().upper()
            raise InputError("wrong-type", f"{name}: this column of a message is {expected}")
