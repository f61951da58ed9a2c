"""w1 and w3 with the window functions of polars, on one thread, to compare with.

polars has no patterns. These two can be said with shifts and running sums, because each event begins at most one match.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

from foretell.bench.workloads.ticks import ticks

if TYPE_CHECKING:
    import polars as pl

_RUNS = 3


def polars_seconds(events: int) -> dict[str, tuple[float, int]]:
    """The processor time of w1 and w3, by case: with names as categories and as texts; and how many matches they found.
    Nothing where polars is not installed."""
    if find_spec("polars") is None:
        return {}
    command = [sys.executable, "-m", "foretell.bench.polars_baseline", str(events)]
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}  # polars reads it when it is imported
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {name: (seconds, count) for name, (seconds, count) in json.loads(done.stdout).items()}


def _w1(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    price = pl.col("price")
    following = frame.with_columns(price.shift(-1).over("name").alias("b"), price.shift(-2).over("name").alias("c"))
    return following.filter((price < 60) & (pl.col("b") > price) & (pl.col("c") > pl.col("b")))


def _w3(frame: pl.DataFrame) -> pl.DataFrame:
    """Rising runs: an event, all that rise after it, and the first that does not."""
    import polars as pl

    price, lane = pl.col("price"), ["name", "run"]
    rises = (price > price.shift(1)).fill_null(value=False)
    runs = frame.with_columns((~rises).cum_sum().over("name").alias("run"))
    of_each = runs.with_columns(
        (pl.len().over(lane) - pl.int_range(pl.len()).over(lane) - 1).alias("n"),
        (price.sum().over(lane) - price.cum_sum().over(lane)).alias("rest"),
        pl.col("run").max().over("name").alias("last"),
    )
    found = of_each.filter((pl.col("n") > 0) & (pl.col("run") < pl.col("last")))
    return found.select("name", "ts", "n", (pl.col("rest") / pl.col("n")).alias("mean"))


def main() -> None:
    import polars as pl

    frame = pl.from_arrow(ticks(int(sys.argv[1])))
    assert isinstance(frame, pl.DataFrame)
    frames = {"categories": frame.with_columns(pl.col("name").cast(pl.Categorical)), "texts": frame}
    measured = {}
    for name, work in (("w1", _w1), ("w3", _w3)):
        for form, named in frames.items():
            times, count = [], 0
            for _ in range(_RUNS):
                started = time.process_time()
                count = work(named).height
                times.append(time.process_time() - started)
            measured[f"{name}: polars, {form}"] = (min(times), count)
    sys.stdout.write(json.dumps(measured))


if __name__ == "__main__":
    main()
