"""The service under load: 200 notifications a second for ten minutes, with clients that read and one that does not.

`FORETELL_LOAD_SECONDS` makes it shorter.
"""

from __future__ import annotations

import itertools
import os
import re
import socket
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.serve.service_client import RISE, STREAM, Client, events, lines_of, wait_for, write_pipeline
from tests.serve.test_command import started

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1500)]

SECONDS = int(os.environ.get("FORETELL_LOAD_SECONDS", "600"))
RATE, CLIENTS = 200, 5
#: A mebibyte.
MIB = 1024 * 1024


def memory(process: int) -> int:
    """The resident memory of a process in bytes."""
    text = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", text)[0]) * 1024


def pushes(client: Client) -> tuple[float, int]:
    """The seconds and the number of all pushes so far."""
    text = client.get("/metrics").body.decode()
    (total,) = re.findall(r"^foretell_push_seconds_sum (\S+)$", text, re.MULTILINE)
    (count,) = re.findall(r"^foretell_push_seconds_count (\S+)$", text, re.MULTILINE)
    return float(total), int(count)


class Reader(threading.Thread):
    """A client that counts what it is sent."""

    def __init__(self, client: Client) -> None:
        super().__init__(daemon=True)
        self._client = client
        self.rows = self.dropped = self.last = 0

    def run(self) -> None:
        with self._client.live("/api/live?after=0") as feed:
            for _, name, content in feed:
                if name == "notifications":
                    numbers = [row["number"] for row in content["rows"]]
                    assert numbers == sorted(numbers)
                    assert numbers[0] > self.last
                    self.rows += len(numbers)
                    self.dropped += content["dropped"]
                    self.last = numbers[-1]


def test_a_load_for_long(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path, STREAM + RISE + "SUBSCRIBE every FROM s PER k MATCH a;")
    file = tmp_path / "in" / "0.jsonl"
    file.write_text(lines_of(events(0, 2)))
    with started(pipeline) as (process, client):
        wait_for(lambda: client.counts("rise") == {"match": 1}, 180)
        readers = [Reader(client) for _ in range(CLIENTS)]
        for reader in readers:
            reader.start()
        parts = urlsplit(client.url)
        with socket.create_connection((str(parts.hostname), parts.port or 0)) as silent, file.open("a") as opened:
            silent.sendall(f"GET /api/live HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
            samples: list[tuple[int, float, int]] = []
            began, done = time.monotonic(), 2
            while (passed := time.monotonic() - began) < SECONDS:
                wanted = 2 + int(passed * RATE / 2)
                opened.write(lines_of(events(done, wanted - done)))
                opened.flush()
                done = wanted
                if passed > len(samples) * SECONDS / 12:
                    samples.append((memory(process.pid), *pushes(client)))
                time.sleep(0.05)
            wait_for(lambda: client.counts("every") == {"match": done})
            wait_for(lambda: all(reader.rows + reader.dropped == 2 * done - 1 for reader in readers))
            samples.append((memory(process.pid), *pushes(client)))
        assert client.get("/healthz").json == {"status": "running"}
        assert all(reader.dropped == 0 for reader in readers), [reader.dropped for reader in readers]
    sizes = [size for size, _, _ in samples]
    # The rings of notifications and the history are full after a part of the time; from then on nothing grows.
    assert sizes[-1] - sizes[len(sizes) // 2] < 40 * MIB, [size // MIB for size in sizes]
    means = [(later[1] - earlier[1]) / max(1, later[2] - earlier[2]) for earlier, later in itertools.pairwise(samples)]
    assert sum(means[-3:]) / 3 < 3 * sum(means[1:4]) / 3 + 0.005, means
    print([size // MIB for size in sizes], [round(mean, 5) for mean in means], 2 * done - 1)  # noqa: T201
