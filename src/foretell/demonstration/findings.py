"""All that the summary and the report say: the outcome, its most striking matches, and how good it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter

from foretell.demonstration.course import UNHEARD, CourseOutcome, CourseStage
from foretell.demonstration.estimate_score import EstimateScore, JudgedEstimate, estimate_score
from foretell.demonstration.forecast_score import ForecastScore, forecast_score
from foretell.demonstration.stories import Stories


@dataclass(frozen=True)
class Findings:
    """The outcome of a course, judged by what really happened."""

    outcome: CourseOutcome
    stories: Stories
    forecasts: ForecastScore
    estimates: EstimateScore

    @cached_property
    def example(self) -> JudgedEstimate | None:
        """The likeliest estimate that is right, and right about the time; else the likeliest one."""
        likely = self.estimates.likely
        return next((each for each in likely if each.in_interval), next(iter(likely), None))

    @property
    def shuttle_matches(self) -> int:
        counts = self.outcome.notifications.summary.notifications.get(UNHEARD, {})
        return counts.get("match", 0)


def findings(outcome: CourseOutcome) -> Findings:
    began = perf_counter()
    forecasts, estimates = forecast_score(outcome), estimate_score(outcome)
    judged = CourseStage("judge", outcome.watched.events, perf_counter() - began)
    outcome = replace(outcome, stages=(*outcome.stages, judged))
    return Findings(outcome, Stories(outcome), forecasts, estimates)
