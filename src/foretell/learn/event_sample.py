"""A sample of the events that a model was trained on, by which a backtest recognises them.

Each event has a hash; the sample is the smallest hashes of all events. So it is the same however the events are divided
among tasks: samples are merged by keeping the smallest of both. Of other events, those whose hash is not above the
sample's largest were in the training exactly if their hash is in the sample.

>>> trained = EventSample.of(np.arange(0, 20, 2, np.uint64))
>>> trained.share_of(np.arange(10, dtype=np.uint64)), trained.share_of(np.arange(3, dtype=np.uint64))
(0.5, None)
"""

from __future__ import annotations

import numpy as np

from foretell.arrays import Words
from foretell.records import record

#: The hashes of a sample. Of a backtest with a twentieth as many events as the training, it then shows a dozen.
SAMPLE_SIZE = 256

#: The fewest events of a backtest whose hash could be in the sample: from fewer nothing follows.
_FEWEST = 5


@record
class EventSample:
    """`hashes` is sorted. A sample with fewer than SAMPLE_SIZE has those of all events."""

    hashes: Words

    @classmethod
    def of(cls, hashes: Words) -> EventSample:
        return cls(np.unique(hashes)[:SAMPLE_SIZE])

    def merged(self, other: EventSample) -> EventSample:
        return EventSample.of(np.concatenate([self.hashes, other.hashes]))

    def share_of(self, hashes: Words) -> float | None:
        """The share of events that are among those of the training; None where the sample does not show it."""
        distinct = np.unique(hashes)
        if len(self.hashes) == SAMPLE_SIZE:
            distinct = distinct[distinct <= self.hashes[-1]]
        if len(distinct) < _FEWEST:
            return None
        return float(np.isin(distinct, self.hashes).mean())

    def to_json(self) -> str:
        return self.hashes.astype(">u8").tobytes().hex()

    @classmethod
    def from_json(cls, text: object) -> EventSample:
        """Raises ValueError for another text."""
        data = bytes.fromhex(text) if isinstance(text, str) else b"?"
        if len(data) % 8 or len(data) > 8 * SAMPLE_SIZE:
            raise ValueError("expected a text of hashes 'sample'")
        return cls.of(np.frombuffer(data, ">u8").astype(np.uint64))


NO_SAMPLE = EventSample(np.zeros(0, np.uint64))
