"""The tokens of a FOR EACH correlator with FORECAST: each row has a machine of its own, whose states forecasts know.

The hidden subscription runs row by row, too, so that the forecaster of a row learns from its tokens alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foretell.arrays import Ints
from foretell.correlate.token_stage import TokenStage
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.types import Scalar
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.checked import CheckedCorrelator
from foretell.language.correlator_events import correlator_events
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.matches.results import ResultBatch
from foretell.machine.result_stage import ObservedResults, ResultStage
from foretell.storage.recorded_values import require


class RowTokenStage(ResultStage):
    def __init__(self, correlator: CheckedCorrelator) -> None:
        self.subscription = correlator
        self.events = correlator_events(correlator)
        self.patterns: Sequence[str] = (correlator.name,)
        self._first = TokenStage(correlator)
        self._rows: dict[Scalar, TokenStage] = {}

    def prepare(self, strings: StringDictionary) -> None:
        self._first.prepare(strings)

    def _row(self, row_id: Scalar) -> TokenStage:
        if row_id not in self._rows:
            self._rows[row_id] = self._first.anew()
        return self._rows[row_id]

    @property
    def nbytes(self) -> int:
        return sum(stage.nbytes for stage in self._rows.values())

    def needed_lanes(self) -> Ints:
        return np.concatenate([np.zeros(0, np.int64), *(stage.needed_lanes() for stage in self._rows.values())])

    def free_lanes(self, freed: Ints) -> None:
        for stage in self._rows.values():
            stage.free_lanes(freed)

    def remove_rows(self, ids: ArrowArray) -> None:
        for row_id in ids.to_pylist():
            self._rows.pop(row_id, None)

    def process(self, results: Sequence[ResultBatch], now: int | float) -> list[ResultBatch]:
        by_row: dict[Scalar, list[ResultBatch]] = {row_id: [] for row_id in self._rows}
        for result in results:
            by_row.setdefault(result.id, []).append(result)
        return [tokens for row_id, own in by_row.items() for tokens in self._row(row_id).process(own, now)]

    def observed(self, segment: EventSegment, row_id: Scalar) -> ObservedResults:
        return self._row(row_id).observed(segment, row_id)

    # ── snapshots ──

    def state(self) -> Mapping[str, Any]:
        return {"by_row": [[row_id, dict(stage.state())] for row_id, stage in self._rows.items()]}

    def restore(self, state: Mapping[str, Any], bounds: StateBounds, like: ResultBatch | None) -> None:
        for row_id, own in state["by_row"]:
            require(row_id not in self._rows, "the rows of a correlator")
            self._row(row_id).restore(own, bounds, like)
