"""Scenarios: what is examined, and at which points."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foretell.capacity.net.petri_net import PetriNet
from foretell.capacity.net.validation import validated
from foretell.capacity.nets.notification_service import notification_service
from foretell.capacity.nets.settings import ServiceSettings
from foretell.capacity.scenario import net_sections, service_sections
from foretell.capacity.scenario.rates import Meter, RateReader
from foretell.capacity.scenario.section import ScenarioSection
from foretell.capacity.simulation.steady_state import SimulationSettings
from foretell.errors import InputError
from foretell.events.atomic_files import read_text
from foretell.records import record

SIMULATION, CHAIN = "simulation", "chain"

_SECTIONS = ("title", *service_sections.SECTIONS, *net_sections.SECTIONS, "run")

#: The most points of a scenario: values times variants.
MOST_POINTS = 1_000


@record
class ScenarioPoint:
    """A net to examine. `value` is that of the varied key; `settings` are there where the net is a service."""

    variant: str
    value: float | None
    net: PetriNet
    settings: ServiceSettings | None


@record
class Scenario:
    """`key` is the key whose values the points have, empty without [vary]."""

    title: str
    points: tuple[ScenarioPoint, ...]
    key: str
    method: str
    simulation: SimulationSettings
    finds_saturation: bool
    notes: tuple[str, ...]


def read_scenario(path: Path, meter: Meter) -> Scenario:
    """Reads a scenario file. Its paths are relative to the folder it is in."""
    text = read_text(path)
    try:
        given = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a TOMLDecodeError, or a number of thousands of digits
        raise InputError("wrong-format", f"{path} is not TOML: {error}") from None
    return scenario_of(given, path.parent, meter, text, str(path))


def scenario_of(given: Mapping[str, Any], home: Path, meter: Meter, text: str = "", file: str = "") -> Scenario:
    """The scenario of these values; `text` and `file` are where they come from."""
    top = ScenarioSection(given, (), text, file)
    top.known(*_SECTIONS, "vary", "variants")
    method, simulation, finds_saturation = _run(top.section("run"))
    rates = RateReader(home, meter)
    key, values = _varied(top.section("vary")) if "vary" in top else ("", [None])
    variants = _variants(top)
    if len(values) * len(variants) > MOST_POINTS:
        top.refuse(
            "vary", f"{len(values) * len(variants):,} points are more than {MOST_POINTS:,}", "write fewer values"
        )
    points = []
    for variant, changed in variants.items():
        for value in values:
            changes = changed if value is None else {**changed, key: value}
            points.append(_point(_changed(given, changes, top), text, file, rates, variant, value))
    return Scenario(
        title=top.text("title") or (Path(file).stem if file else "Capacity"),
        points=tuple(points),
        key=key,
        method=method,
        simulation=simulation,
        finds_saturation=finds_saturation,
        notes=tuple(rates.notes),
    )


def _point(
    given: Mapping[str, Any], text: str, file: str, rates: RateReader, variant: str, value: float | None
) -> ScenarioPoint:
    top = ScenarioSection(given, (), text, file)
    top.known(*_SECTIONS)  # [vary] and variants may name others
    own = [name for name in net_sections.SECTIONS if name in top]
    if own:
        for name in service_sections.SECTIONS:
            if name in top:
                top.refuse(name, "a net of one's own has no such section", f"leave out [{name}], or [{own[0]}]")
        return ScenarioPoint(variant, value, net_sections.petri_net(top, rates), None)
    settings = service_sections.service_settings(top, rates)
    service_sections.check_capacities(top, settings)
    return ScenarioPoint(variant, value, validated(notification_service(settings)), settings)


def _run(given: ScenarioSection) -> tuple[str, SimulationSettings, bool]:
    given.known("method", "precision", "confidence", "seconds", "firings", "seed", "saturation")
    default = SimulationSettings()
    precision, confidence = given.number("precision"), given.number("confidence")
    for key, value in (("precision", precision), ("confidence", confidence)):
        if value is not None and value >= 1:
            given.refuse(key, f"{value:g} is no {key}", "write a number between 0 and 1, such as 0.05")
    settings = SimulationSettings(
        precision=precision or default.precision,
        confidence=confidence or default.confidence,
        firings=given.count("firings", default.firings, least=1_000) or default.firings,
        seconds=given.number("seconds") or default.seconds,
        seed=given.count("seed", default.seed, least=0) or 0,
    )
    return given.choice("method", (SIMULATION, CHAIN), SIMULATION), settings, given.flag("saturation", True)


def _varied(given: ScenarioSection) -> tuple[str, list[Any]]:
    given.known("key", "values")
    key, values = given.text("key"), given.value("values")
    if not key:
        given.refuse("key", "'key' is missing", 'name the key that varies: key = "provider.rate"')
    if not isinstance(values, list) or not values:
        given.refuse("values", "'values' is missing or empty", "write values = [10, 20, 50]")
    for value in values:
        given.as_number("values", value)
    return key, values


def _variants(top: ScenarioSection) -> dict[str, dict[str, Any]]:
    """The changes of each variant by dotted key; a scenario without variants has one without changes."""
    found = {name: inner.values() for name, inner in top.section("variants").sections()}
    return found or {"": {}}


def _changed(given: Mapping[str, Any], changes: Mapping[str, Any], top: ScenarioSection) -> dict[str, Any]:
    """The scenario with other values at some dotted keys."""
    result = copy.deepcopy({name: value for name, value in given.items() if name not in ("vary", "variants")})
    for key, value in changes.items():
        *path, last = key.split(".")
        table = result
        for part in path:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                top.refuse("vary", f"'{key}' leads through '{part}', which is no table", "name a key of a section")
        if not path:
            top.refuse("vary", f"'{key}' names no section", 'write it as "provider.rate"')
        table[last] = value
    return result
