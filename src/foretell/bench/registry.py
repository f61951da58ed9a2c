"""`foretell bench`: programs that measure. One result a line, for people or as JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from foretell.bench.result import BenchResult
from foretell.errors import InputError, suggestion
from foretell.language.check import check
from foretell.language.parser import parse
from foretell.notify.files import standard_output, writing_to


def bench(name: str | None, *, as_json: bool, **options: object) -> None:
    """Run a benchmark, or all of them. `options` are those of `_TAKERS`; None or False where they are not given."""
    if name is not None and name not in BENCHES:
        raise InputError("unknown-bench", f"there is no benchmark '{name}'", hint=suggestion(name, BENCHES))
    given = {option: value for option, value in options.items() if value not in (None, False)}
    for option in given:
        if name not in _TAKERS[option]:
            takers = ", ".join([f"'{taker}'" for taker in _TAKERS[option]])
            noun = "benchmark" if len(_TAKERS[option]) == 1 else "benchmarks"
            verb = "takes" if len(_TAKERS[option]) == 1 else "take"
            raise InputError("unknown-option", f"only the {noun} {takers} {verb} --{option}")
    stream = standard_output()
    with writing_to(stream):
        for bench in BENCHES if name is None else (name,):
            for measured in BENCHES[bench](**given):
                stream.write(f"{_json(measured) if as_json else measured.line()}\n".encode())
                stream.flush()  # the next one may take a while


def _json(measured: BenchResult) -> str:
    return json.dumps({k: v for k, v in asdict(measured).items() if v is not None})


_STATEMENT = """
SUBSCRIBE intrusion_{0} FROM logins
MATCH  s1 ; s2 ; s3 @(t(s3) - t(s1) < 5 min) ; s4
DEFINE s1, s2, s3 AS ip = $x AND status = 'denied',
       s4         AS ip = $x AND status = 'success';
"""


def _language() -> Iterator[BenchResult]:
    """Parsing, and checking names and types, a thousand statements of the size of the papers' examples."""
    count = 1_000
    text = "".join(_STATEMENT.format(i) for i in range(count))
    parse(text[:100_000].rsplit("SUBSCRIBE", 1)[0])  # the grammar is built at the first use
    started = time.perf_counter()
    program = parse(text)
    parsed = time.perf_counter()
    check(program)
    checked = time.perf_counter()
    yield BenchResult("language", "parse", count, parsed - started, count / (parsed - started))
    yield BenchResult("language", "check", count, checked - parsed, count / (checked - parsed))


def _plan() -> Iterator[BenchResult]:
    from foretell.bench.planning import measure

    return measure()


def _engine() -> Iterator[BenchResult]:
    from foretell.bench.engine import measure  # with Numba, which the other commands do without

    return measure()


def _read() -> Iterator[BenchResult]:
    from foretell.bench.file_reads import measure

    return measure()


def _command() -> Iterator[BenchResult]:
    from foretell.bench.command import measure

    return measure()


def _growth(quick: bool = False, output: Path | None = None) -> Iterator[BenchResult]:
    from foretell.bench.growth import measure

    if output is None:
        return measure.measure(quick)
    from foretell.bench.growth.figures import PAGE  # loads the chart libraries, which are needed only here

    return PAGE.drawn(measure.measure(quick), output)


def _forecast(quick: bool = False, output: Path | None = None) -> Iterator[BenchResult]:
    from foretell.bench.ptopss import measure

    if output is None:
        return measure.measure(quick)
    from foretell.bench.ptopss.figures import PAGE

    return PAGE.drawn(measure.measure(quick), output)


def _filter(quick: bool = False, output: Path | None = None) -> Iterator[BenchResult]:
    from foretell.bench.filter import measure

    if output is None:
        return measure.measure(quick)
    from foretell.bench.filter.figures import PAGE

    return PAGE.drawn(measure.measure(quick), output)


def _recover(quick: bool = False) -> Iterator[BenchResult]:
    from foretell.bench.recover.throughput import throughput

    return throughput(quick)


def _calibration(quick: bool = False, output: Path | None = None) -> Iterator[BenchResult]:
    from foretell.bench.recover import measure

    if output is None:
        return measure.measure(quick)
    from foretell.bench.recover.figures import PAGE

    return PAGE.drawn(measure.measure(quick), output)


def _spark(events: int | None = None, cluster: bool = False) -> Iterator[BenchResult]:
    from foretell.bench.spark import batch, streaming

    yield from batch.measure(batch.EVENTS if events is None else events, cluster=cluster)
    yield from streaming.measure()


def _correlate() -> Iterator[BenchResult]:
    from foretell.bench.correlate import measure

    return measure()


def _capacity(quick: bool = False) -> Iterator[BenchResult]:
    from foretell.bench.capacity.measure import measure

    return measure(quick)


BENCHES: Mapping[str, Callable[..., Iterator[BenchResult]]] = {
    "language": _language,
    "plan": _plan,
    "engine": _engine,
    "read": _read,
    "command": _command,
    "spark": _spark,
    "recover": _recover,
    "filter": _filter,
    "correlate": _correlate,
    "calibration": _calibration,
    "capacity": _capacity,
    "growth": _growth,
    "forecast": _forecast,
}

#: The options, and the benchmarks that take each.
_TAKERS = {
    "quick": ("growth", "forecast", "filter", "recover", "calibration", "capacity"),
    "output": ("growth", "forecast", "filter", "calibration"),
    "events": ("spark",),
    "cluster": ("spark",),
}
