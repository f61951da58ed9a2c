"""`ft.capacity`: whether a deployment keeps up with its events."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foretell.api.sample_rates import measured_rate
from foretell.arguments.validation import bad_argument
from foretell.capacity.examination import examined
from foretell.capacity.report import CapacityReport
from foretell.capacity.scenario.scenario import read_scenario, scenario_of
from foretell.events.atomic_files import path_of


def capacity(scenario: str | os.PathLike[str] | Mapping[str, Any]) -> CapacityReport:
    """Examine a deployment: how long from an event to its notification, which part is the bottleneck, and at how many
    events a second it breaks down.

    `scenario` is the path of a scenario file, or its contents as a dict; paths in a dict are relative to the current
    folder.

    >>> capacity({"provider": {"rate": 40}, "filter": {"rate": 50}, "run": {"seed": 7}})
    Capacity
      mean time  ±     95%     99%     equation 7.1  busiest     breaks down at
      100 ms     1.8%  299 ms  462 ms  100 ms        filter 80%  49.7/s
    """
    if isinstance(scenario, Mapping):
        return examined(scenario_of(scenario, Path(), measured_rate))
    if not isinstance(scenario, str | os.PathLike):
        raise bad_argument("scenario", "the path of a scenario file, or a dict", scenario)
    return examined(read_scenario(path_of(scenario), measured_rate))
