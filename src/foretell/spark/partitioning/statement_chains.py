"""Statements that read one another's results, and by which attributes the events of such a chain can be dealt out.

They can by the attributes that all are PER and that every result that is read carries on: RETURN gives them, from an
event that every match has. Then each lane of theirs is in one shard, and so are the results that it reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from foretell.language import tree

ReadingStatement: TypeAlias = tree.Subscription | tree.Correlator


def statement_chains(statements: Iterable[ReadingStatement]) -> list[list[ReadingStatement]]:
    """Statements that read one another's results, directly or through others; each comes after those it reads."""
    every = list(statements)
    chain = {str(one.name): [one] for one in every}
    for one in every:
        for read in map(str, one.streams):
            if read in chain and chain[read] is not chain[str(one.name)]:
                joined = chain[read] + chain[str(one.name)]
                chain.update((str(other.name), joined) for other in joined)
    return list({id(some): some for some in chain.values()}.values())


def partition_keys(chain: Sequence[ReadingStatement]) -> tuple[str, ...]:
    """What the events of some statements can be dealt out by: then each lane of theirs is in one shard.

    >>> from foretell.language.subscriptions import parse
    >>> def keys(text):
    ...     return keys_of(chains(parse(text).program.statements)[0])
    >>> keys("SUBSCRIBE x FROM s PER b, a MATCH m")
    ('a', 'b')

    Results stay in their shard if they carry the key on:

    >>> reads = "SUBSCRIBE y FROM x PER a MATCH n"
    >>> keys("SUBSCRIBE x FROM s PER a MATCH m RETURN m.a AS a; " + reads)
    ('a',)
    >>> keys("SUBSCRIBE x FROM s PER a MATCH m RETURN m.b AS a; " + reads)
    ()
    """
    common = set.intersection(*({str(name) for name in s.per} for s in chain)) - {"stream"}
    for one in read_within(chain):
        common &= _carried(one)
    return tuple(sorted(common))


def read_within(chain: Sequence[ReadingStatement]) -> list[ReadingStatement]:
    """The statements of a chain whose results others of it read."""
    read = {str(stream) for one in chain for stream in one.streams}
    return [one for one in chain if str(one.name) in read]


def completed_by_time(pattern: tree.Pattern) -> bool:
    """Whether time alone can complete a match: such a result has no event of its lane to stand by."""
    return any(isinstance(n, tree.Silence) or (isinstance(n, tree.Sequence) and n.absent) for n in pattern.walk())


def _carried(statement: ReadingStatement) -> set[str]:
    """The attributes that its results have under the same name from an event that every match has."""
    if isinstance(statement, tree.Correlator):
        return set()
    always = _always(statement.pattern)
    return {str(one.name) for one in statement.returns if _is_of(one.expression, one.name, always)}


def _is_of(value: tree.Expression, name: str, steps: set[str]) -> bool:
    if not isinstance(value, tree.Attribute) or not isinstance(
        value.event, tree.BoundEvent | tree.FirstOf | tree.LastOf
    ):
        return False
    return str(value.name) == str(name) and str(value.event.step) in steps


def _always(pattern: tree.Pattern) -> set[str]:
    """Steps that are bound in every match."""
    match pattern:
        case tree.Step():
            return {str(pattern.name)}
        case tree.Numbered() | tree.Chosen():
            return {str(pattern.step.name)}
        case tree.Conditioned():
            return _always(pattern.pattern)
        case tree.Repeat():
            return _always(pattern.body) if pattern.low else set()
        case tree.Sequence():
            return set().union(*(_always(part.pattern) for part in pattern.parts))
        case tree.Conjunction():
            return set().union(*map(_always, pattern.sides))
    return set()
