"""The stateful processor that Spark knows: it declares the variables of a shard's state, and defers everything else.

Before each query Spark starts a Python process only to ask for these variables. The module imports nothing of the
engine, which would take that process more than a second.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructType

# Names and schemas are in the checkpoints: they must not change.
_VALUE = StructType().add("about", StringType()).add("engine", BinaryType())
_KEY, _PAGE = StructType().add("name", BinaryType()), StructType().add("page", BinaryType())


@dataclass(frozen=True)
class StateVariables:
    """Spark's variables of the shard that it is processing: one value, and pages by their names."""

    value: Any
    pages: Any

    @classmethod
    def of(cls, handle: StatefulProcessorHandle) -> StateVariables:
        return cls(handle.getValueState("shard", _VALUE), handle.getMapState("pages", _KEY, _PAGE))


class Processor(Protocol):
    """Processes the rows of one shard in a micro-batch."""

    def process(self, shard: int, rows: Iterator[Row], variables: StateVariables) -> Iterator[Row]: ...


class DeferredProcessor(StatefulProcessor):
    """Loads a processor when the first rows come."""

    def __init__(self, processor: Processor) -> None:
        self._pickled = pickle.dumps(processor)
        self._processor: Processor | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._variables = StateVariables.of(handle)

    # (Spark passes these names by keyword. Its own type asks for pandas frames; this processor takes rows.)
    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # type: ignore[override]  # noqa: N802, N803
        if self._processor is None:
            self._processor = pickle.loads(self._pickled)
        (shard,) = key
        yield from self._processor.process(shard, rows, self._variables)

    def close(self) -> None:
        pass
