"""The allocator's settings: made once an engine is there, left alone where the environment makes them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from foretell.machine.exec.allocator import keep_freed_memory


def test_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "131072")
    assert not keep_freed_memory()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc is Linux's")
def test_freed_memory_is_used_again() -> None:
    """Without the setting each round would fault in its 40 MB again, some 10,000 pages."""
    program = """
import resource
import foretell; foretell.Engine
import numpy as np
faults = []
for _ in range(5):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    [np.ones(250_000) for _ in range(20)]
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(min(faults[1:]))
"""
    unset = {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"}
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1_000
