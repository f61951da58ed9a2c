"""The results of an engine to an output, while others are still to come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from foretell.machine.exec.limits import RunLedger
from foretell.machine.matches.results import ResultBatch, ResultPiece
from foretell.machine.matches.settled_results import SettledResults
from foretell.notify.ordered_notifications import notification_parts
from foretell.notify.written_notifications import NotificationOutput, ResultOutput

#: So many results are put in order and written together, unless they come slowly.
WRITTEN_AT_ONCE = 131_072


def write_pieces(
    pieces: Iterable[ResultPiece],
    ledger: RunLedger,
    output: NotificationOutput | ResultOutput,
    only: Sequence[str] | None,
) -> Counter[tuple[str, str]]:
    """Write the notifications of all pieces while they come, or only those of some subscriptions. Returns the number of
    all, by subscription and kind."""
    counts: Counter[tuple[str, str]] = Counter()
    for results in SettledResults(ledger, WRITTEN_AT_ONCE).parts(pieces):
        for result in results:
            counts[result.schema.name, result.kind] += result.notification_count
        _write(output, [result for result in results if only is None or result.schema.name in only])
    return counts


def _write(output: NotificationOutput | ResultOutput, results: Sequence[ResultBatch]) -> None:
    if isinstance(output, ResultOutput):
        output.write_results(results)
        return
    for part in notification_parts(results):
        output.write(part)
