"""Memory and time of an engine on a stream of keys that are each seen once: `python benchmarks/keys.py 10000000 INT`.

Peak memory is that of the process, with the interpreter and the batch at hand.
"""

from __future__ import annotations

import resource
import sys
from time import process_time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import foretell as ft

BATCH = 50_000

STATEMENTS = {
    "a , b": "MATCH a , b DEFINE a AS v = 0, b AS v = 1 WITHIN 1 min",
    "a ; b": "MATCH a ; b DEFINE a AS v = 0, b AS v = 1 WITHIN 1 min",
    "a ; b+ ; c": "MATCH a ; b+ ; c DEFINE a AS v = 0, b AS v = 1, c AS v = 2 WITHIN 1 min",
}


def batch(first: int, texts: bool) -> pa.Table:
    """Events a millisecond apart."""
    number = pa.array(np.arange(first, first + BATCH))
    keys = pc.binary_join_element_wise("order-", number.cast(pa.string()), "") if texts else number
    times = pc.multiply(number, 1000).cast(pa.timestamp("us"))
    values = pa.array(np.arange(first, first + BATCH) % 3)
    return pa.table({"k": keys, "v": values, "time": times, "e": number})


def measure(count: int, kind: str, pattern: str) -> None:
    stream = f"STREAM s (k {kind}, v INT, time TIMESTAMP, e INT) TIME time ID e;"
    engine = ft.Engine(f"{stream} SUBSCRIBE m FROM s PER k {STATEMENTS[pattern]};")
    began = process_time()
    for first in range(0, count, BATCH):
        engine.push("s", batch(first, kind == "STRING"))
        if first + BATCH in (count // 10, count // 2, count):
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            seconds = process_time() - began
            print(f"{pattern}: {first + BATCH:,} {kind} keys, {peak:,.0f} MiB at most, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    measure(int(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "a ; b+ ; c")
