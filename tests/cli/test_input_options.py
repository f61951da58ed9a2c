"""The options on the form of the events: what the readers get of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import foretell as ft
from foretell.cli import run_command
from tests.command import foretell

INPUTS = ("--input", "a=a.csv", "--input", "b=b.csv")


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command, and returns what `ft.run` gets as `read`."""
    (tmp_path / "m.ftl").write_text("SUBSCRIBE m FROM a, b MATCH x;")
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("t\n1\n")

    def reads(*options: str) -> dict[str, ft.ReadOptions]:
        got: dict[str, Any] = {}

        def run(*_: object, **arguments: Any) -> ft.Notifications:
            got.update(arguments)
            return ft.Notifications(())

        monkeypatch.setattr(run_command, "run", run)
        done = foretell(tmp_path, "run", "m.ftl", *INPUTS, "--engine", "embedded", *options)
        assert done.returncode == 0, done.stderr
        read = got["read"]
        assert isinstance(read, dict)
        return read

    return reads


def test_values_for_all_streams_and_for_one(seen: Any) -> None:
    read = seen("--delimiter", ";", "--delimiter", "b=|", "--null", "NA", "--null", "b=-99", "--null", "b=NA")
    assert read == {
        "a": ft.ReadOptions(delimiter=";", nulls=("NA",)),
        "b": ft.ReadOptions(delimiter="|", nulls=("NA", "-99")),
    }


def test_every_option(seen: Any) -> None:
    options = ["--format", "csv", "--encoding", "latin-1", "--columns", "x, y,z", "--pattern", "b=syslog"]
    options += ["--missing-columns", "--time-format", "%d.%m.%Y", "--zone", "Europe/Berlin", "--day-first"]
    read = seen(*options, "--year", "2026")
    wanted = ft.ReadOptions(
        format="csv",
        encoding="latin-1",
        columns=("x", "y", "z"),
        missing_columns=True,
        time_format="%d.%m.%Y",
        zone="Europe/Berlin",
        day_first=True,
        year=2026,
    )
    assert read["a"] == wanted
    assert read["b"].pattern == "syslog"
    assert seen("--month-first")["a"].day_first is False
    assert seen()["a"] == ft.ReadOptions()


def test_a_pattern_may_contain_names(seen: Any) -> None:
    """`user=…` is a stream's pattern only where there is a stream `user`."""
    assert seen("--pattern", r"user=(?P<user>\w+)")["a"].pattern == r"user=(?P<user>\w+)"
    assert seen("--pattern", r"a=user=(?P<user>\w+)")["a"].pattern == r"user=(?P<user>\w+)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--zone", "c=UTC"), "'c=UTC': there is no --input for a stream 'c' (known here: 'a', 'b')"),
        (("--zone", "UTC", "--zone", "CET"), "'CET' is a second value; give one"),
        (("--year", "last"), "expected a year, found 'last'"),
        (("--columns", "x,,y"), "expected names separated by commas, found 'x,,y'"),
    ],
)
def test_wrong_options(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    (tmp_path / "m.ftl").write_text("SUBSCRIBE m FROM a, b MATCH x;")
    done = foretell(tmp_path, "run", "m.ftl", *INPUTS, *options)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


@pytest.mark.parametrize("command", ["run", "init", "train", "backtest", "loss", "explain", "demo", "bench", ""])
def test_help_fits_into_80_columns_uncut(tmp_path: Path, command: str) -> None:
    done = foretell(tmp_path, *command.split(), "--help")
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "..." not in done.stdout.replace("[ARGS]...", "")
    assert "Examples:\n" in done.stdout


# ── bare values ──

SINGLE = "SUBSCRIBE m FROM s MATCH x;"
TWO = "SUBSCRIBE m FROM s, u MATCH x;"


@pytest.mark.parametrize(
    ("statements", "options"),
    [
        (SINGLE, ("--input", "data.csv", "--time", "at")),
        (SINGLE, ("--input", "s=data.csv", "--time", "at")),
        (SINGLE, ("--input", "data.csv", "--time", "s=at")),
        (SINGLE, ("--input", "all/day=1/s.csv", "--time", "at")),
        (TWO, ("--input", "s.csv", "--input", "u.csv", "--time", "at")),
        (TWO, ("--input", "s.csv", "--input", "u=data.csv", "--time", "at")),
    ],
)
@pytest.mark.parametrize("command", ["run", "backtest"])
def test_names_of_streams_may_be_left_out(
    tmp_path: Path, command: str, statements: str, options: tuple[str, ...]
) -> None:
    (tmp_path / "m.ftl").write_text(statements.replace("x;", "x , y FORECAST WITHIN 2 EVENTS ABOVE 0.5;"))
    (tmp_path / "all/day=1").mkdir(parents=True)
    for name in ("data", "s", "u", "all/day=1/s"):
        (tmp_path / f"{name}.csv").write_text("at,time\n1,5\n2,4\n")
    done = foretell(tmp_path, command, "m.ftl", *options)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("statements", "options", "status", "message"),
    [
        (TWO, ("--input", "data.csv"), 2, "expected STREAM=PATH, found 'data.csv'"),
        (SINGLE, ("--input", "data.csv", "--input", "s.csv"), 2, "'s' occurs twice; give it once"),
        (SINGLE, ("--input", "t=data.csv"), 1, "no statement reads a stream 't'"),
        (SINGLE, ("--input", "none.csv"), 1, "there is no file 'none.csv'"),
        (SINGLE, ("--input", "data.csv", "--time", "none"), 1, "none"),
    ],
)
def test_wrong_bare_values(
    tmp_path: Path, statements: str, options: tuple[str, ...], status: int, message: str
) -> None:
    (tmp_path / "m.ftl").write_text(statements)
    (tmp_path / "data.csv").write_text("at\n1\n2\n")
    (tmp_path / "s.csv").write_text("at\n1\n2\n")
    done = foretell(tmp_path, "run", "m.ftl", *options)
    assert (done.returncode, message in done.stderr) == (status, True), done.stderr
