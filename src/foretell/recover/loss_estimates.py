"""Loss rates from data, where nobody knows them: each with a confidence interval, and warnings where it may be wrong.

A passage is something that happened and should have left events. Its loss at a reader is the probability that the
reader has no event of it.

- Several readers of the same passages (capture and recapture; Lincoln, Petersen, Chapman): of those that the others
  have, the share that this one lacks.
- A complete record of some passages: of those, the share that the reader lacks.
- Repeated reads of a passage by one reader: passages without a read are not in the data, so the counts are truncated at
  zero. How many there were follows from the others, if reads are as many as by chance (Poisson) or each of a known
  number of attempts succeeds by chance (binomial).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, gammaln
from scipy.stats import chi2, norm

from foretell.arrays import Flags, Floats, Ints
from foretell.display import View, Viewed
from foretell.errors import InputError

#: An interval from fewer passages, or from fewer that two readers share, is coarse, and the estimate may be biased.
_ENOUGH, _ENOUGH_SHARED = 30, 8

#: A departure from what a method supposes is told from so many standard deviations on.
_SIGNIFICANT = 4.0

#: The least and the greatest loss that repeated reads can tell, as the logarithm of the odds.
_FARTHEST = 30.0


@dataclass(frozen=True)
class LossEstimate:
    """The loss at a reader, and the interval that contains it with the confidence of the report. `passages` are those
    that it rests on, and `seen` those of them that the reader has."""

    reader: str
    method: str
    loss: float
    low: float
    high: float
    passages: int
    seen: int


@dataclass(frozen=True, repr=False)
class LossReport(Viewed):
    """The loss at each reader; `warnings` are reasons to distrust the estimates. `happened` is how many passages there
    were about, with those that nobody has."""

    estimates: tuple[LossEstimate, ...]
    confidence: float
    happened: float | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "estimates": [asdict(estimate) for estimate in self.estimates],
            "confidence": self.confidence,
            "happened": self.happened,
            "warnings": [*self.warnings],
            "notes": [*self.notes],
        }

    def text(self) -> str:
        return self._view(len(self.estimates)).text() + "\n"

    def _view(self, rows: int) -> View:
        header = ("reader", "loss", "from", "to", "seen", "of passages")
        cells = [
            (e.reader, f"{e.loss:.4f}", f"{e.low:.4f}", f"{e.high:.4f}", f"{e.seen:,}", f"{e.passages:,}")
            for e in self.estimates[:rows]
        ]
        remarks = [] if self.happened is None else [f"about {self.happened:,.0f} passages, with those that nobody has"]
        remarks += [f"warning: {warning}" for warning in self.warnings]
        title = f"Loss by {self.estimates[0].method}, {self.confidence:.0%} intervals"
        return View(title, header, cells, remarks, len(self.estimates) - len(cells))


# ── a complete record, and several readers ──


def share_missing(missing: int, passages: int, confidence: float) -> tuple[float, float, float]:
    """The share of passages that a reader lacks, with Wilson's interval."""
    share, z = missing / passages, float(norm.isf((1 - confidence) / 2))
    centre = (share + z**2 / (2 * passages)) / (1 + z**2 / passages)
    width = z / (1 + z**2 / passages) * math.sqrt(share * (1 - share) / passages + z**2 / (4 * passages**2))
    return share, max(0.0, min(share, centre - width)), min(1.0, max(share, centre + width))


def of_complete(record: str, recorded: Flags, reads: Mapping[str, Ints], confidence: float) -> LossReport:
    """The readers against a record that has all passages of its time. `reads` are those of each passage."""
    estimates, warnings = [], []
    for reader, counts in reads.items():
        seen, passages = int(np.sum(recorded & (counts > 0))), int(recorded.sum())
        found = share_missing(passages - seen, passages, confidence)
        estimates.append(LossEstimate(reader, f"the complete record {record}", *found, passages, seen))
        if extra := int(np.sum(~recorded & (counts > 0))):
            warnings.append(f"'{reader}' has {extra:,} passages of that time that '{record}' lacks: it is not complete")
        warnings += _few(reader, passages)
    return LossReport(tuple(estimates), confidence, warnings=tuple(warnings))


def of_readers(reads: Mapping[str, Ints], confidence: float) -> LossReport:
    """Several readers of the same passages. `reads` are those of each passage that any of them has."""
    estimates, warnings, happened = [], list[str](), list[float]()
    every = np.sum([*reads.values()], axis=0)
    for reader, counts in reads.items():
        others = every - counts
        has, known = counts > 0, others > 0
        seen, passages = int(np.sum(has & known)), int(known.sum())
        found = share_missing(passages - seen, passages, confidence) if passages else (math.nan, 0.0, 1.0)
        estimates.append(LossEstimate(reader, "several readers", *found, passages, seen))
        happened.append((has.sum() + 1) * (passages + 1) / (seen + 1) - 1)  # Chapman
        warnings += _few(reader, passages)
        if passages > 0 and seen < _ENOUGH_SHARED:
            warnings.append(f"only {seen} passages of '{reader}' are those of another reader: the estimate is biased")
        warnings += _dependence(reader, has[known], others[known])
    notes = () if np.any(every > len(reads)) or len(reads) > 2 else (
        "each reader has at most one event of a passage: whether they fail together cannot be told",
    )  # fmt: skip
    return LossReport(tuple(estimates), confidence, float(np.mean(happened)), tuple(warnings), notes)


