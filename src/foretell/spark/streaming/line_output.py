"""Lines of JSON as the output of a streaming query: notifications on one side, late and malformed events on another.

Spark calls `write` with each micro-batch, in a thread of its own. A micro-batch that is repeated after a failure may be
written twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from foretell.errors import InputError
from foretell.notify.messages import rows_of_batch
from foretell.notify.row_encoder import encode_json
from foretell.spark.task_errors import task_error

#: Kinds of rows that are no notifications.
SIDE_KINDS = ("late", "bad", "refused")


@dataclass
class LineOutput:
    """`write` takes the line of a notification; the rows of a side kind go to its file, or are only counted.

    `kinds` are the kinds of rows that the user asked for among the notifications; None: all but the side kinds.
    `number_ids` names the statements whose FOR EACH rows have numbers as ids. `cause` is an error of `write_batch`; it
    ends the query.
    """

    write: Callable[[bytes], object]
    kinds: tuple[str, ...] | None = None
    side_files: Mapping[str, Path] = field(default_factory=dict)
    number_ids: frozenset[str] = frozenset()
    cause: BaseException | None = None

    def write_batch(self, batch: DataFrame, _: int) -> None:
        """Write a micro-batch, in the order of its times; keep an error for the thread that waits for the query."""
        try:
            order: Any = [("end", "ascending"), ("subscription", "ascending")]
            for part in batch.toArrow().sort_by(order).to_batches():
                for row in rows_of_batch(part):
                    self._write_row(row)
        except BaseException as error:
            self.cause = task_error(error, "the query") if isinstance(error, PySparkException) else error
            raise

    def _write_row(self, row: dict[str, Any]) -> None:
        kind = row["kind"]
        if kind in SIDE_KINDS and kind in self.side_files:
            append_line(self.side_files[kind], _side_content(row))
        if kind in self.kinds if self.kinds is not None else kind not in SIDE_KINDS:
            if row["subscription"] in self.number_ids:
                row["id"] = json.loads(row["id"])
            self.write(encode_json(row).encode() + b"\n")


def _side_content(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a late or malformed event as a line of a file has it: its stream, and what `bindings` has of it."""
    content = row["bindings"]
    return {"stream": row["subscription"], **(content if row["kind"] == "bad" else {"event": content})}


def append_line(path: Path, content: Mapping[str, Any]) -> None:
    try:
        with path.open("ab") as file:
            file.write(encode_json(content).encode() + b"\n")
    except OSError as error:
        raise InputError("cannot-write", f"cannot write '{path}': {error.strerror or error}") from None
