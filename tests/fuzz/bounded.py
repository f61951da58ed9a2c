"""Runs made-up inputs one after another in a process of their own, each with a limit of time and of memory.

    python -m tests.fuzz.bounded crafted_snapshots 100000
    python -m tests.fuzz.bounded crafted_snapshots 1 --first 4711

A module of cases has `prepare()`, which makes what all cases need and warms up, and `run(number, prepared)`, which says
in a word what became of the case with that number. It raises for what may not be, and so becomes a violation; so do a
crash of the process, too much time and too much memory. The second command above shows one case again.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import os
import resource
import signal
import subprocess
import sys
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

#: The limits of one case: seconds of processor time, and bytes more than the process has when all is prepared.
SECONDS = 2.0
MEMORY = 1 << 30

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
    report = Report()
    number, stop = first, first + count
    while number < stop and len(report.violations) < most:
        command = [
            sys.executable,
            "-m",
            "tests.fuzz.bounded",
            module,
            str(stop - number),
            "--first",
            str(number),
            "--worker",
        ]
        worker = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SILENCE + stop, check=False)
        started = number
        for line in worker.stdout.splitlines():
            which, _, outcome = line.partition(" ")
            started = int(which)
            if outcome.startswith("!"):
                report.violations[started] = outcome[1:].replace("\\n", "\n")
            elif outcome:
                report.outcomes[outcome] += 1
        if worker.returncode == 0:
            break
        if not worker.stdout:
            raise RuntimeError(f"the cases cannot be prepared: {worker.stderr[-1500:]}")
        report.violations[started] = _end(worker.returncode) + "\n" + worker.stderr[-1500:]
        number = started + 1
    return report


def _end(code: int) -> str:
    if code == -signal.SIGPROF:
        return f"more than {SECONDS:g} s of processor time"
    return f"the process ended with {signal.Signals(-code).name if code < 0 else code}"


def _work(module: str, first: int, stop: int) -> None:
    """Run cases and write a line before and after each, so that the last line shows where the process ended."""
    cases = importlib.import_module(f"tests.fuzz.{module}")
    prepared = cases.prepare()
    faulthandler.enable()
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    for number in range(first, stop):
        _write(f"{number} ")
        # A kernel that does not end gives Python no chance to look at the time: the signal ends the process.
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            outcome = cases.run(number, prepared)
        except Exception:  # whatever it is, it is no refusal
            outcome = "!" + traceback.format_exc(limit=-4)[-1500:].replace("\n", "\\n")
        signal.setitimer(signal.ITIMER_PROF, 0)
        _write(f"\n{number} {outcome}\n")


def _write(text: str) -> None:
    os.write(1, text.encode("utf-8", "backslashreplace"))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        _work(asked.module, asked.first, asked.first + asked.count)
        return
    report = run_bounded(asked.module, asked.count, asked.first)
    sys.stdout.write(f"{report}\n")
    sys.exit(bool(report.violations))


if __name__ == "__main__":
    main()
