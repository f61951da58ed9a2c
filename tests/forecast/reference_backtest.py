"""A backtest in the plainest way, for sequences of `,` and `;` over conditions such as `kind = 3`, lane by lane.

Sets of states are followed event by event; a dictionary counts what follows what; a match is absorbing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.forecast.evaluation.report import Report
from foretell.forecast.evaluation.scorecard import ForecastPoints, scorecard
from foretell.learn.horizon import Horizon
from foretell.learn.outcomes import times_to_match


def backtest(
    statements: str,
    train: Mapping[str, pa.Table],
    test: Mapping[str, pa.Table],
    horizons: Sequence[int],
    thresholds: Sequence[float],
    *,
    order: int = 0,
    features: Sequence[str] = (),
) -> Report:
    found = []
    pattern = r"SUBSCRIBE (\w+) FROM (\w+) (?:PER (\w+) )?MATCH (.+?) DEFINE (.+?);$"
    for name, stream, key, sequence, define in re.findall(pattern, statements, re.MULTILINE):
        steps, conditions = _steps(sequence, define)
        history = list(_lanes(train[stream], key, steps, conditions, order, features))
        later = list(_lanes(test[stream], key, steps, conditions, order, features))
        chances = _chances(history, horizons)
        process = np.repeat(np.arange(len(later)), [len(lane) for _, lane in later])
        ordinal = np.concatenate([np.arange(len(lane)) for _, lane in later])
        matched = np.array([done for _, lane in later for _, done in lane])
        outcome = times_to_match(process, ordinal, ordinal.astype(float), matched)
        for number, horizon in enumerate(horizons):
            stated = np.array([chances[number].get(state, np.nan) for _, lane in later for state, _ in lane])
            forecasts = ForecastPoints(process, matched, outcome, stated)
            keys, levels = [key for key, _ in later], np.array(thresholds)
            found.append(scorecard(name, Horizon(events=horizon), forecasts, keys=keys, thresholds=levels))
    return Report.of(found)


Lane = list[tuple[Any, bool]]  # for each event the state of the chain, and whether a match was completed


def _steps(sequence: str, define: str) -> tuple[list[bool], list[str]]:
    """For each step whether it waits for the next one, and its condition."""
    names = re.findall(r"\w+", sequence)
    conditions = {
        name: condition
        for group, condition in re.findall(r"((?:\w+, )*\w+) AS (\w+ [=>] \d+)", define)
        for name in group.split(", ")
    }
    return [operator == ";" for operator in re.findall(r"[,;]", sequence)] + [False], [conditions[n] for n in names]


def _holds(condition: str, table: pa.Table) -> np.ndarray:
    column, sign, number = condition.split()
    values = table[column].to_numpy()
    found: np.ndarray = values == float(number) if sign == "=" else values > float(number)
    return found


def _lanes(
    table: pa.Table, key: str, waiting: list[bool], conditions: list[str], order: int, features: Sequence[str]
) -> Iterator[tuple[str, Lane]]:
    holds = np.stack([_holds(c, table) for c in conditions], axis=1)
    classes = np.sum([_holds(c, table) for c in features], axis=0) if features else np.zeros(len(holds), int)
    lanes = np.array(table[key].to_pylist() if key else [""] * len(holds))
    for name in np.unique(lanes):
        mine = lanes == name
        lane: Lane = []
        active: frozenset[int] = frozenset()
        context: tuple[int, ...] = ()
        for row, symbol in zip(holds[mine].tolist(), classes[mine].tolist()):
            entered = {k for k, true in enumerate(row) if true and (k == 0 or k - 1 in active)}
            done = len(row) - 1 in entered
            active = frozenset(entered - {len(row) - 1}) | {k for k in active if waiting[k]}
            context = (*context, symbol)[-order:] if order else ()
            lane.append(((context if order else active), done))
        yield str(name), lane


def _chances(history: list[tuple[str, Lane]], horizons: Sequence[int]) -> list[dict[Any, float]]:
    """For each horizon the probability of a match within it, from every state that was left."""
    counts: dict[Any, Counter[Any]] = defaultdict(Counter)
    for _, lane in history:
        for (state, _), (following, done) in pairwise(lane):
            counts[state][None if done else following] += 1
    now: dict[Any, float] = dict.fromkeys(counts, 0.0)
    by_events = []
    for _ in range(max(horizons)):
        before = now
        now = {
            state: sum(n * (1.0 if to is None else before.get(to, 0.0)) for to, n in leaving.items()) / leaving.total()
            for state, leaving in counts.items()
        }
        by_events.append(now)
    return [by_events[horizon - 1] for horizon in horizons]
