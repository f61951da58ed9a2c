"""Large machines by their parts or with shared bits (decision 0008): python benchmarks/parts.py

For each pattern, on data that it was not trained on: the log loss by which training chooses, then AUC and calibration
error of the backtest, both ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import foretell as ft
from foretell.forecast.training import train
from foretell.forecast.training.part_choice import PartComparison, compare_parts

BRANCHES, LENGTH = 10, 8


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    horizon: int
    train: pa.Table
    test: pa.Table


def values(count: int, kinds: int, seed: int) -> pa.Table:
    """Independent events of so many kinds, all as likely."""
    chance = np.random.default_rng(seed)
    columns: dict[str, Any] = {"v": chance.integers(0, kinds, count), "time": np.arange(count)}
    return pa.table(columns)


def attributes(count: int, seed: int) -> pa.Table:
    """Attributes that know nothing of each other."""
    chance = np.random.default_rng(seed)
    columns: dict[str, Any] = {"time": np.arange(count)}
    columns |= {f"x{i}": (chance.random(count) < 0.5 + 0.02 * i).astype(np.int64) for i in range(BRANCHES)}
    return pa.table(columns)


def of_values(name: str, pattern: str, steps: int, rest: str, horizon: int, kinds: int, count: int) -> Case:
    defined = ", ".join(f"s{i} AS v = {i}" for i in range(steps))
    text = (
        f"STREAM s (v INT, time INT) TIME time; SUBSCRIBE p FROM s MATCH {pattern} DEFINE {defined} {rest} "
        f"FORECAST WITHIN {horizon} EVENTS ABOVE 0.5;"
    )
    return Case(name, text, horizon, values(count, kinds, 2), values(count, kinds, 3))


def of_branches(horizon: int) -> Case:
    runs = [[f"s{LENGTH * i + j}" for j in range(LENGTH)] for i in range(BRANCHES)]
    pattern = " | ".join(f"({' , '.join(run)})" for run in runs)
    defined = ", ".join(f"{step} AS x{i} = 1" for i, run in enumerate(runs) for step in run)
    declared = ", ".join(f"x{i} INT" for i in range(BRANCHES))
    text = (
        f"STREAM s ({declared}, time INT) TIME time; SUBSCRIBE p FROM s MATCH {pattern} DEFINE {defined} "
        f"FORECAST WITHIN {horizon} EVENTS ABOVE 0.5;"
    )
    return Case(f"| of {BRANCHES} runs of {LENGTH}", text, horizon, attributes(20_000, 2), attributes(20_000, 3))


def pairs(count: int) -> str:
    return " & ".join(f"(s{2 * i} ; s{2 * i + 1})" for i in range(count))


def cases() -> Iterator[Case]:
    seven = " & ".join(f"s{i}" for i in range(7))
    yield of_values("& of seven steps, a short window", seven, 7, "WITHIN 12", 5, 10, 15_000)
    yield of_values("& of seven steps", seven, 7, "WITHIN 24", 5, 10, 15_000)
    yield of_values("& of four pairs, rare events", pairs(4), 8, "WITHIN 60", 10, 25, 20_000)
    yield of_values("& of five pairs", pairs(5), 10, "WITHIN 60", 10, 25, 20_000)
    past = "WITHIN 60 AFTER MATCH SKIP PAST LAST"
    yield of_values("& of four pairs, SKIP PAST LAST", pairs(4), 8, past, 10, 25, 20_000)
    yield of_values("x ; (seven in any order) ; y", f"s7 ; ({seven}) ; s8", 9, "WITHIN 25", 10, 10, 20_000)
    yield of_branches(5)


def scores(case: Case, taken: PartComparison) -> tuple[float, float]:
    """AUC and calibration error, trained as if training had chosen so."""
    with patch.object(train, "compare_parts", lambda *_, **__: taken):
        model = ft.train(case.text, {"s": case.train})
    (card,) = ft.backtest(case.text, {"s": case.test}, model=model, horizons=[case.horizon]).scorecards
    return card.overall.auc, card.overall.reliability.error


def chosen(case: Case) -> PartComparison:
    """What training finds."""
    found: list[PartComparison] = []

    def noted(*given: Any, **settings: Any) -> PartComparison:
        found.append(compare_parts(*given, **settings))
        return found[-1]

    with patch.object(train, "compare_parts", noted):
        ft.train(case.text, {"s": case.train})
    return found[0]


if __name__ == "__main__":
    for case in cases():
        choice = chosen(case)
        for way, losses in (("parts", choice.parts), ("chain", choice.chain)):
            by_parts = way == "parts"
            auc, error = scores(case, PartComparison((float(not by_parts),), (float(by_parts),)))
            taken = "  taken" if choice.by_parts == by_parts else ""
            print(
                f"{case.name:34} {way:7} log loss {np.mean(losses):.3f}  AUC {auc:.3f}  error {error:.3f}{taken}",
                flush=True,
            )
