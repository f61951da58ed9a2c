"""`foretell init`: a first STREAM statement and a first pattern for a file of events, which run as they stand."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from foretell.cli.event_survey import Survey, survey, tells_state
from foretell.cli.input_options import InputArguments, stream_name
from foretell.cli.output import say
from foretell.events.arrow_compute import pc
from foretell.events.atomic_files import atomic_write
from foretell.events.types import Type
from foretell.language.printer import name_text
from foretell.notify.files import standard_output, writing_to

_WIDTH = 80
#: The lengths of runs to try, the longest first: the pattern takes the first of which there are some.
_LENGTHS = (5, 3, 2)
_MOST_VALUES = 6
#: The file that statements on standard output are meant for.
UNNAMED = "watch.ftl"
#: Windows to suggest: the first that has room for some events.
_WINDOWS = (
    *((f"{n} s", n) for n in (1, 10)),
    *((f"{n} min", 60 * n) for n in (1, 10)),
    *((f"{n} hour{'s'[: n - 1]}", 3_600 * n) for n in (1, 6)),
    *((f"{n} day{'s'[: n - 1]}", 86_400 * n) for n in (1, 7, 30, 180)),
)
_EVENTS_IN_WINDOW = 5


def initialize(file: Path, given: InputArguments, output: Path | None) -> None:
    """Write statements for the events of `file` to `output`, or to standard output."""
    stream = stream_name(file)
    times = [item.partition("=")[2] or item for item in given.time]
    found = survey(file, stream, given.options_of(stream), times[0] if times else None)
    command = _command(file, found, given, output)
    heading = "Run it:" if output is not None else f"Save this as {UNNAMED}, and run it:"
    text = "".join(f"{line}\n" for line in _statements(found, heading, command))
    if output is None:
        with writing_to(standard_output()):
            standard_output().write(text.encode())
        return
    with atomic_write(output) as out:
        out.write(text.encode())
    say(f"wrote {output}; run it:\n  {command}")


def _command(file: Path, found: Survey, given: InputArguments, output: Path | None) -> str:
    statements = UNNAMED if output is None else str(output)
    time = found.read.time_columns
    joined = [] if time is None else ["--time", f"{found.stream}={'+'.join(time)}"]
    words = ["--input", f"{found.stream}={file}", *joined, *given.form_words()]
    return shlex.join(["foretell", "run", statements, *words])


# ── the text ──


def _statements(found: Survey, heading: str, command: str) -> Iterator[str]:
    count = f"{found.table.num_rows:,}"
    events = f"its {count} events" if found.whole else f"its first {count} events"
    yield f"-- Types and the time column as {events} show them."
    yield from _stream_statement(found)
    yield ""
    yield from _first_pattern(found)
    yield ""
    yield f"-- {heading}"
    yield f"--   {command}"
    yield from _next_steps(found)


def _stream_statement(found: Survey) -> Iterator[str]:
    names = {name: name_text(name) for name in found.types}
    width = max(map(len, names.values()))
    lines = [f"  {names[name]:{width}} {kind.value}" for name, kind in found.types.items()]
    yield f"STREAM {name_text(found.stream)} ("
    yield ",\n".join(lines)
    markers = ", ".join(f"'{marker}'" for marker in found.markers)
    yield f") TIME {names[found.time]}{f' NULL {markers}' if markers else ''};"
    if found.skipped:
        yield f"-- Left out, as their values are no attributes: {', '.join(found.skipped)}."


def _first_pattern(found: Survey) -> Iterator[str]:
    key = found.keys[0] if found.keys else None
    for pattern in _patterns(found, key):
        if _has_matches(found, pattern):
            yield from pattern
            return
    yield from _pair(found, key)


def _patterns(found: Survey, key: str | None) -> Iterator[list[str]]:
    """Patterns to try, the most telling first: runs of a rare state, rising numbers, runs of another rare value."""
    states = [name for name in found.categories[:3] if tells_state(name)]
    for name in states:
        yield from _value_runs(found, key, name)
    for name in found.measures[:3]:
        for length in _LENGTHS:
            yield _rise(found, key, name, length)
    for name in found.categories[:3]:
        if name not in states:
            yield from _value_runs(found, key, name)


def _value_runs(found: Survey, key: str | None, name: str) -> Iterator[list[str]]:
    for value in _rare_values(found, name):
        for length in _LENGTHS:
            yield _value_run(found, key, name, value, length)


def _rare_values(found: Survey, name: str) -> Sequence[str]:
    """The values of a column as literals, rare ones first; of many the most frequent one is no event of note."""
    pairs: Any = pc.value_counts(found.table[name])
    counts = [(pair["counts"], pair["values"]) for pair in pairs.to_pylist()]
    values = [value for _, value in sorted(counts, key=lambda pair: pair[0]) if value is not None]
    rare = values[:_MOST_VALUES] if len(values) < 4 else values[:-1][:_MOST_VALUES]
    return [str(v).upper() if isinstance(v, bool) else "'" + v.replace("'", "''") + "'" for v in rare]


def _value_run(found: Survey, key: str | None, name: str, value: str, length: int) -> list[str]:
    attribute = name_text(name)
    meaning = f"{length} or more events{_of_one(key)} in a row with {attribute} = {value}; each run is one match."
    return [
        *_beginning(found, key, "runs", meaning),
        "MATCH  x+",
        f"DEFINE x AS {attribute} = {value}",
        f"HAVING count(x) >= {length}",
        "AFTER MATCH LONGEST",
        "RETURN count(x) AS events;",
    ]


def _rise(found: Survey, key: str | None, name: str, length: int) -> list[str]:
    attribute = name_text(name)
    meaning = f"{attribute} rises {length} times or more in a row{_of_one(key)}; each rise is one match."
    return [
        *_beginning(found, key, "rises", meaning),
        "MATCH  low , up+",
        f"DEFINE up AS {attribute} > prev.{attribute}",
        f"HAVING count(up) >= {length}",
        "AFTER MATCH LONGEST",
        f"RETURN count(up) AS rises, low.{attribute} AS lowest, last(up).{attribute} AS highest;",
    ]


def _pair(found: Survey, key: str | None) -> list[str]:
    meaning = f"Every two events{_of_one(key)} that follow one another: add conditions with DEFINE."
    return [
        *_beginning(found, key, "pairs", meaning),
        "MATCH  first_event , second_event;",
    ]


def _of_one(key: str | None) -> str:
    return "" if key is None else f" of one {name_text(key)}"


def _beginning(found: Survey, key: str | None, name: str, meaning: str) -> list[str]:
    others = ", ".join(name_text(name) for name in found.keys[1:] if name not in found.categories)
    keys = f" PER makes a lane of each key; others could be keys too: {others}." if others else ""
    lines = textwrap.wrap(f"{meaning}{keys}", _WIDTH, initial_indent="-- ", subsequent_indent="-- ")
    lines.append(f"SUBSCRIBE {name if name != found.stream else f'{name}_found'} FROM {name_text(found.stream)}")
    return lines if key is None else [*lines, f"PER    {name_text(key)}"]


def _has_matches(found: Survey, pattern: Sequence[str]) -> bool:
    from foretell.api.run import run

    program = "\n".join([*_stream_statement(found), *pattern])
    return bool(run(program, {found.stream: found.table}, engine="embedded"))


def _next_steps(found: Survey) -> Iterator[str]:
    yield "-- Then try:"
    yield f"--   {f'WITHIN {_window(found)}':36} a limit on the time of a match"
    yield f"--   {'MATCH x+ , y   and   y AS ...':36} another step behind a run"
    yield f"--   {'FORECAST WITHIN 5 EVENTS ABOVE 0.5':36} forecasts; see foretell train --help"


def _window(found: Survey) -> str:
    """A duration that has room for some events of a lane."""
    wanted = found.gap * _EVENTS_IN_WINDOW
    if found.types[found.time] is not Type.TIMESTAMP:
        return f"{float(f'{wanted:.1g}'):g}" if wanted else "100"
    return next((text for text, seconds in _WINDOWS if seconds * 1e6 >= wanted), "1000 days")
