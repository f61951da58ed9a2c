"""`foretell bench calibration`: how far what they say is from what is true, and what they find.

Each distance is the mean over several histories. Beside it stands the one that chance would leave if estimates said the
truth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from foretell.bench.growth.curves import Point
from foretell.bench.recover.calibration import (
    ANY,
    BETWEEN,
    IN_A_ROW,
    NEGATED,
    SHORT,
    TWO,
    LossyPattern,
    Rows,
    Trial,
    sometimes_interrupted,
)
from foretell.bench.workloads.lossy_worlds import WORLDS, polled_tags
from foretell.forecast.evaluation.metrics import confusion_counts, reliability_curve

THRESHOLDS = np.linspace(0.05, 0.95, 19)

#: The histories of each trial, of those where any step may be lost, and the random truths that show what chance leaves.
_HISTORIES, _HISTORIES_OF_ANY, _TRUTHS = 10, 4, 5

#: With fewer estimates, 25 in each of the 20 bins, their distance is that of chance.
_FEWEST = 500

#: The instances whose estimates are judged; where a lane has twenty at a time, each has many estimates.
_LATER, _LATER_OVERLAPPING = 40_000, 3_000
_QUICK = 1_500

#: The seconds between two polls of a reader, and what they change to.
_PERIOD, _OTHER_PERIOD = 10.0, 15.0
_POLL_LOSS, _OTHER_LOSS = 0.05, 0.1

#: The patterns over reads of polls, by their figures.
POLLS = {"polls": NEGATED, "polls in a row": IN_A_ROW}


def measure(quick: bool) -> Iterator[Point]:
    for world in WORLDS:
        yield from calibration(world, quick)
        yield from scores(world, quick)
    yield from polls(quick)


def _sized(trial: Trial, world: str, quick: bool) -> Trial:
    later = _LATER_OVERLAPPING if world == "overlapping" else _LATER
    return replace(trial, history=_QUICK, later=_QUICK) if quick else replace(trial, later=later)


def _of_histories(trial: Trial, quick: bool, histories: int = _HISTORIES) -> list[Rows]:
    return [replace(trial, seed=seed).rows() for seed in range(1, 2 if quick else histories + 1)]


# ── the distance between what is said and what is true ──


def calibration(world: str, quick: bool) -> Iterator[Point]:
    happens = WORLDS[world]
    between = (NEGATED, BETWEEN, TWO) if world == "two between" else (NEGATED, BETWEEN)
    for complete in (False, True):
        history = "complete history" if complete else "lossy history"
        for pattern in between:
            rows = _of_histories(_sized(Trial(pattern, happens, complete), world, quick), quick)
            yield from _distances(f"{world}: {pattern.text}, {history}", pattern, rows)
            if pattern is NEGATED:
                yield from _reliability(world, f"x ; !y ; z, {history}", rows)
        for pattern in (ANY,) if complete else (ANY, SHORT):
            trial = Trial(pattern, sometimes_interrupted(happens), complete)
            rows = _of_histories(_sized(trial, world, quick), quick, _HISTORIES_OF_ANY)
            yield from _distances(f"{world}: {pattern.text} WITHIN {pattern.within}, {history}", pattern, rows)
            if pattern is ANY and not complete:
                yield from _reliability(world, "x ; y ; z, any lost", [r.only(~r.certain) for r in rows])


def _distances(case: str, pattern: LossyPattern, rows: Sequence[Rows]) -> Iterator[Point]:
    """The distance for each set of lost steps."""
    if pattern is NEGATED:
        yield _distance(case, rows)
        return
    for lost in np.unique(rows[0].events < 0, axis=0):
        own = [r.only(np.all((r.events < 0) == lost, axis=1)) for r in rows]
        if not lost.any() or min(len(r.predicted) for r in own) < _FEWEST:
            continue
        names = " and ".join(step for step, is_lost in zip(pattern.steps, lost, strict=True) if is_lost)
        yield _distance(f"{case}, {names} lost", own)


def _distance(case: str, rows: Sequence[Rows]) -> Point:
    errors = [reliability_curve(r.predicted, r.true).error for r in rows]
    rng = np.random.default_rng(1)
    by_chance = [
        reliability_curve(r.predicted, rng.random(len(r.predicted)) < r.predicted).error
        for r in rows
        for _ in range(_TRUTHS)
    ]
    count, predicted, true = (
        float(np.mean([f(r) for r in rows])) for f in (lambda r: len(r.predicted), _predicted, _true)
    )
    least, most = min(errors), max(errors)
    note = (
        f"{np.mean(errors):.4f} from the truth ({least:.4f} to {most:.4f}; {np.mean(by_chance):.4f} by chance), "
        f"{count:,.0f} estimates say {predicted:.3f}, {true:.3f} are true"
    )
    return Point("calibration", case, round(count), 0.0, 0.0, note=note)


def _predicted(rows: Rows) -> float:
    return float(rows.predicted.mean())


def _true(rows: Rows) -> float:
    return float(rows.true.mean())


def _reliability(figure: str, curve: str, rows: Sequence[Rows]) -> Iterator[Point]:
    """The points of the curve of all histories together."""
    predicted, true = (np.concatenate([getattr(r, name) for r in rows]) for name in ("predicted", "true"))
    found = reliability_curve(predicted, true)
    for x, y in zip(found.forecast.tolist(), found.observed.tolist(), strict=True):
        yield _point(f"reliability-{slug(figure)}", curve, x, y)


# ── what is found ──


def scores(world: str, quick: bool) -> Iterator[Point]:
    """Precision and recall against the threshold, of each score and of a plain run."""
    for name, pattern in (("negated", NEGATED), ("lost", BETWEEN)):
        trial = _sized(Trial(pattern, WORLDS[world]), world, quick)
        rows = trial.rows()
        plain = rows.predicted * 0 + (1.0 if pattern is NEGATED else rows.certain)
        found = {"both ends": rows, "plain detection": replace(rows, predicted=plain)}
        found |= {score: trial.given_delay(score.upper()) for score in ("independent", "published")}
        for score, reported in found.items():
            yield from _found(f"{slug(world)}-{name}", score, _pairs(reported, pattern))


def _pairs(rows: Rows, pattern: LossyPattern) -> Rows:
    """One row for each pair of an x and a z, which are never lost."""
    ends = [pattern.steps.index(step) for step in "xz"]
    _, first = np.unique(rows.events[:, ends], axis=0, return_index=True)
    return rows.only(np.isin(np.arange(len(rows.predicted)), first))


def _found(figure: str, score: str, pairs: Rows) -> Iterator[Point]:
    counts = confusion_counts(pairs.predicted, pairs.true, THRESHOLDS)
    for metric in ("precision", "recall"):
        for x, y in zip(THRESHOLDS.tolist(), getattr(counts, metric).tolist(), strict=True):
            if not np.isnan(y):  # NaN: nothing is as probable
                yield _point(f"{metric}-{figure}", score, x, y)


def slug(world: str) -> str:
    return world.replace(" ", "-")


def _point(figure: str, curve: str, x: float, y: float) -> Point:
    return Point(
        "calibration", f"{figure}: {curve}, {x:.3g}", 0, 0.0, 0.0, figure=figure, curve=curve, x=x, y=y, unit=""
    )


# ── readers that poll ──


def polls(quick: bool) -> Iterator[Point]:
    """Reads at each poll of a reader, of which some are deleted; then with another period, and with more deleted, than
    in the history."""
    usual, slower = partial(polled_tags, period=_PERIOD), partial(polled_tags, period=_OTHER_PERIOD)
    for figure, pattern in POLLS.items():
        trial = Trial(pattern, usual, loss=_POLL_LOSS, deleted="xyz")
        cases = {
            "as in the history": trial,
            f"polls every {_OTHER_PERIOD:g} instead of {_PERIOD:g} s": replace(trial, later_world=slower),
            f"{_OTHER_LOSS:g} lost instead of {_POLL_LOSS:g}": replace(trial, later_loss=_OTHER_LOSS),
        }
        for case, changed in cases.items():
            rows = _of_histories(replace(_sized(changed, "polls", quick), later=_QUICK if quick else 10_000), quick)
            yield _distance(f"{figure}: {case}", rows)
            yield from _reliability(figure, case, rows)
