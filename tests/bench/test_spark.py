"""The benchmark on Spark: its data is made in pieces, needs room, and each master finds the same matches."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from foretell.bench.processes import descendants, processor_seconds
from foretell.bench.result import BenchResult
from foretell.bench.spark import batch
from foretell.bench.workloads import ticks as workload
from foretell.errors import InputError

MEASURE = """
from foretell.bench.spark.batch import measure
if __name__ == "__main__":
    for result in measure(30_000, cluster=True):
        print(result.line())
"""


def test_ticks_are_written_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "MAX_TICKS", 20_000)
    monkeypatch.setattr(batch, "_FILE_EVENTS", 8_000)
    batch.write(tmp_path / "ticks", 50_000)
    files = sorted((tmp_path / "ticks").iterdir())
    assert [pq.read_metadata(path).num_rows for path in files] == [8_000, 8_000, 4_000] * 2 + [8_000, 2_000]
    assert {pq.read_metadata(path).num_row_groups for path in files} == {4}
    table = pq.read_table(tmp_path / "ticks")
    assert (np.diff(table["ts"].to_numpy()) > 0).all()
    prices = table["price"].to_numpy()
    assert (prices[:20_000] == prices[20_000:40_000]).all()


def test_the_disk_must_have_room(tmp_path: Path) -> None:
    batch.require_disk(tmp_path, 10_000)
    with pytest.raises(InputError, match=r"1,000,000,000,000,000 events take up to .* GB") as raised:
        batch.require_disk(tmp_path, 10**15)
    assert "TMPDIR" in str(raised.value.hint)


def test_the_processor_time_of_others_counts() -> None:
    """While they run, and when they have ended."""
    burn = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True); input()"
    before, own = processor_seconds(), time.process_time()
    with subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert other.pid in [process.number for process in descendants(os.getpid())]
        during = processor_seconds()
        other.communicate(b"\n")
    after, own = processor_seconds(), time.process_time() - own
    assert before is not None
    assert during is not None
    assert after is not None
    assert during - before - own > 0.25
    assert 0.25 < after - before - own < 3


def test_lines_name_what_they_compare_with() -> None:
    line = BenchResult("spark", "w1", 100, 2.0, 50.0, 7, 100.0, of_plain=0.8, processor=3.0).line()
    assert "(50% of read and shuffle)" in line
    assert "(3.00 s of processor time)   (80% of read and shuffle by processor time)" in line
    assert "(50% of a bare loop)" in BenchResult("engine", "w1", 100, 2.0, 50.0, 7, 100.0).line()


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_every_master(tmp_path: Path) -> None:
    """It raises where masters differ in their matches."""
    (tmp_path / "measure.py").write_text(MEASURE)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, str(tmp_path / "measure.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    masters = ("local[1]", "local[2]", "cluster")
    for case in ("read only", "read and shuffle", "w1", "w2", "w3"):
        for master in masters:
            assert any(f" {case}, {master} " in line and "processor time" in line for line in lines), lines
        assert any(f" {case}, cluster beside local[2]: " in line for line in lines)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("foretell-bench-")]
