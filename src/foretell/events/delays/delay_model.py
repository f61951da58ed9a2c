"""The delays of one subscription's steps, as a model gives them.

`after` has the time from an earlier step straight to a later one, `before` the same seen from the later one, where
nothing is known of what comes before the first event present:

    {"after": {"y": {"x": delay}, "z": {"x": delay, "y": delay}}, "before": {"x": {"z": delay}}}

`gaps` has what training has counted, by the steps at both ends of a gap; None stands for the edge of the window.

A delay without the name of the other step, {"after": {"y": delay}}, is that from the positive step before it, or to the
positive step after it. The share of a delay is that of the cases in which none of the steps between the two came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from foretell.errors import InputError
from foretell.events.delays.distributions import DelayDistribution
from foretell.events.delays.gap_counts import GapCounts
from foretell.events.ingest.scalar_parsing import display_value
from foretell.records import record

#: In place of the other step's name: the nearest positive step.
NEAREST = ""

#: By step, then by the other step.
Delays = Mapping[str, Mapping[str, DelayDistribution]]

#: The steps at both ends of a gap.
GapEnds = tuple[str | None, str | None]


@record
class GapLearning:
    """How a run goes on learning the counts of gaps: the weight of a gap halves with so many events. `afresh`: from the
    model, whatever a snapshot has."""

    half_life: float
    afresh: bool = False


@record
class DelayModel:
    """`learning`: whether a run goes on learning `gaps`, and how."""

    after: Delays = field(default_factory=dict)
    before: Delays = field(default_factory=dict)
    gaps: Mapping[GapEnds, GapCounts] = field(default_factory=dict)
    learning: GapLearning | None = None

    @classmethod
    def of(cls, description: object) -> DelayModel:
        """From the delays in a model; both sides are optional."""
        sides: dict[str, Delays] = {}
        gaps: dict[GapEnds, GapCounts] = {}
        for side, steps in _object(description, "its delays").items():
            if side == "gaps":
                gaps = dict(_gaps(steps))
                continue
            if side not in ("after", "before"):
                raise InputError("bad-model", f"expected 'after' or 'before' in the delays, found '{side}'")
            sides[side] = {str(step): dict(_delays(step, side, d)) for step, d in _object(steps, f"'{side}'").items()}
        return cls(sides.get("after", {}), sides.get("before", {}), gaps)


def gaps_document(gaps: Mapping[GapEnds, GapCounts]) -> list[dict[str, object]]:
    """The gaps as a model file has them."""
    return [{"from": start, "to": end, **counts.to_json()} for (start, end), counts in gaps.items()]


def _gaps(description: object) -> Iterator[tuple[GapEnds, GapCounts]]:
    if not isinstance(description, list):
        raise InputError("bad-model", f"'gaps': expected a list, found {display_value(description)}")
    for gap in description:
        known = _object(gap, "a gap")
        start, end = known.get("from"), known.get("to")
        if not (isinstance(start, str | None) and isinstance(end, str | None)):
            raise InputError("bad-model", "a gap lies between two steps, or between one and null")
        yield (start, end), GapCounts.from_json(gap, f"{start} to {end}")


def delay_between(delays: Delays, step: str, other: str, nearest: str | None) -> DelayDistribution | None:
    """The delay between a step and another one; `nearest` is the positive step that a delay without a name is about."""
    known = delays.get(step, {})
    return known.get(other) or (known.get(NEAREST) if other == nearest else None)


def _delays(step: object, side: str, description: object) -> Iterator[tuple[str, DelayDistribution]]:
    delays = _object(description, f"the delay of '{step}'")
    if "distribution" in delays or not delays:
        yield NEAREST, _delay(delays, f"the delay of '{step}'")
        return
    for other, delay in delays.items():
        yield str(other), _delay(delay, f"the delay of '{step}' {side} '{other}'")


def _delay(description: object, name: str) -> DelayDistribution:
    try:
        return DelayDistribution.of(_object(description, name))
    except InputError as error:
        if error.code == "bad-model":
            raise
        raise InputError(error.code, f"{name}: {error.message}", hint=error.hint) from None


def _object(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InputError("bad-model", f"{name}: expected an object, found {display_value(value)}")
    return value
