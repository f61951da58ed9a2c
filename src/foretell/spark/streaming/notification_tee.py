"""The tee of a streaming query: the rows on their way to the output, for a process that shows them.

Tasks write what they see to files in a folder of this machine, each with the counts of its rows and the last of them;
the process that started the query reads and removes them. Nothing here can fail the query: where the folder is not to
be had, on another machine, nothing is written. A task that is repeated shows its rows again.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from foretell.events.arrow_interop import table_from_bytes, table_to_bytes

#: Rows that a file has, and files that may wait to be read; beyond them there are counts alone.
MOST_ROWS, MOST_FILES = 5_000, 50
_ENDING = ".arrow"
_COUNTS = b"foretell counts"


@dataclass(frozen=True)
class SeenRows:
    """The number of rows by subscription and kind, and the last of them."""

    counts: dict[tuple[str, str], int]
    rows: pa.Table


@dataclass(frozen=True)
class NotificationTee:
    """Passes batches on, for `mapInArrow`."""

    folder: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                with suppress(OSError):
                    self._write(batch)
            yield batch

    def _write(self, batch: pa.RecordBatch) -> None:
        folder = Path(self.folder)
        if not folder.is_dir():
            return
        is_full = sum(1 for _ in folder.glob(f"*{_ENDING}")) >= MOST_FILES
        rows = pa.Table.from_batches([batch.slice(0, 0) if is_full else batch.slice(max(0, len(batch) - MOST_ROWS))])
        counted = [[*key, count] for key, count in _counts(batch).items()]
        rows = rows.replace_schema_metadata({_COUNTS: json.dumps(counted).encode()})
        draft = folder / uuid.uuid4().hex
        draft.write_bytes(table_to_bytes(rows))
        draft.rename(draft.with_suffix(_ENDING))

    def take(self) -> list[SeenRows]:
        """The rows since the last call, in the order in which they were written."""
        found = []
        for path in _by_time(Path(self.folder)):
            with suppress(OSError, pa.ArrowException):
                table = table_from_bytes(path.read_bytes())
                found.append(_seen(table))
            path.unlink(missing_ok=True)
        return found


def _counts(batch: pa.RecordBatch) -> dict[tuple[str, str], int]:
    names = pa.Table.from_batches([batch]).select(["subscription", "kind"])
    grouped = names.group_by(["subscription", "kind"]).aggregate([([], "count_all")]).to_pylist()
    return {(row["subscription"], row["kind"]): row["count_all"] for row in grouped}


def _seen(table: pa.Table) -> SeenRows:
    counted = json.loads((table.schema.metadata or {})[_COUNTS])
    return SeenRows({(name, kind): count for name, kind, count in counted}, table)


def _by_time(folder: Path) -> Sequence[Path]:
    found = []
    for path in folder.glob(f"*{_ENDING}"):
        with suppress(OSError):
            found.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(found)]
