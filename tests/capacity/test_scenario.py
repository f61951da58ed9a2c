"""Scenario files: the exact errors with their place, and what a scenario says about its points."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import foretell as ft
from foretell.capacity.scenario.rates import MeasuredRate, StatementSample
from foretell.capacity.scenario.scenario import Scenario, read_scenario
from foretell.errors import InputError

SMALL = """title = "small"
[provider]
rate = 40
[filter]
rate = 50
"""

OWN = """[places.queue]
events = true
[places.free]
tokens = 1
[transitions.arrive]
rate = 3
to = "queue"
[transitions.serve]
delay = 0.25
from = ["queue", "free"]
to = { free = 1 }
"""


def no_meter(sample: StatementSample) -> MeasuredRate:
    raise AssertionError(f"nothing is to be measured: {sample}")


def written(folder: Path, text: str) -> Path:
    path = folder / "s.toml"
    path.write_text(text, encoding="utf-8")
    return path


def scenario(folder: Path, text: str) -> Scenario:
    return read_scenario(written(folder, text), no_meter)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SMALL.replace("rate = 50", "rate = 0"),
            "5:1: filter.rate: 0 is no rate: nothing would ever happen\n  5 | rate = 0\n    | ^^^^\n"
            "  hint: write a number above 0",
        ),
        (
            SMALL.replace("rate = 40", "rate = -3"),
            "3:1: provider.rate: -3 is no rate: it must be above 0\n  3 | rate = -3\n    | ^^^^\n"
            "  hint: write a number above 0",
        ),
        (
            SMALL.replace("rate = 40", f"rate = 1{400 * '0'}"),
            "3:1: provider.rate: the number is not from 1e-12 to 1e+12\n",
        ),
        (
            SMALL.replace("rate = 50", "rate = 1e-300"),
            "5:1: filter.rate: the number is not from 1e-12 to 1e+12\n",
        ),
        (
            SMALL.replace("rate = 40", "rate = 'forty'"),
            "3:1: provider.rate: expected a number, found 'forty'\n  3 | rate = 'forty'\n    | ^^^^",
        ),
        (
            SMALL.replace("rate = 40", "rates = 40"),
            "3:1: provider.rates: unknown key 'rates'\n  3 | rates = 40\n    | ^^^^^\n  hint: did you mean 'rate'?",
        ),
        (
            SMALL.replace("rate = 40", "arrivals = 'random'"),
            "2:1: provider.rate: 'rate' is missing\n  2 | [provider]\n    | ^^^^^^^^^^\n"
            "  hint: add rate = a number to [provider]",
        ),
        (
            SMALL + "[observer]\nmethod = 'activ'\n",
            "7:1: observer.method: 'activ' is not one of passive, lossy, triggered, scheduled\n"
            "  7 | method = 'activ'\n    | ^^^^^^\n  hint: ",
        ),
        (
            SMALL + "[network]\nnoise = 10\ncapacity = 5\n",
            "8:1: network.capacity: an event takes 11 messages with its noise: 5 are too few\n"
            "  8 | capacity = 5\n    | ^^^^^^^^\n  hint: write 11 or more",
        ),
        (
            SMALL + "[filters]\n",
            "6:1: filters: unknown key 'filters'\n  6 | [filters]\n    | ^^^^^^^^^\n  hint: did you mean 'filter'?",
        ),
        (
            SMALL + "[batches]\nshards = 4\n",
            "6:1: batches.overhead: 'overhead' is missing\n  6 | [batches]\n    | ^^^^^^^^^\n"
            "  hint: add the seconds that a micro-batch takes however few its events are",
        ),
        (
            SMALL + "[vary]\nkey = 'provider.rate'\nvalues = [10, 0]\n",
            "8:1: vary.values: 0 is no values: nothing would ever happen\n  8 | values = [10, 0]\n    | ^^^^^^\n"
            "  hint: write a number above 0",
        ),
        (
            SMALL + "[vary]\nkey = 'provider.rat'\nvalues = [10]\n",
            "2:1: provider.rat: unknown key 'rat'\n  2 | [provider]\n    | ^^^^^^^^^^\n  hint: did you mean 'rate'?",
        ),
        (
            SMALL + "[variants.x]\n\"observr.method\" = 'lossy'\n",
            " observr: unknown key 'observr'\n  hint: did you mean 'observer'?",
        ),
        (
            SMALL + "[vary]\nkey = 'rate'\nvalues = [10]\n",
            "6:1: vary: 'rate' names no section\n  6 | [vary]\n    | ^^^^^^\n  hint: write it as \"provider.rate\"",
        ),
        (
            SMALL + "[run]\nprecision = 2\n",
            "7:1: run.precision: 2 is no precision\n  7 | precision = 2\n    | ^^^^^^^^^\n"
            "  hint: write a number between 0 and 1, such as 0.05",
        ),
        (
            SMALL.replace("rate = 50", 'rate = { bench = "none.jsonl", case = "w1" }'),
            "5:1: filter.rate.bench: there is no file 'FOLDER/none.jsonl'\n",
        ),
        (
            OWN.replace('to = "queue"', 'to = "qeue"'),
            "7:1: transitions.arrive.to.qeue: there is no place 'qeue'\n  7 | to = \"qeue\"\n    | ^^\n"
            "  hint: did you mean 'queue'?",
        ),
        (
            OWN.replace("delay = 0.25", "delay = 0.25\nrate = 2"),
            "9:1: transitions.serve.delay: a transition has a rate or a delay, not both\n  9 | delay = 0.25\n"
            "    | ^^^^^\n  hint: leave out one of them",
        ),
        (
            OWN.replace("tokens = 1", "tokens = -1"),
            "4:1: places.free.tokens: expected a whole number, 0 or more, found -1\n  4 | tokens = -1\n    | ^^^^^^",
        ),
        (
            OWN + "[filter]\nrate = 5\n",
            "12:1: filter: a net of one's own has no such section\n  12 | [filter]\n     | ^^^^^^^^\n"
            "  hint: leave out [filter], or [places]",
        ),
    ],
)
def test_errors_have_their_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        scenario(tmp_path, text)
    shown = str(raised.value).replace(str(tmp_path), "FOLDER")
    assert shown.startswith(f"FOLDER/s.toml:{message}")


def test_a_scenario_without_provider_or_toml(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"provider: there is no section \[provider\]"):
        scenario(tmp_path, "[filter]\nrate = 5\n")
    with pytest.raises(InputError, match="is not TOML"):
        scenario(tmp_path, "[filter\n")
    with pytest.raises(InputError, match="there is no file"):
        read_scenario(tmp_path / "none.toml", no_meter)


def test_the_points_are_the_values_of_each_variant(tmp_path: Path) -> None:
    text = SMALL + (
        '[vary]\nkey = "provider.rate"\nvalues = [10, 20]\n'
        '[variants."as it is"]\n[variants.regular]\n"provider.arrivals" = "regular"\n"filter.fixed" = true\n'
    )
    points = scenario(tmp_path, text).points
    assert [(p.variant, p.value) for p in points] == [
        ("as it is", 10),
        ("as it is", 20),
        ("regular", 10),
        ("regular", 20),
    ]
    assert [p.settings.filter.fixed for p in points if p.settings] == [False, False, True, True]


def test_a_net_of_ones_own(tmp_path: Path) -> None:
    report = ft.capacity(written(tmp_path, OWN + "[run]\nseconds = 10\n"))
    (point,) = report.points
    assert point.latency is not None
    assert point.latency.mean == pytest.approx(0.25 * (1 + 0.75 / (2 * 0.25)), rel=0.06)  # M/D/1
    assert point.saturation is not None
    assert point.saturation.rate == pytest.approx(4, rel=0.05)
    assert point.bottleneck == "serve"
    assert point.equation is None


def test_a_rate_of_foretell_bench(tmp_path: Path) -> None:
    rows = [{"bench": "engine", "case": "w1", "rate": 1234.5}, {"bench": "engine", "case": "w2", "rate": 0}]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = scenario(tmp_path, SMALL.replace("rate = 50", 'rate = { bench = "b.jsonl", case = "w1" }'))
    assert found.points[0].settings is not None
    assert found.points[0].settings.filter.rate == 1234.5
    assert found.notes == ("w1: 1,234 events/s (b.jsonl)",)
    with pytest.raises(InputError, match="has no case 'w3'"):
        scenario(tmp_path, SMALL.replace("rate = 50", 'rate = { bench = "b.jsonl", case = "w3" }'))
    with pytest.raises(InputError, match="has the rate 0"):
        scenario(tmp_path, SMALL.replace("rate = 50", 'rate = { bench = "b.jsonl", case = "w2" }'))


def test_statements_are_measured_once_and_give_rate_coverage_and_overhead(tmp_path: Path) -> None:
    samples: list[StatementSample] = []

    def meter(sample: StatementSample) -> MeasuredRate:
        samples.append(sample)
        return MeasuredRate(2_000.0, coverage=0.25, overhead=0.0004, batch_rate=90_000.0, text="measured")

    rate = 'rate = { statements = "w.ftl", input = { logins = "l.csv" } }'
    text = SMALL.replace("rate = 50", rate) + '[vary]\nkey = "provider.rate"\nvalues = [10, 20]\n'
    found = read_scenario(written(tmp_path, text), meter)
    assert samples == [StatementSample(tmp_path / "w.ftl", {"logins": str(tmp_path / "l.csv")}, {}, None)]
    assert [p.settings.filter.coverage for p in found.points if p.settings] == [0.25, 0.25]
    assert [p.settings.filter.rate for p in found.points if p.settings] == [2_000.0, 2_000.0]
    assert found.notes == ("measured",)
    batches = read_scenario(written(tmp_path, text + "[batches]\ncores = 1\n"), meter).points[0].settings
    assert batches is not None
    assert batches.batches is not None
    assert (batches.filter.rate, batches.batches.overhead) == (90_000.0, 0.0004)


def test_statements_of_a_file_over_a_sample(tmp_path: Path) -> None:
    """The rate of real statements on this machine, with a LET attribute and two streams."""
    (tmp_path / "w.ftl").write_text(
        "STREAM a (k INT, t INT) TIME t LET odd AS k % 2;\nSTREAM b (k INT, t INT) TIME t;\n"
        "SUBSCRIBE m FROM a, b MATCH x ; y WITHIN 20 DEFINE x AS odd = 1, y AS k = 5;\n",
        encoding="utf-8",
    )
    for name, shift in (("a", 0), ("b", 1)):
        rows = "".join(f"{n % 7},{2 * n + shift}\n" for n in range(300))
        (tmp_path / f"{name}.csv").write_text(f"k,t\n{rows}", encoding="utf-8")
    rate = 'rate = { statements = "w.ftl", input = { a = "a.csv", b = "b.csv" } }'
    report = ft.capacity(written(tmp_path, SMALL.replace("rate = 50", rate) + "[run]\nseconds = 5\n"))
    (note,) = report.notes
    assert note.startswith("w.ftl: ")
    (point,) = report.points
    assert point.saturation is not None
    assert point.saturation.rate > 100


def test_deadlocks_and_overload_are_said_with_their_point(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"stands still after 'serve'"):
        ft.capacity(
            {
                "places": {"queue": {"tokens": 5}},
                "transitions": {"serve": {"rate": 1, "from": "queue"}},
            }
        )
    report = ft.capacity({"provider": {"rate": 60}, "filter": {"rate": 50}})
    (finding,) = report.points[0].findings
    assert finding.code == "unstable"
    assert finding.message.startswith("no steady state: 'observed_events' grows by 1")
    assert "60 events/s come, and 'filter' carries " in finding.message
    assert report.points[0].latency is None
    assert not report.is_stable


def test_a_full_connection_holds_providers_up() -> None:
    report = ft.capacity(
        {
            "provider": {"rate": 60, "capacity": 3},
            "network": {"capacity": 2},
            "filter": {"rate": 50},
            "run": {"seconds": 5},
        }
    )
    assert [finding.code for finding in report.points[0].findings if finding.code == "blocked"] == ["blocked"]


def test_the_chain_as_a_method() -> None:
    small = {"provider": {"rate": 40, "capacity": 8}, "network": {"capacity": 4}, "filter": {"rate": 50}}
    exact, found = (ft.capacity({**small, "run": {"method": m}}).points[0] for m in ("chain", "simulation"))
    assert exact.latency is not None
    assert found.latency is not None
    assert exact.measures.method == "Markov chain"
    assert exact.latency.half == 0
    assert abs(exact.latency.mean - found.latency.mean) < 2.5 * found.latency.half
    with pytest.raises(InputError, match="deterministic delay"):
        ft.capacity({**small, "filter": {"rate": 50, "fixed": True}, "run": {"method": "chain"}})


@pytest.mark.parametrize("argument", [None, 5, ["a.toml"]])
def test_wrong_arguments(argument: object) -> None:
    with pytest.raises(InputError, match="scenario: expected the path of a scenario file, or a dict"):
        ft.capacity(argument)  # type: ignore[arg-type]
