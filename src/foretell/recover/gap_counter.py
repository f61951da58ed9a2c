"""Training of lost events: counts of what the gaps of a history hide, from the matches of gap patterns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from foretell.errors import InputError
from foretell.events.delays.delay_model import GapEnds, gaps_document
from foretell.events.delays.gap_counts import MOST_LOSS, GapCounts
from foretell.language.checked import CheckedStatement, CheckedSubscription
from foretell.machine.matches.results import ResultBatch
from foretell.machine.result_stage import ResultStage
from foretell.recover.gap_patterns import gap_patterns, learnable_operator
from foretell.recover.gap_tally import GapTally, by_statement
from foretell.storage.recorded_values import FAR

#: The patterns of training: one for each gap, and one for each step that it may hide. Ten steps need half of them.
MOST_GAP_PATTERNS = 600


class GapCountStage(ResultStage):
    """Counts the gaps of a statement instead of estimating. `complete` says that the history has lost nothing; else it
    has lost what LOSING and LOSS say."""

    def __init__(self, subscription: CheckedSubscription, *, complete: bool) -> None:
        self.subscription = subscription
        self.counts: dict[GapEnds, GapCounts] = {}
        self._tallies: list[GapTally] = []
        gaps = list(possible_gaps(subscription))
        _refuse_many(subscription, sum(1 + len(hidden) for _, hidden in gaps))
        for ends, hidden in gaps:
            losses = _losses(subscription, hidden, complete=complete)
            self._tallies.append(GapTally(gap_patterns(subscription, ends, hidden), losses))
            self.counts[ends] = GapCounts(tuple(hidden), losses)
        self.statements = [s for tally in self._tallies for s in tally.patterns.statements]
        self.patterns: Sequence[str] = tuple(statement.name for statement in self.statements)

    @property
    def nbytes(self) -> int:
        return sum(tally.nbytes for tally in self._tallies)

    def process(self, results: Sequence[ResultBatch], _: int | float) -> list[ResultBatch]:
        found = by_statement(results)
        for tally in self._tallies:
            for _stretch, counts in tally.gaps(found, FAR):
                self.counts[tally.patterns.ends] = self.counts[tally.patterns.ends].merged(counts)
        return []

    def learned(self) -> Mapping[str, object]:
        return {"gaps": gaps_document(self.counts)}


def counting(
    statements: Sequence[CheckedStatement], *, complete: bool
) -> tuple[tuple[CheckedStatement, ...], list[GapCountStage]]:
    """The statements with gap patterns in place of those with LOSING, and the stages that count. Raises
    InputError where a statement reads estimates."""
    kept = list[CheckedStatement]()
    stages = list[GapCountStage]()
    for statement in statements:
        if {s.subscription.name for s in stages} & set(map(str, statement.tree.streams)):
            message = f"LOSING over '{statement.name}', which reads estimates, cannot be trained yet"
            raise InputError("not-in-engine", message, hint="put the other statements into a file of their own")
        if isinstance(statement, CheckedSubscription) and statement.tree.losing is not None:
            stages.append(GapCountStage(statement, complete=complete))
            kept += stages[-1].statements
        else:
            kept.append(statement)
    return tuple(kept), stages


def possible_gaps(subscription: CheckedSubscription) -> Iterator[tuple[GapEnds, list[str]]]:
    """Every gap that an estimate may have, and the steps that may be hidden in it."""
    order = list(subscription.steps)
    for u, v in combinations(subscription.positive, 2):
        hidden = order[order.index(u) + 1 : order.index(v)]
        if (passed := learnable_operator(subscription, u, v)) is not None:
            hidden.append(passed)
        if _may_hide(subscription, hidden):
            yield (u, v), hidden
    for step in subscription.positive if subscription.within is not None else ():
        before, after = order[: order.index(step)], order[order.index(step) + 1 :]
        if _may_hide(subscription, before):
            yield (None, step), before
        if _may_hide(subscription, after):
            yield (step, None), after


def _may_hide(subscription: CheckedSubscription, hidden: Sequence[str]) -> bool:
    """Whether there may be a gap with these steps: its positive ones may be lost, and any of them may be hidden."""
    loss, steps = subscription.loss, subscription.steps
    return any(loss[h] > 0 for h in hidden) and all(
        loss[h] > 0 for h in hidden if h in steps and not steps[h].shape.negated
    )


def _refuse_many(subscription: CheckedSubscription, patterns: int) -> None:
    if patterns > MOST_GAP_PATTERNS:
        message = f"subscription '{subscription.name}': training needs {patterns:,} patterns, more than "
        message += f"{MOST_GAP_PATTERNS}: one for each gap and each step that it may hide"
        hint = "name the steps that are lost most often, positive and negated: LOSING 0.05 OF "
        lossy = [step for step in subscription.steps if subscription.loss[step] > 0]
        raise InputError("losing-many", message, hint=f"{hint}{', '.join(lossy[:2])}")


def _losses(subscription: CheckedSubscription, hidden: Sequence[str], *, complete: bool) -> tuple[float, ...]:
    losses = tuple(0.0 if complete else subscription.loss[h] for h in hidden)
    for step, loss in zip(hidden, losses, strict=True):
        if loss > MOST_LOSS:
            message = (
                f"subscription '{subscription.name}': a history that lost {loss:g} of '{step}' shows nothing of it"
            )
            raise InputError("too-lossy", message, hint="train on events that are complete, with --complete")
    return losses
