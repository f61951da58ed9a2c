"""The output of a shard in a micro-batch: its notifications as Arrow streams, in several rows where they are many.

Spark collects the rows of a shard before it sends them on, so they are compressed, and bounded: without a limit, one
micro-batch could take all memory of a task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from foretell.display import counted
from foretell.errors import InputError
from foretell.events.arrow_interop import table_to_bytes
from foretell.machine.exec.limits import Limits
from foretell.machine.exec.memory_size import format_bytes
from foretell.machine.matches.notification_order import notification_order
from foretell.machine.matches.results import ResultBatch
from foretell.notify.arrow_encoder import encode_results
from foretell.notify.collected_notifications import results_budget
from foretell.spark.notification_columns import NotificationColumns, SideRow

#: Notifications in a row of the output, at least, if there are as many.
ROW_NOTIFICATIONS = 131_072
#: The part of a task's memory that the rows of a shard may take. Spark copies them several times.
_MEMORY_SHARE = 8
#: The bytes that Spark can send of a shard in a micro-batch.
_MOST_BYTES = 2**31 - 2**24


class ShardOutput:
    """Takes the results of a micro-batch in parts. Raises InputError where they are too many."""

    def __init__(self, columns: NotificationColumns, limits: Limits) -> None:
        self._columns = columns
        self._most = min(results_budget(limits), limits.budget // _MEMORY_SHARE, _MOST_BYTES)
        self._rows: list[bytes] = []
        self._tables: list[pa.Table] = []  # of the next row
        self.notifications = 0

    def take(self, results: list[ResultBatch]) -> None:
        """Encode notifications, those of each statement in their order; several shards have no common order."""
        order = notification_order(results)
        self.notifications += len(order)
        for batch, match, row, _ in order.by_batch():
            self._tables.append(self._columns.table(encode_results(batch, match, row)))
        if sum(table.num_rows for table in self._tables) >= ROW_NOTIFICATIONS:
            self._rows.append(table_to_bytes(pa.concat_tables(self._tables), compress=True))
            self._tables = []
            self._check()

    def rows(self, others: Iterable[SideRow]) -> Iterator[bytes]:
        """The rows, the last of them with those that are no notifications."""
        yield from self._rows
        rest = pa.concat_tables([*self._tables, self._columns.side_table(others)])
        if rest.num_rows:
            yield table_to_bytes(rest)

    def _check(self) -> None:
        if sum(map(len, self._rows)) > self._most:
            count = counted(self.notifications, "notification")
            raise InputError(
                "results-limit",
                f"the notifications of a shard in one micro-batch take over {format_bytes(self._most)}, compressed: "
                f"{count}, and more would follow",
                hint="add WITHIN or AFTER MATCH, read fewer events in a micro-batch, or raise Limits.results or memory",
            )
