"""Cayuga's technical benchmark (section 4.1): throughput against the number of subscriptions, their Zipf skew, and the
selectivity of their ranges (its Fig. 6), and with optimisations switched off (its Fig. 7), by the public calls and by
processor time.

Each point has a process of its own. An engine that is slow gets fewer events than the paper's 100,000.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foretell.bench.filter.engine_runs import EngineRun, measured_run
from foretell.bench.growth.curves import LONGEST, Point
from foretell.bench.growth.harness import in_new_process
from foretell.bench.workloads.cayuga_templates import CayugaBenchmark, CayugaTemplate, text
from foretell.filter.optimisations import Optimisations, with_optimisations

EVENTS, BATCH = 100_000, 10_000
NUMBERS = (100_000, 200_000, 400_000, 1_000_000)
DEFAULT_NUMBER = 200_000  # Table 3
SKEWS = (0.8, 1.0, 1.2, 1.4)
SELECTIVITIES = (0.5, 0.6, 0.7, 0.8, 0.9)

#: The modes of Fig. 7.
MODES = {
    "all": Optimisations(),
    "no merging": Optimisations(merges=False),
    "no index of predicates": Optimisations(indexes=False),
    "no index of instances": Optimisations(instances=False),
    "none": Optimisations(merges=False, indexes=False, instances=False),
}
MODE_NUMBERS = (10_000, 20_000, 40_000)
_MODES_FIGURE = "cayuga-optimisations"


@dataclass(frozen=True)
class Figure:
    """A figure with the points of its x-axis: the number of subscriptions and the parameters at each."""

    slug: str
    xs: tuple[tuple[float, int, CayugaBenchmark], ...]


def figures(quick: bool) -> tuple[Figure, ...]:
    number = 1_000 if quick else DEFAULT_NUMBER
    skews, selectivities = (SKEWS[::3], SELECTIVITIES[::4]) if quick else (SKEWS, SELECTIVITIES)
    later = CayugaBenchmark().skews[1:]
    return (
        Figure("cayuga-number", tuple((n, n, CayugaBenchmark()) for n in ((100, 1_000) if quick else NUMBERS))),
        Figure("cayuga-skew", tuple((z, number, CayugaBenchmark(skews=(z, *later))) for z in skews)),
        Figure("cayuga-selectivity", tuple((s, number, CayugaBenchmark(selectivity=s)) for s in selectivities)),
    )


def measure(quick: bool) -> Iterator[Point]:
    for figure in figures(quick):
        if figure.slug != "cayuga-selectivity":
            yield from _levels(figure)
        for template in CayugaTemplate:
            yield from _curve(figure, template, 1_000 if quick else EVENTS)
    for mode in MODES:
        for number in (100, 1_000) if quick else MODE_NUMBERS:
            run: EngineRun = in_new_process(measured_mode, mode, number, 1_000 if quick else EVENTS)
            yield run.point(f"{_MODES_FIGURE}: {mode}, {number:,}", figure=_MODES_FIGURE, curve=mode, x=number)


def _curve(figure: Figure, template: CayugaTemplate, events: int) -> Iterator[Point]:
    before: tuple[int, float] | None = None
    for x, number, parameters in figure.xs:
        case = f"{figure.slug}: {template.value}, {x:,g}"
        if before is not None and before[1] * number / before[0] > LONGEST:  # assuming linear growth
            note = f"left out: {before[0]:,} subscriptions took {before[1]:.0f} s to load"
            yield Point("filter", case, 0, 0.0, 0.0, note=note)
            return
        run: EngineRun = in_new_process(measured, template, number, parameters, events)
        before = number, run.load_seconds
        yield run.point(case, figure=figure.slug, curve=template.value, x=x)


def measured(template: CayugaTemplate, number: int, parameters: CayugaBenchmark, events: int) -> EngineRun:
    """One template with so many subscriptions, in this process."""
    table = parameters.table(template, parameters.subscriptions(number))
    return measured_run(text(template), table, parameters.events, events, BATCH)


def measured_mode(mode: str, number: int, events: int) -> EngineRun:
    """The template Filter with some optimisations, in this process."""
    with with_optimisations(MODES[mode]):
        return measured(CayugaTemplate.FILTER, number, CayugaBenchmark(), events)


def _levels(figure: Figure) -> Iterator[Point]:
    """Nodes by level of the merged subscriptions; the paper has 48,000, 71,000 and 96,000 for 100,000."""
    for x, number, parameters in figure.xs:
        nodes = parameters.levels(parameters.subscriptions(number))
        note = f"{', '.join(f'{n:,}' for n in nodes)} nodes on the levels of {number:,} subscriptions"
        yield Point("filter", f"{figure.slug}: nodes, {x:,g}", 0, 0.0, 0.0, note=note)
