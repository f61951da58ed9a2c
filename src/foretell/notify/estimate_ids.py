"""The ids of many estimates at once: those of `events.notification.estimate_id`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from itertools import pairwise
from json import JSONEncoder, dumps

from foretell.arrays import Ints, distinct
from foretell.events.notification import ID_LENGTH
from foretell.machine.matches.match_batch import MatchBatch
from foretell.machine.matches.results import ResultBatch

#: `dumps` with these arguments would make an encoder each time.
_encoded = JSONEncoder(sort_keys=True, default=str).encode


def estimate_ids(results: ResultBatch, rows: Ints) -> list[str]:
    """The ids of these rows. Each is the hash of a JSON list of the statement, the lane and the events."""
    assert results.matches is not None
    begin = f"[{dumps(results.schema.name)}, "
    keys, events = _keys(results, rows), _events(results.matches, results.schema.repeated, rows)
    return [
        sha256(f"{begin}{key}, {own}]".encode()).hexdigest()[:ID_LENGTH] for key, own in zip(keys, events, strict=True)
    ]


def _keys(results: ResultBatch, rows: Ints) -> Iterable[str]:
    """The keys of the lanes; each lane's is written once."""
    if not results.schema.per:
        return ["null"] * len(rows)
    lanes, which = distinct(results.lane[rows])
    texts = [_encoded(dict(results.keys[lane])) for lane in lanes.tolist()]
    return map(texts.__getitem__, which.tolist())


def _events(matches: MatchBatch, repeated: Mapping[str, bool], rows: Ints) -> Iterable[str]:
    """The events by the names of their steps. `repeated` has the steps in their order; those of a match over estimates
    may repeat."""
    steps = sorted(enumerate(repeated), key=lambda numbered: numbered[1])
    columns = [
        _lists(matches, number, rows) if repeated[step] else _names(matches, matches.of_step(number, latest=True)[rows])
        for number, step in steps
    ]
    names = [dumps(step) for _, step in steps]
    rows_of_names = zip(*columns, strict=True)
    return (_object(zip(names, row, strict=True)) for row in rows_of_names)


def _lists(matches: MatchBatch, step: int, rows: Ints) -> list[str]:
    """The names of the events of a repeated step as JSON; null where there are none."""
    ends, positions = matches.events_of_step(step, rows)
    names = _names(matches, positions)
    lists = (names[first:stop] for first, stop in pairwise(ends.tolist()))
    return [f"[{', '.join(own)}]" if own else "null" for own in lists]


def _object(members: Iterable[tuple[str, str]]) -> str:
    return f"{{{', '.join([f'{name}: {value}' for name, value in members])}}}"


def _names(matches: MatchBatch, positions: Ints) -> list[str]:
    """The names of the events at these positions as JSON; null at negative ones."""
    texts = ["null"] * len(positions)
    bound = (positions >= 0).nonzero()[0]
    for row, name in zip(bound.tolist(), matches.buffer.names(positions[bound]), strict=True):
        texts[row] = str(name) if type(name) is int else dumps(name, default=str)
    return texts
