"""Rates of a scenario: numbers, or what was measured by `foretell bench --json`, or is measured of statements."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from foretell.capacity.scenario.section import ScenarioSection
from foretell.errors import InputError, suggestion
from foretell.events.atomic_files import read_text
from foretell.records import record


@record
class StatementSample:
    """Statements and events over which they are run on this machine: the files, and the time columns by stream."""

    statements: Path
    inputs: Mapping[str, str]
    times: Mapping[str, str]
    batch: int | None


@record
class MeasuredRate:
    """Events a second. Of measured statements also the share of the events that caused a notification, the seconds that
    every push takes besides its events, and the rate of the events in large pushes."""

    rate: float
    coverage: float | None = None
    overhead: float | None = None
    batch_rate: float | None = None
    text: str = ""


Meter = Callable[[StatementSample], MeasuredRate]


class RateReader:
    """Reads rates; a file is read and a sample measured once, however many points of the scenario need it."""

    def __init__(self, home: Path, meter: Meter) -> None:
        self._home = home
        self._meter = meter
        self._known: dict[Any, MeasuredRate] = {}

    @property
    def notes(self) -> list[str]:
        """Notes on the measured rates, for people."""
        return [measured.text for measured in self._known.values() if measured.text]

    def rate(self, section: ScenarioSection, key: str = "rate") -> MeasuredRate | None:
        if key not in section:
            return None
        value = section.value(key)
        if not isinstance(value, Mapping):
            return MeasuredRate(section.as_number(key, value))
        table = section.section(key)
        return self._benched(table) if "bench" in table else self.sample(table)

    def needed(self, section: ScenarioSection, key: str = "rate") -> MeasuredRate:
        found = self.rate(section, key)
        return MeasuredRate(section.needed(key)) if found is None else found

    def _benched(self, table: ScenarioSection) -> MeasuredRate:
        """The rate of a case in a file of `foretell bench --json`."""
        table.known("bench", "case")
        name, case = table.text("bench"), table.text("case")
        if not name or not case:
            key = "case" if name else "bench"
            table.refuse(key, f"'{key}' is missing", 'write { bench = "FILE.jsonl", case = "NAME" }')
        path = self._home / name
        if (path, case) not in self._known:
            self._known[path, case] = _case_rate(path, case, table)
        return self._known[path, case]

    def sample(self, table: ScenarioSection) -> MeasuredRate:
        """The rate of statements over a sample of events, measured on this machine."""
        table.known("statements", "input", "time", "batch")
        name = table.text("statements")
        if not name:
            table.refuse("statements", "'statements' is missing", 'name a file: statements = "watch.ftl"')
        inputs = {stream: str(self._home / path) for stream, path in _texts(table, "input").items()}
        if not inputs:
            table.refuse("input", "'input' is missing", 'name a file of events: input = { logins = "logins.csv" }')
        batch = table.count("batch")
        sample = StatementSample(self._home / name, inputs, _texts(table, "time"), batch)
        key = name, tuple(inputs.items()), batch
        if key not in self._known:
            self._known[key] = self._meter(sample)
        return self._known[key]


def _texts(table: ScenarioSection, key: str) -> dict[str, str]:
    inner = table.section(key)
    found = {name: inner.text(name) for name in inner.names()}
    return {name: text for name, text in found.items() if text is not None}


def _case_rate(path: Path, case: str, table: ScenarioSection) -> MeasuredRate:
    try:
        lines = read_text(path).splitlines()
    except InputError as error:
        table.refuse("bench", error.message, error.hint, code=error.code)
    cases: dict[str, Any] = {}
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line) if line.strip() else {}
        except ValueError:
            table.refuse("bench", f"line {number} of {path} is not JSON", "write it with `foretell bench … --json`")
        if isinstance(row, dict) and "case" in row:
            cases[str(row["case"])] = row.get("rate")
    if case not in cases:
        table.refuse("case", f"{path} has no case '{case}'", suggestion(case, cases))
    rate = cases[case]
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not rate > 0:
        table.refuse("case", f"the case '{case}' of {path} has the rate {rate!r}", "choose a case with a rate above 0")
    return MeasuredRate(float(rate), text=f"{case}: {rate:,.0f} events/s ({path.name})")
