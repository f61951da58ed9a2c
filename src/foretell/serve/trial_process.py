"""The process that tries statements on kept events: for each line of JSON on standard input, followed by the events as
Arrow streams, it writes a line of JSON. The service ends it where it takes too long."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from foretell.api.run import run
from foretell.errors import ForetellError
from foretell.events.arrow_interop import table_from_bytes
from foretell.machine.exec.limits import Limits
from foretell.notify.row_encoder import encode_json, to_row

#: A trial may not take more memory, nor more room for its notifications.
_LIMITS = Limits(memory="1 GiB", results="512 MiB")


def answer(request: Mapping[str, Any], streams: Mapping[str, pa.Table]) -> dict[str, Any]:
    """The notifications of the tried statements alone, on the events from a time on."""
    began = time.perf_counter()
    events = {name: _since(table, request["times"][name], request["since"]) for name, table in streams.items()}
    times = [time for name, table in events.items() for time in _ends(table, request["times"][name])]
    try:
        found = run(
            request["text"],
            events,
            engine="embedded",
            tables=request["tables"],
            model=request["model"],
            limits=_LIMITS,
        ).of(request["names"])
    except ForetellError as error:
        return {"error": error.message, "hint": error.hint, "code": error.code}
    counts: dict[str, int] = {}
    for kinds in found.summary.notifications.values():
        for kind, count in kinds.items():
            counts[kind] = counts.get(kind, 0) + count
    rows = [{"estimate": None, **to_row(each)} for each in found[-request["rows"] :]]
    return {
        "rows": rows,
        "counts": counts,
        "total": len(found),
        "events": sum(table.num_rows for table in events.values()),
        "from": min(times, default=None),
        "to": max(times, default=None),
        "seconds": round(time.perf_counter() - began, 3),
        "notes": list(found.notes),
    }


def _since(table: pa.Table, column: str, since: int | float) -> pa.Table:
    times = table.column(column)
    numbers: Any = times.cast(pa.int64()) if pa.types.is_timestamp(times.type) else times
    return table.filter(pc.greater_equal(numbers, pa.scalar(since)))


def _ends(table: pa.Table, column: str) -> list[Any]:
    """The first and the last time of a table, as notifications have them."""
    if not table.num_rows:
        return []
    ends: Any = pc.min_max(table.column(column)).as_py()
    shown = [ends["min"], ends["max"]]
    return [t.isoformat().replace("+00:00", "Z") if hasattr(t, "isoformat") else t for t in shown]


def serve(source: BinaryIO, target: BinaryIO) -> None:
    while line := source.readline():
        request = json.loads(line)
        streams = {name: table_from_bytes(source.read(size)) for name, size in request["streams"].items()}
        target.write(encode_json(answer(request, streams)).encode() + b"\n")
        target.flush()


def main() -> None:
    os.nice(10)  # the pipeline goes first
    serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
