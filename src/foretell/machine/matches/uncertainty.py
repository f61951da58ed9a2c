"""The probability of matches whose events are estimates, and what such matches rest on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.events.event import PROBABILITY, RESTS_ON, joint_probability
from foretell.events.types import Type
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.matches.results import EstimateColumns, ResultBatch

#: What lies between the lost events in a text, each of which is JSON.
_BETWEEN = "\n"


def joint_probabilities(results: ResultBatch) -> Floats | None:
    """The probability that all events of each match happened; None where they are certain."""
    matches = results.matches
    if matches is None or not len(results):
        return None
    likely = matches.buffer.gather(lambda events: events.attributes.get(PROBABILITY), matches.position)
    if likely is None or likely.nulls.all():
        return None
    values = np.where(likely.nulls, 1.0, likely.values)
    joint = np.multiply.reduceat(values, matches.starts[:-1])
    several = np.add.reduceat(values < 1.0, matches.starts[:-1]) > 1
    rests = _rests_of_events(results)
    for match in np.flatnonzero(several).tolist():
        events = slice(matches.starts[match], matches.starts[match + 1])
        joint[match] = joint_probability(zip(values[events].tolist(), rests[events], strict=True))
    return joint


def split_by_certainty(results: ResultBatch, hidden: Sequence[tuple[str, int]] = ()) -> list[ResultBatch]:
    """The matches, and those of them apart that are estimates because some of their events are. `hidden` are the steps
    of which an event may be lost."""
    joint = joint_probabilities(results)
    if joint is None or (joint >= 1.0).all():
        return [results]
    estimates = replace(results, estimates=EstimateColumns(joint, "estimate", tuple(hidden)))
    return [results.filter(joint >= 1.0), estimates.filter(joint < 1.0)]


def estimate_attributes(batches: Sequence[ResultBatch], strings: StringDictionary) -> dict[str, Column]:
    """The attributes that results have as events because they may be estimates."""
    likely = [np.ones(len(b)) if b.probability is None else b.probability for b in batches]
    probability = np.concatenate(likely)
    codes = [np.zeros(len(b), np.int64) if b.estimates is None else _rest_codes(b, strings) for b in batches]
    never = np.zeros(len(probability), np.bool_)
    return {
        PROBABILITY: Column(Type.FLOAT, probability, never),
        RESTS_ON: Column(Type.STRING, np.concatenate(codes), probability >= 1.0),
    }


def _rest_codes(results: ResultBatch, strings: StringDictionary) -> Ints:
    matches, estimates = results.matches, results.estimates
    assert matches is not None
    assert estimates is not None
    of_events, name = _rests_of_events(results), results.schema.name
    texts = []
    for first, last in zip(matches.starts[:-1].tolist(), matches.starts[1:].tolist(), strict=True):
        own = {json.dumps([name, step, int(matches.position[first + n])]) for step, n in estimates.hidden}
        texts.append(_BETWEEN.join(sorted(own.union(*of_events[first:last]))))
    return np.array([strings.code(text) for text in texts], np.int64)


def _rests_of_events(results: ResultBatch) -> list[frozenset[str]]:
    """The lost events that each event of the matches rests on."""
    matches = results.matches
    assert matches is not None
    column = matches.buffer.gather(lambda events: events.attributes.get(RESTS_ON), matches.position)
    if column is None:
        return [frozenset()] * len(matches.position)
    found = zip(column.values.tolist(), column.nulls.tolist(), strict=True)
    return [frozenset() if null else frozenset(results.strings.text(code).split(_BETWEEN)) for code, null in found]
