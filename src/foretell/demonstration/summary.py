"""The findings in plain words, for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan

from foretell.demonstration.estimate_score import JudgedEstimate
from foretell.demonstration.findings import Findings
from foretell.demonstration.flights import local
from foretell.demonstration.forecast_score import ForecastScore, RuleScore
from foretell.demonstration.stories import AIRPORTS, Stories, Story, day_text
from foretell.display import WIDTH, counted, shortened

#: The matches of each statement that are named.
_SHOWN = 3

#: The ranges of forecasts that are compared with what came true.
_CALIBRATIONS = 4


@dataclass(frozen=True)
class Part:
    """A part of the summary: its heading, and its lines."""

    heading: str
    lines: tuple[str, ...]


def parts(found: Findings) -> tuple[Part, ...]:
    return (
        Part("Has happened", tuple(_matches(found.stories))),
        Part("Is about to happen", tuple(_forecasts(found.forecasts))),
        Part("May have happened", tuple(_estimates(found))),
    )


# ── has happened ──


def _matches(stories: Stories) -> Iterator[str]:
    yield from _paragraph(
        f"{counted(stories.count('bad_run'), 'time')} ten departures or more of an airline at an airport went wrong "
        "one after the other: cancelled, or an hour late or more."
    )
    yield from _rows(stories.bad_runs, "departures")
    yield ""
    yield from _paragraph(
        f"{counted(stories.count('fogged_in'), 'time')} there was fog of half a mile or less, and then five departures "
        "or more were cancelled within six hours."
    )
    yield from _rows(stories.fogs, "cancelled")
    yield ""
    yield from _paragraph(
        f"{counted(stories.count('handed_on'), 'time')} an aircraft left an hour late or more, came back, and was late "
        "again: three times or more on one day."
    )
    yield from _rows(stories.handed_on, "late")


def _rows(stories: Sequence[Story], unit: str) -> Iterator[str]:
    for story in stories[:_SHOWN]:
        yield shortened(f"    {story.when:<29}{story.departures:>4} {unit}  {story.where}", WIDTH)


# ── is about to happen ──


def _forecasts(score: ForecastScore) -> Iterator[str]:
    yield from _paragraph(
        "Will five departures in a row of an airline at an airport go wrong, among its next ten? Foretell warned when "
        f"it thought so with 50% or more: {counted(score.warnings.warnings, 'time')}. It was right "
        f"{score.warnings.precision:.0%} of the time; trouble follows {score.base_rate:.0%} of all departures."
    )
    yield ""
    yield f"    {'warn':<26}{'warnings':>10}{'came true':>12}{'departures ahead':>19}"
    for rule in score.rules:
        yield _rule(rule, rule.name)
    yield _rule(score.warnings, "when Foretell says 50%")
    yield ""
    yield from _paragraph(
        "Nobody told it a rule: it learned what leads to trouble, for each airline and airport. It also says how sure "
        f"it is; what it says and what comes true differ by {100 * score.error:.1f} points on average."
    )
    for point in score.calibration[-_CALIBRATIONS:]:
        yield f"    said {point.stated:4.0%}   came true {point.observed:4.0%}   {point.count:>7,} departures"


def _rule(rule: RuleScore, name: str) -> str:
    precision, lead = ("–" if isnan(value) else form.format(value) for value, form in _formats(rule))
    return f"    {name:<26}{rule.warnings:>10,}{precision:>12}{lead:>19}"


def _formats(rule: RuleScore) -> tuple[tuple[float, str], tuple[float, str]]:
    return (rule.precision, "{:.0%}"), (rule.lead, "{:.1f}")


# ── may have happened ──


def _estimates(found: Findings) -> Iterator[str]:
    score = found.estimates
    yield from _paragraph(
        "We took away one report in ten. An aircraft of the shuttle to Boston and Washington was heard leaving, and "
        f"leaving again within twelve hours, {score.pairs:,} times. In {score.hiding:,} of these pauses it had left "
        f"once more, unheard ({score.base_rate:.0%})."
    )
    yield ""
    yield from _paragraph(
        f"Of {len(score.likely):,} pauses Foretell said that this was likely (50% or more). It was right "
        f"{score.right:,} times, {score.precision:.0%}, and found {score.recall:.0%} of all that there were. It also "
        f"says when: {score.in_interval:,} of the {score.right:,} left within the interval that it named."
    )
    if found.example is not None:
        yield ""
        yield from _paragraph(example_text(found.example))


def example_text(judged: JudgedEstimate) -> str:
    """The story of an estimate, with the truth."""
    estimate = judged.estimate
    start, end = local(estimate.start), local(estimate.end)
    airport = AIRPORTS.get(str(estimate.events["out"]).split(" ")[2], "New York")
    text = (
        f"On {day_text(start)} {(estimate.key or {})['tailnum']} was heard leaving {airport} at {start:%H:%M} and at "
        f"{end:%H:%M}. Foretell: with {estimate.probability:.0%} it left once more"
    )
    if estimate.estimate is not None and estimate.estimate.lost:
        (lost,) = estimate.estimate.lost
        text += f", probably between {local(lost.low):%H:%M} and {local(lost.high):%H:%M}"
    if not judged.truth:
        return f"{text}. It did not."
    flight = " ".join(judged.truth[0].split(" ")[:2])
    return f"{text}. It did: {flight} left at {local(judged.times[0]):%H:%M}."


def _paragraph(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH - 2, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
