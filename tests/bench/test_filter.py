"""The workloads of `foretell bench filter`, small: the engine, and the joins, find what trying everything finds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from foretell.bench.filter.bare_loop import BareLoop, matched_times
from foretell.bench.filter.digests import digest_of
from foretell.bench.filter.figures import charts
from foretell.bench.filter.joins import installed_joins
from foretell.bench.filter.single_events import measured
from foretell.bench.filter.technical_benchmark import MODES, figures
from foretell.bench.growth.curves import Point
from foretell.bench.workloads import feed_items
from foretell.bench.workloads.cayuga_templates import CayugaBenchmark, CayugaTemplate, text
from foretell.bench.workloads.conjunctions import F3, WORKLOADS, Conjunctions
from foretell.bench.workloads.feed_items import FeedTemplate
from foretell.engine import Engine
from foretell.filter.optimisations import with_optimisations
from tests.bench.subscription_matches import cayuga_matches, conjunction_matches, feed_matches


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_single_events(workload: Conjunctions) -> None:
    subscriptions = workload.subscriptions(3_000)
    events = workload.events(300)
    expected = conjunction_matches(workload, subscriptions.to_pylist(), events.to_pylist())
    found = Engine(workload.text, tables={"wanted": subscriptions}).push("events", events).to_arrow()
    assert sorted(zip(found["start"].to_pylist(), found["id"].to_pylist())) == expected
    assert expected
    for join in installed_joins(workload, subscriptions):
        joined = join.matches(events)
        assert sorted(zip(joined["time"].to_pylist(), joined["id"].to_pylist())) == expected
    bare = BareLoop(workload, subscriptions)
    rows = bare.matches(bare.prepared(events))
    assert sorted(zip(matched_times(rows, events).tolist(), rows["id"].to_pylist())) == expected


def test_a_run_of_single_events() -> None:
    """All systems over the same events, whose matches have equal digests."""
    run = measured("F1", 2_000, 1_000, size=200)
    assert {rate.system for rate in run.rates} >= {"push", "push, to_arrow", BareLoop.name}
    assert len({rate.matches for rate in run.rates}) == len({rate.events for rate in run.rates}) == 1
    assert run.rates[0].matches
    assert run.seconds > 0


def test_other_matches_have_another_digest() -> None:
    subscriptions, events = F3.subscriptions(5_000), F3.events(500)
    engine = Engine(F3.text, tables={"wanted": subscriptions})
    found = engine.push("events", events).to_arrow()
    assert digest_of(found, "start", "id") != digest_of(found.slice(1), "start", "id")
    backwards = found.take(list(range(found.num_rows))[::-1])
    assert digest_of(found, "start", "id") == digest_of(backwards, "start", "id")


@pytest.mark.parametrize("template", CayugaTemplate, ids=lambda template: template.value)
def test_the_technical_benchmark(template: CayugaTemplate) -> None:
    benchmark = CayugaBenchmark(values=2)
    table = benchmark.table(template, benchmark.subscriptions(400))
    events = benchmark.events(100)
    found = Engine(text(template), tables={"wanted": table}).push("events", events).to_arrow()
    expected = cayuga_matches(template, table.to_pylist(), events.to_pylist())
    assert sorted(zip(*(found[name].to_pylist() for name in ("start", "end", "id")))) == expected
    assert expected


@pytest.mark.parametrize("mode", MODES)
def test_optimisations_change_no_match(mode: str) -> None:
    benchmark = CayugaBenchmark(values=2)
    for template in CayugaTemplate:
        table = benchmark.table(template, benchmark.subscriptions(100))
        table = pa.concat_tables([table, table.set_column(0, "id", pa.array(range(100, 200)))])  # each row twice
        events = benchmark.events(60)
        with with_optimisations(MODES[mode]):
            found = Engine(text(template), tables={"wanted": table}).push("events", events).to_arrow()
        expected = cayuga_matches(template, table.to_pylist(), events.to_pylist())
        assert sorted(zip(*(found[name].to_pylist() for name in ("start", "end", "id")))) == expected


def test_sums_of_all_events() -> None:
    """NonDeterministicAgg adds up the continuous attributes, also those of the events between the three steps."""
    benchmark = CayugaBenchmark(values=1)
    template = CayugaTemplate.NON_DETERMINISTIC_AGG
    table, events = benchmark.table(template, benchmark.subscriptions(5)), benchmark.events(12)
    found = Engine(text(template), tables={"wanted": table}).push("events", events)
    values = np.asarray(events["c2"].to_numpy())
    assert len(found)
    for match in found:  # with a single value every event has the primary one
        assert match.bindings["total2"] == pytest.approx(values[int(match.start) : int(match.end) + 1].sum())


@pytest.mark.parametrize("template", FeedTemplate, ids=lambda template: template.value)
def test_feeds(template: FeedTemplate) -> None:
    items = feed_items.items(1_500)
    table = template.table(feed_items.subscriptions(150))
    found = Engine(template.text, tables={"wanted": table}).push("events", items).to_arrow()
    expected = feed_matches(template, table.to_pylist(), items.to_pylist())
    assert sorted(zip(*(found[name].to_pylist() for name in ("start", "end", "id")))) == expected
    assert expected


def test_nodes_of_merged_subscriptions() -> None:
    benchmark = CayugaBenchmark()
    levels = benchmark.levels(benchmark.subscriptions(2_000))
    assert levels[0] < levels[1] <= levels[2] <= 2_000
    skewed = CayugaBenchmark(skews=(1.4, 1.0, 0.8))
    assert skewed.levels(skewed.subscriptions(2_000))[0] < levels[0]


def test_every_curve_has_a_figure() -> None:
    slugs = [workload.name.lower() for workload in WORKLOADS]
    slugs += [*(figure.slug for figure in figures(True)), "cayuga-optimisations", "feeds"]
    points = [
        Point("filter", slug, 1, 1.0, 1.0, figure=slug, curve="x", x=x, y=2.0) for slug in slugs for x in (1.0, 2.0)
    ]
    assert [chart.slug for chart in charts(points)] == slugs


@pytest.mark.soak
def test_a_quick_run_gives_every_figure(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "foretell.cli", "bench", "filter", "--quick", "--json", "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {"bench", "case", "events", "seconds", "rate"} <= set.intersection(*map(set, lines))
    drawn = {line["figure"] for line in lines if "y" in line}
    assert {p.name for p in tmp_path.iterdir()} == {"filter.html", *(f"filter-{name}.svg" for name in drawn)}