def _few(reader: str, passages: int) -> list[str]:
    return [f"'{reader}' is compared on only {passages} passages"] if passages < _ENOUGH else []


def _dependence(reader: str, has: Flags, others: Ints) -> list[str]:
    """Readers that fail together: where the others have few reads of a passage, this one has none more often."""
    if len(has) < _ENOUGH or has.all() or not has.any() or others.min() == others.max():
        return []
    correlation = float(np.corrcoef(has, np.sqrt(others))[0, 1])
    if abs(correlation) * math.sqrt(len(has)) < _SIGNIFICANT:
        return []
    tendency = "together: its loss is greater" if correlation > 0 else "in turn: its loss is less"
    return [f"'{reader}' and the others fail {tendency} than estimated (correlation {correlation:.2f})"]


# ── repeated reads ──


@dataclass(frozen=True)
class _ReadCounts:
    """How many reads there are of a passage, without the passages that have none; `attempts` are the most."""

    name: str
    attempts: int | None

    def log_chances(self, loss: float, count: Ints) -> Floats:
        """The logarithm of the probability of each count, where one has been seen."""
        if self.attempts is None:
            mean = -math.log(loss)
            chances = count * math.log(mean) - mean - gammaln(count + 1)
        else:
            n, miss = self.attempts, loss ** (1 / self.attempts)
            ways = gammaln(n + 1) - gammaln(count + 1) - gammaln(n - count + 1)
            chances = ways + count * math.log1p(-miss) + (n - count) * math.log(miss)
        return np.asarray(chances - math.log1p(-loss), np.float64)

    def moments(self, loss: float) -> tuple[float, float]:
        """The variance, and the fourth central moment over its square."""
        most = self.attempts or math.ceil(-math.log(loss) + 12 * math.sqrt(-math.log(loss)) + 20)
        count = np.arange(1, most + 1)
        chance = np.exp(self.log_chances(loss, count))
        centred = count - chance @ count
        variance = float(chance @ centred**2)
        return variance, float(chance @ centred**4) / variance**2 if variance > 0 else math.inf


def of_repeated_reads(reader: str, reads: Ints, attempts: int | None, confidence: float) -> LossReport:
    """One reader that reads a passage several times. `reads` are those of each passage, of `attempts` where given."""
    if reads.max() < 2:
        hint = "compare it with another reader, or with a complete record"
        raise InputError("no-repeats", f"no passage of '{reader}' is read more than once", hint=hint)
    counted = _ReadCounts("Poisson" if attempts is None else "binomial", attempts)
    kinds, number = np.unique(reads, return_counts=True)

    def log_likelihood(odds: float) -> float:
        return float(number @ counted.log_chances(float(expit(odds)), kinds))

    best = float(
        minimize_scalar(lambda odds: -log_likelihood(odds), bounds=(-_FARTHEST, _FARTHEST), method="bounded").x
    )
    loss = float(expit(best))
    enough = log_likelihood(best) - chi2.isf(1 - confidence, 1) / 2
    low, high = (_reached(lambda odds: log_likelihood(odds) - enough, best, end) for end in (-_FARTHEST, _FARTHEST))
    method = f"repeated reads ({counted.name})"
    estimate = LossEstimate(reader, method, loss, low, high, len(reads), len(reads))
    warnings = [*_few(reader, len(reads)), *_spread(reader, reads, counted, loss)]
    if high - low > 0.5:
        warnings.append(f"the interval is wide: too few passages of '{reader}' are read more than once")
    return LossReport((estimate,), confidence, len(reads) / (1 - loss), tuple(warnings))


def _reached(over: Callable[[float], float], best: float, end: float) -> float:
    """The loss at which the likelihood is no longer enough, on one side."""
    return float(expit(end)) if over(end) > 0 else float(expit(brentq(over, best, end)))


def _spread(reader: str, reads: Ints, counted: _ReadCounts, loss: float) -> Sequence[str]:
    """Counts that vary more or less than by chance: passages differ, or reads come at fixed intervals."""
    variance, fourth = counted.moments(loss)
    if len(reads) < _ENOUGH or not variance > 1e-9:
        return ()
    ratio = float(reads.var(ddof=1)) / variance
    if abs(ratio - 1) < _SIGNIFICANT * math.sqrt((fourth - 1) / len(reads)):
        return ()
    if ratio > 1:
        why = "passages differ, or reads fail together: the loss is greater than estimated"
    elif counted.attempts is None:
        why = "reads come at fixed intervals: the loss is less than estimated; give the number of attempts"
    else:
        why = "reads depend on each other: the loss is less than estimated"
    return (f"the numbers of reads of '{reader}' vary {ratio:.2f} times as much as by chance: {why}",)
