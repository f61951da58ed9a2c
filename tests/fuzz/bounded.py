"""Runs made-up inputs one after another in a process of their own, each with a limit of time and of memory.

    python -m tests.fuzz.bounded crafted_snapshots 100000
    python -m tests.fuzz.bounded crafted_snapshots 1 --first 4711

A module of cases has `prepare(numbers)`, which makes what the cases with these numbers need and warms up, and
`run(number, prepared)`, which says in a word what became of the case with that number. It raises for what may not be,
and so becomes a violation; so do a crash of the process, too much time and too much memory. The second command above
shows one case again.

The process that has prepared forks another for the cases, and again after a crash, so that a crash costs no
preparation.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import importlib
import mmap
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: The limits of one case: seconds of processor time, and bytes more than the process has when all is prepared.
SECONDS = 2.0
MEMORY = 1 << 30

#: A fork runs so many cases: what caches keep of them does not count as the memory of a later one.
CASES_OF_A_FORK = 2000

#: A case that is the first to need a variant of a kernel compiles it, which is its cost but once: one that takes too
#: long runs again without a limit but this one, and then as any other.
COMPILING = 120.0

#: Nothing of ours waits, so a process that says nothing for so long is stuck outside the processor, too.
SILENCE = 600

ROOT = Path(__file__).parents[2]


@dataclass
class Report:
    """How many cases came to what, and those that may not be: their numbers, with the end of what was said."""

    outcomes: Counter[str] = field(default_factory=Counter)
    violations: dict[int, str] = field(default_factory=dict)

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        return "\n".join([counts, *(f"case {number}: {why}" for number, why in self.violations.items())])


def run_bounded(module: str, count: int, first: int = 0, most: int = 20) -> Report:
    """Run the cases `first` to `first + count` of a module of this folder, until `most` of them are violations."""
    command = [sys.executable, "-m", "tests.fuzz.bounded", module, str(count)]
    command += ["--first", str(first), "--most", str(most), "--worker"]
    limit = SILENCE + count  # a second for each, on the average
    worker = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False)
    if worker.returncode:
        raise RuntimeError(f"the cases cannot be run: {worker.stderr[-1500:]}")
    report = Report()
    for line in worker.stdout.splitlines():
        number, _, outcome = line.partition(" ")
        if outcome.startswith("!"):
            report.violations[int(number)] = outcome[1:].replace("\\n", "\n")
        else:
            report.outcomes[outcome] += 1
    return report


def _end(code: int) -> str:
    if code == -signal.SIGPROF:
        return f"more than {SECONDS:g} s of processor time"
    return f"the process ended with {signal.Signals(-code).name if code < 0 else code}"


def _work(module: str, count: int, first: int, most: int) -> None:
    """Run cases in forks, and write a line about each."""
    cases = importlib.import_module(f"tests.fuzz.{module}")
    prepared = cases.prepare(range(first, first + count))
    # What is prepared is no garbage: Python would look through all of it again and again while cases run.
    gc.collect()
    gc.freeze()
    stop, violations, compiled = first + count, 0, -1
    # The number of the case that runs, and how many violations there were; both processes see it.
    shared = mmap.mmap(-1, 16)
    while first < stop and violations < most:
        with tempfile.TemporaryFile() as errors:
            child = os.fork()
            if child == 0:
                os.dup2(errors.fileno(), 2)
                _run_cases(cases, prepared, range(first, min(stop, first + CASES_OF_A_FORK)), shared, most)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            first, found = _number(shared, 0) + 1, _number(shared, 1)
            if code == -signal.SIGPROF and compiled != first - 1 and _compiles(cases, prepared, first - 1, shared):
                first = compiled = first - 1
            elif code:
                errors.seek(0)
                said = errors.read()[-1500:].decode("utf-8", "replace")
                _write(first - 1, f"!{_end(code)}\n{said}")
                found += 1
        violations += found


def _compiles(cases: Any, prepared: Any, number: int, shared: mmap.mmap) -> bool:
    """Run a case in a fork that keeps the kernels it compiles; False where it takes too long all the same."""
    before = shared[:]
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        _run_cases(cases, prepared, range(number, number + 1), shared, 2, COMPILING)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    shared[:] = before
    return code == 0


def _run_cases(
    cases: Any, prepared: Any, numbers: range, shared: mmap.mmap, most: int, seconds: float = SECONDS
) -> None:
    """Run cases until `most` of them are violations, and end this process."""
    faulthandler.enable(2)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    found = 0
    for number in numbers:
        shared[:] = number.to_bytes(8, "little") + found.to_bytes(8, "little")
        # A kernel that does not end gives Python no chance to look at the time: the signal ends the process.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            outcome = cases.run(number, prepared)
        except BaseException:  # whatever it is, it is no refusal
            outcome = "!" + traceback.format_exc(limit=-4)[-1500:]
            found += 1
        signal.setitimer(signal.ITIMER_PROF, 0)
        _write(number, outcome)
        if found >= most:
            break
    shared[8:] = found.to_bytes(8, "little")
    os._exit(0)


def _number(shared: mmap.mmap, which: int) -> int:
    return int.from_bytes(shared[8 * which : 8 * which + 8], "little")


def _write(number: int, outcome: str) -> None:
    line = outcome.replace("\n", "\\n")
    os.write(1, f"{number} {line}\n".encode("utf-8", "backslashreplace"))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--most", type=int, default=20, help="stop after so many violations")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        _work(asked.module, asked.count, asked.first, asked.most)
        return
    report = run_bounded(asked.module, asked.count, asked.first, asked.most)
    sys.stdout.write(f"{report}\n")
    sys.exit(bool(report.violations))


if __name__ == "__main__":
    main()
