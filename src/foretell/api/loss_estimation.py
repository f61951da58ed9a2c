"""`estimate_loss`: how many events a reader loses, from data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.arguments.input_settings import as_input_settings
from foretell.arguments.streams import stream_declaration
from foretell.arguments.validation import as_mapping, as_names, bad_argument
from foretell.arrays import Floats, Ints
from foretell.errors import InputError, suggestion
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.reader import EventBatch, misfit_summary, reading_notes
from foretell.events.ingest.reader import read as read_events
from foretell.events.types import Type
from foretell.recover.loss_estimates import LossReport, of_complete, of_readers, of_repeated_reads


def estimate_loss(
    inputs: Mapping[str, object],
    passage: str | Sequence[str],
    *,
    complete: str | None = None,
    pause: float | None = None,
    attempts: int | None = None,
    confidence: float = 0.95,
    time: Mapping[str, str] | str | None = None,
    read: ReadOptions | Mapping[str, ReadOptions] | None = None,
    strict: bool = False,
) -> LossReport:
    """Estimates the loss at each reader, for LOSING and LOSS, from events that should be of the same passages.

    `inputs` has the events of each reader by its name, as in `run`. Events with equal values of the attributes
    `passage` are of the same passage; with `pause` (in seconds, or the unit of a numeric time) a longer time without
    any event begins another one. The method follows from the inputs: several readers are compared with each other, or
    where `complete` names one of them with that; of one alone it is concluded from how often it has read a passage,
    which it has tried `attempts` times, or without a number at random.

    >>> reads = [{"time": n, "tag": n} for n in range(1000)]
    >>> estimate_loss({"gate": [r for r in reads if r["tag"] % 10], "door": reads[::3]}, "tag", time="time")
    Loss by several readers, 95% intervals
      reader  loss    from    to      seen  of passages
      gate    0.1018  0.0738  0.1389  300   334
      door    0.6667  0.6352  0.6967  300   900
      about 1,002 passages, with those that nobody has
    """
    sources = as_mapping(inputs, "inputs", "inputs={'gate': 'gate.csv'}")
    keys = (passage,) if isinstance(passage, str) else as_names(passage, "passage", "passage=['tag', 'visit']") or ()
    _check(sources, keys, complete, pause, attempts, confidence)
    settings = as_input_settings(time, read)
    batches = {
        name: read_events(source, stream_declaration(None, name, settings), strict=strict)
        for name, source in sources.items()
    }
    passages = _Passages(batches, keys, pause)
    reads = {name: passages.reads(name) for name in batches}
    if complete is not None:
        record = reads.pop(complete)
        during = passages.during(complete)
        found = of_complete(complete, (record > 0)[during], {n: r[during] for n, r in reads.items()}, confidence)
    elif len(reads) > 1:
        found = of_readers(reads, confidence)
    else:
        ((name, counts),) = reads.items()
        if attempts is not None and counts.max() > attempts:
            message = f"a passage has {counts.max():,} reads of '{name}', more than its {attempts:,} attempts"
            raise InputError("bad-argument", message, hint="give the number of attempts of a passage, or a pause")
        found = of_repeated_reads(name, counts, attempts, confidence)
    notes = tuple(note for batch in batches.values() for note in reading_notes(batch))
    return replace(found, notes=(*notes, *misfit_summary(batches.values()), *passages.notes, *found.notes))


def _check(
    sources: Mapping[str, object], keys: Sequence[str], complete: object, pause: object, attempts: object, level: object
) -> None:
    if not sources:
        hint = "add --input gate=PATH, or inputs={'gate': ...}"
        raise InputError("missing-input", "there is no reader to estimate the loss of", hint=hint)
    if not keys:
        raise InputError("bad-argument", "passage: expected at least one attribute", hint="passage=['tag']")
    if complete is not None and complete not in sources:
        hint = suggestion(str(complete), sources)
        raise InputError("bad-argument", f"complete: '{complete}' is none of the inputs", hint=hint)
    if complete is not None and len(sources) < 2:
        hint = "add the events of the reader"
        raise InputError("bad-argument", f"'{complete}' is complete, and there is no reader to compare", hint=hint)
    if pause is not None and not (isinstance(pause, int | float) and pause > 0):
        raise bad_argument("pause", "a time above 0", pause)
    if attempts is not None and (type(attempts) is not int or attempts < 2):
        raise bad_argument("attempts", "a whole number from 2 on", attempts)
    if attempts is not None and len(sources) > 1:
        hint = "give one input, or leave attempts out"
        raise InputError("bad-argument", "attempts: several readers are compared with each other", hint=hint)
    if not (isinstance(level, int | float) and 0 < level < 1):
        raise bad_argument("confidence", "a number between 0 and 1", level)


class _Passages:
    """The passage of each event of all readers."""

    def __init__(self, batches: Mapping[str, EventBatch], keys: Sequence[str], pause: float | None) -> None:
        self.notes: tuple[str, ...] = ()
        names, times, readers = list[tuple[object, ...]](), list[Floats](), list[Ints]()
        self._names = list(batches)
        for number, (name, batch) in enumerate(batches.items()):
            for key in keys:
                if key not in batch.table.column_names:
                    hint = suggestion(key, batch.table.column_names)
                    raise InputError("unknown-attribute", f"the events of '{name}' have no '{key}'", hint=hint)
            names += zip(*(batch.table[key].to_pylist() for key in keys), strict=True)
            times.append(_times(batch))
            readers.append(np.full(len(times[-1]), number))
        known = np.array([None not in name for name in names], np.bool_)
        if not known.any():
            raise InputError("no-events", f"no event has a value of {' and '.join(keys)}")
        if missing := int(np.sum(~known)):
            self.notes = (f"{missing:,} events without a value of {' and '.join(keys)} are left out",)
        codes: dict[tuple[object, ...], int] = {}
        key_of = np.array([codes.setdefault(n, len(codes)) for n, k in zip(names, known.tolist(), strict=True) if k])
        self._reader, self._time = np.concatenate(readers)[known], np.concatenate(times)[known]
        order = np.lexsort((self._time, key_of))
        begins = np.diff(key_of[order], prepend=-1) != 0
        if pause is not None:
            begins |= np.diff(self._time[order], prepend=-np.inf) > pause
        self._passage = np.empty(len(order), np.int64)
        self._passage[order] = np.cumsum(begins) - 1
        self._count = int(begins.sum())

    def reads(self, name: str) -> Ints:
        """How many events of each passage a reader has."""
        return np.bincount(self._passage[self._of(name)], minlength=self._count)

    def during(self, name: str) -> Any:
        """The passages that begin in the time of a reader's events."""
        own = self._time[self._of(name)]
        first = np.full(self._count, np.inf)
        np.minimum.at(first, self._passage, self._time)
        return (first >= own.min(initial=np.inf)) & (first <= own.max(initial=-np.inf)) | (self.reads(name) > 0)

    def _of(self, name: str) -> Any:
        return self._reader == self._names.index(name)


def _times(batch: EventBatch) -> Floats:
    """The times of events, in seconds where they are timestamps."""
    assert batch.schema.time is not None
    column = batch.table[batch.schema.time]
    if batch.schema.time_type is Type.TIMESTAMP:
        return np.asarray(column.cast(pa.int64()).to_numpy() / 1e6, np.float64)
    return np.asarray(column.to_numpy(), np.float64)
