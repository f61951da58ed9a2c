"""`foretell init`: statements that fit a file of events, and run as they stand."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from foretell.cli import file_sample
from tests.command import foretell

LOGINS = """time,user,ip,status
2026-03-01 10:00:00,ann,10.0.0.1,success
2026-03-01 10:00:10,bob,10.0.0.2,denied
2026-03-01 10:00:20,bob,10.0.0.2,denied
2026-03-01 10:00:30,ann,10.0.0.1,success
2026-03-01 10:00:40,bob,10.0.0.2,denied
2026-03-01 10:00:50,ann,10.0.0.3,success
2026-03-01 10:01:00,bob,10.0.0.2,success
2026-03-01 10:01:10,ann,10.0.0.1,success
"""


def initialized(folder: Path, file: str, *options: str) -> str:
    """The statements for a file; they run with the command that they name, and have matches."""
    done = foretell(folder, "init", file, *options, "--output", "watch.ftl")
    assert done.returncode == 0, done.stderr
    text = (folder / "watch.ftl").read_text()
    assert max(map(len, text.splitlines())) <= 80 or "foretell run" in max(text.splitlines(), key=len)
    (command,) = [line.removeprefix("--   foretell ") for line in text.splitlines() if "foretell run" in line]
    assert done.stderr == f"wrote watch.ftl; run it:\n  foretell {command}\n"
    ran = foretell(folder, *command.split(), "--strict", "--quiet")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout
    return text


def test_runs_of_a_value(tmp_path: Path) -> None:
    (tmp_path / "logins.csv").write_text(LOGINS)
    assert initialized(tmp_path, "logins.csv") == (
        "-- Types and the time column as its 8 events show them.\n"
        "STREAM logins (\n"
        "  time   TIMESTAMP,\n"
        "  user   STRING,\n"
        "  ip     STRING,\n"
        "  status STRING\n"
        ") TIME time;\n"
        "\n"
        "-- 3 or more events of one ip in a row with status = 'denied'; each run is one\n"
        "-- match. PER makes a lane of each key; others could be keys too: user.\n"
        "SUBSCRIBE runs FROM logins\n"
        "PER    ip\n"
        "MATCH  x+\n"
        "DEFINE x AS status = 'denied'\n"
        "HAVING count(x) >= 3\n"
        "AFTER MATCH LONGEST\n"
        "RETURN count(x) AS events;\n"
        "\n"
        "-- Run it:\n"
        "--   foretell run watch.ftl --input logins=logins.csv\n"
        "-- Then try:\n"
        "--   WITHIN 10 min                        a limit on the time of a match\n"
        "--   MATCH x+ , y   and   y AS ...        another step behind a run\n"
        "--   FORECAST WITHIN 5 EVENTS ABOVE 0.5   forecasts; see foretell train --help\n"
    )


def test_rising_numbers(tmp_path: Path) -> None:
    rows = [{"date": f"2026-03-{i // 2 + 1:02}", "city": "AB"[i % 2], "temp": i * 0.5 + i % 2} for i in range(40)]
    (tmp_path / "temperatures.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = initialized(tmp_path, "temperatures.jsonl")
    assert "TIME date" in text
    assert "PER    city\nMATCH  low , up+\nDEFINE up AS temp > prev.temp\nHAVING count(up) >= 5" in text


def test_names_that_need_quotes_and_a_number_as_time(tmp_path: Path) -> None:
    (tmp_path / "2026 readings.csv").write_text(
        "t,Sensor ID,first\n" + "".join(f"{i},s{i % 2},{i}\n" for i in range(20))
    )
    done = foretell(tmp_path, "init", "2026 readings.csv")
    assert done.returncode == 0, done.stderr
    assert 'STREAM events (\n  t           INT,\n  "Sensor ID" STRING,\n  "first"     INT\n) TIME t;' in done.stdout
    (tmp_path / "watch.ftl").write_text(done.stdout)
    ran = foretell(tmp_path, "run", "watch.ftl", "--input", "events=2026 readings.csv", "--quiet")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout


def test_one_kind_of_event(tmp_path: Path) -> None:
    (tmp_path / "ticks.csv").write_text("time\n1\n2\n3\n")
    assert "MATCH  first_event , second_event;" in initialized(tmp_path, "ticks.csv")


def test_lines_of_text(tmp_path: Path) -> None:
    """The options on the form of the events go into the command that the statements name."""
    lines = [f"Mar  1 10:00:{i:02} host sshd[1]: {'Failed' if i % 4 else 'Accepted'}\n" for i in range(12)]
    (tmp_path / "auth.log").write_text("".join(lines))
    text = initialized(tmp_path, "auth.log", "--pattern", "syslog", "--year", "2026")
    assert "foretell run watch.ftl --input auth=auth.log --pattern syslog --year 2026\n" in text
    assert "DEFINE x AS message = 'Failed'\nHAVING count(x) >= 3" in text


def test_another_time_column(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("a,b\n2026-01-01,2026-02-01\n2026-01-02,2026-02-02\n")
    assert "TIME a;" in initialized(tmp_path, "s.csv")
    assert "TIME b;" in initialized(tmp_path, "s.csv", "--time", "b")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "error: s.csv has no events\n"),
        (
            "a,b\nx,y\n",
            "error: s.csv: no column looks like a time\n  hint: name it with --time COLUMN; the columns are: a, b\n",
        ),
    ],
)
def test_files_without_events_or_times(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "s.csv").write_text(content)
    done = foretell(tmp_path, "init", "s.csv")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", message)


# ── large files ──


def first_events(folder: Path, file: str) -> str:
    """What the comment of `init` says on the events that it has read."""
    done = foretell(folder, "init", file)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[0].removeprefix("-- Types and the time column as its ").removesuffix(" show them.")


ROWS = [{"time": i, "sensor": f"s{i % 3}", "level": i % 7} for i in range(12_000)]
TABLE = "time,sensor,level\n" + "".join(f"{row['time']},{row['sensor']},{row['level']}\n" for row in ROWS)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.csv", TABLE.encode()),
        ("s.csv.gz", gzip.compress(TABLE.encode())),
        ("s.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS).encode()),
        ("s.json", json.dumps(ROWS).encode()),
    ],
)
def test_of_a_large_file_the_first_rows_are_read(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    found = first_events(tmp_path, name)
    assert found in ("first 10,000 events", "first 10,001 events")  # a line more where there is no header


def test_long_rows_are_cut_by_their_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_sample, "SAMPLE_BYTES", 1000)
    (tmp_path / "s.csv").write_text(TABLE)
    assert first_events(tmp_path, "s.csv") == "first 121 events"


def test_a_row_of_several_lines_is_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_sample, "SAMPLE_ROWS", 2)
    (tmp_path / "s.csv").write_text('time,text\n1,a\n2,"b\nc"\n3,d\n')
    assert first_events(tmp_path, "s.csv") == "first 2 events"


def test_of_many_files_the_first_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_sample, "SAMPLE_BYTES", 25)
    (tmp_path / "all").mkdir()
    for number in range(4):
        (tmp_path / "all" / f"{number}.csv").write_text(f"time,v\n{number},1\n{number},2\n")
    assert first_events(tmp_path, "all") == "first 4 events"


@pytest.mark.parametrize("content", ["time,v\n1,1\n2,2", "time,v\n1,1\n2,2\n"])
def test_a_file_that_is_no_larger_than_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    monkeypatch.setattr(file_sample, "SAMPLE_ROWS", 2)
    (tmp_path / "s.csv").write_text(content)
    assert first_events(tmp_path, "s.csv") == "2 events"


# ── a pattern that makes sense ──


def test_a_table_of_measurements(tmp_path: Path) -> None:
    """The place is the key; parts of the time are no measures; WITHIN fits the hours between rows."""
    rows = [
        f"{place},{day},{hour},{hour * 0.5},2026-03-{day:02}T{hour:02}:00"
        for day in range(1, 4)
        for hour in range(24)
        for place in "AB"
    ]
    (tmp_path / "weather.csv").write_text("origin,day,hour,temp,time_hour\n" + "\n".join(rows) + "\n")
    text = initialized(tmp_path, "weather.csv")
    assert "PER    origin\nMATCH  low , up+\nDEFINE up AS temp > prev.temp\n" in text
    assert "--   WITHIN 6 hours   " in text


def test_a_column_that_is_constant_in_nearly_every_lane_is_no_state(tmp_path: Path) -> None:
    rows = [f"{i},{i % 20},{'K' if i % 20 < 9 or i == 19 else 'L'},{i // 20 % 6}" for i in range(400)]
    (tmp_path / "s.csv").write_text("time,tail,type,delay\n" + "\n".join(rows) + "\n")
    assert "DEFINE up AS delay > prev.delay\n" in initialized(tmp_path, "s.csv")


def test_on_standard_output_it_says_where_to_save_it(tmp_path: Path) -> None:
    (tmp_path / "logins.csv").write_text(LOGINS)
    done = foretell(tmp_path, "init", "logins.csv")
    assert (
        "-- Save this as watch.ftl, and run it:\n--   foretell run watch.ftl --input logins=logins.csv\n" in done.stdout
    )


def test_markers_of_missing_values(tmp_path: Path) -> None:
    temps = ["n/a" if n % 7 == 3 else "NA" if n % 7 == 5 else n for n in range(40)]
    rows = [f"2026-03-01 10:{n:02},s{n % 2},{temp}" for n, temp in enumerate(temps)]
    (tmp_path / "temps.csv").write_text("\n".join(["time,sensor,temp", *rows]) + "\n")
    text = initialized(tmp_path, "temps.csv")
    assert ") TIME time NULL 'n/a', 'NA';\n" in text
    assert "  temp   INT\n" in text
    # NA is a region here, and a missing value only where numbers are.
    (tmp_path / "regions.csv").write_text("\n".join(["time,sensor,temp,region", *(f"{row},NA" for row in rows)]) + "\n")
    assert ") TIME time NULL 'n/a';\n" in foretell(tmp_path, "init", "regions.csv").stdout


@pytest.mark.parametrize(("day", "clock"), [("date", "time"), ("day", "clock")])
def test_a_day_and_a_clock(tmp_path: Path, day: str, clock: str) -> None:
    lines = [f"{day},{clock},car,km"]
    lines += [f"2026-03-0{1 + n // 20},{n % 20:02}:30:00,c{n % 2},{n % 5}" for n in range(60)]
    (tmp_path / "trips.csv").write_text("\n".join(lines) + "\n")
    text = initialized(tmp_path, "trips.csv")
    assert re.search(r"  time +TIMESTAMP", text)
    assert ") TIME time;\n" in text
    assert f"--   foretell run watch.ftl --input trips=trips.csv --time trips={day}+{clock}\n" in text
    assert foretell(tmp_path, "init", "trips.csv", "--time", f"{day}+{clock}").stdout.count(") TIME time;") == 1
    assert f") TIME {day};" in foretell(tmp_path, "init", "trips.csv", "--time", day).stdout
