"""An estimate of the number of events in files, from their sizes and first rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa

from foretell.events.ingest.compression import compression_of
from foretell.events.ingest.input_files import CSV, PARQUET, InputFile, input_files, open_input
from foretell.events.ingest.read_options import ReadOptions

_SAMPLE_BYTES = 1 << 18
#: Bytes of text for each byte of a compressed file: what gzip makes of log files, roughly.
_COMPRESSION = 8


@dataclass(frozen=True)
class EventCount:
    """A number of events; not `exact` where it is estimated."""

    events: int
    exact: bool


def estimated_events(source: str | os.PathLike[str], options: ReadOptions) -> EventCount:
    """The number of events of files: of Parquet as they say, of text by the length of its first rows."""
    listing = input_files(source, options)
    if listing.format == PARQUET:
        return EventCount(sum(map(_parquet_rows, listing.files)), exact=True)
    return _text_rows(listing.files, headers=listing.format == CSV and options.columns is None)


def _parquet_rows(file: InputFile) -> int:
    import pyarrow.parquet as pq  # takes a while to import

    try:
        with open_input(file.path) as opened:
            return pq.read_metadata(cast(Any, opened)).num_rows
    except pa.ArrowInvalid:
        return 0  # the reader will say what is wrong with it


def _text_rows(files: Sequence[InputFile], *, headers: bool) -> EventCount:
    sizes = [file.size() * (1 if compression_of(file.path) is None else _COMPRESSION) for file in files]
    total = sum(sizes)
    if not total:
        return EventCount(0, exact=False)
    with open_input(files[sizes.index(max(sizes))].path) as file:
        sample = file.read(_SAMPLE_BYTES)
    # The records of a JSON array may all be on one line.
    rows = max(sample.count(b"\n") + (not sample.endswith(b"\n")), sample.count(b"},{"), 1)
    if len(files) == 1 and len(sample) < _SAMPLE_BYTES:  # all of it
        return EventCount(max(rows - headers, 0), exact=False)
    return EventCount(round(total * rows / max(len(sample), 1)), exact=False)
