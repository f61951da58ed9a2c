"""The examination of a scenario, point by point."""

from __future__ import annotations

from time import monotonic

from foretell.capacity.equation import equation_7_1
from foretell.capacity.findings import findings
from foretell.capacity.markov_chain import solved
from foretell.capacity.measures import NetMeasures
from foretell.capacity.report import CapacityPoint, CapacityReport
from foretell.capacity.saturation import Saturation, offered, saturation_of
from foretell.capacity.scenario.scenario import CHAIN, Scenario, ScenarioPoint
from foretell.capacity.simulation.steady_state import simulated
from foretell.errors import InputError
from foretell.progress import advance, begin_stage


def examined(scenario: Scenario) -> CapacityReport:
    began = monotonic()
    begin_stage("simulating", len(scenario.points), "points")
    known: dict[object, Saturation | None] = {}
    points = []
    for point in scenario.points:
        points.append(_examined(scenario, point, known))
        advance(1)
    return CapacityReport(scenario.title, scenario.key, tuple(points), scenario.notes, monotonic() - began)


def _examined(scenario: Scenario, point: ScenarioPoint, known: dict[object, Saturation | None]) -> CapacityPoint:
    try:
        measures: NetMeasures = (
            solved(point.net) if scenario.method == CHAIN else simulated(point.net, scenario.simulation)
        )
    except InputError as error:
        place = ", ".join(
            part for part in (point.variant, f"{scenario.key} = {point.value}" if scenario.key else "") if part
        )
        raise InputError(error.code, f"{place}: {error.message}" if place else error.message, hint=error.hint) from None
    saturation = None
    if scenario.finds_saturation and offered(point.net):
        saturation = saturation_of(point.net, scenario.simulation.seed)
    return CapacityPoint(
        variant=point.variant,
        value=point.value,
        measures=measures,
        saturation=saturation,
        equation=None if point.settings is None else equation_7_1(point.settings),
        findings=tuple(findings(measures, saturation, scenario.simulation)),
    )
