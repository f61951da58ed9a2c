"""Chains: statements that read one another's results, and the keys by which a whole chain can be partitioned.

A chain can be partitioned by the attributes that all its statements have in PER and that every intermediate result
carries: its RETURN takes them from a step that every match binds. Then a lane and the results that it reads are in one
shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from foretell.language import tree

ReadingStatement: TypeAlias = tree.Subscription | tree.Correlator


def statement_chains(statements: Iterable[ReadingStatement]) -> list[list[ReadingStatement]]:
    """Group statements that read one another's results, directly or indirectly; each follows those that it reads."""
    ordered = list(statements)
    chain_of = {str(statement.name): [statement] for statement in ordered}
    for statement in ordered:
        for stream in map(str, statement.streams):
            if stream in chain_of and chain_of[stream] is not chain_of[str(statement.name)]:
                joined = chain_of[stream] + chain_of[str(statement.name)]
                chain_of.update((str(member.name), joined) for member in joined)
    return list({id(chain): chain for chain in chain_of.values()}.values())


def partition_keys(chain: Sequence[ReadingStatement]) -> tuple[str, ...]:
    """Return the attributes by which a chain's events can be partitioned so that every lane is in one shard.

    >>> from foretell.language.subscriptions import parse
    >>> def keys(text):
    ...     return partition_keys(statement_chains(parse(text).program.statements)[0])
    >>> keys("SUBSCRIBE x FROM s PER b, a MATCH m")
    ('a', 'b')

    Results stay in their shard if they carry the key:

    >>> reader = "SUBSCRIBE y FROM x PER a MATCH n"
    >>> keys("SUBSCRIBE x FROM s PER a MATCH m RETURN m.a AS a; " + reader)
    ('a',)
    >>> keys("SUBSCRIBE x FROM s PER a MATCH m RETURN m.b AS a; " + reader)
    ()
    """
    common = set.intersection(*({str(name) for name in statement.per} for statement in chain)) - {"stream"}
    for statement in read_within(chain):
        common &= _carried_attributes(statement)
    return tuple(sorted(common))


def read_within(chain: Sequence[ReadingStatement]) -> list[ReadingStatement]:
    """Return the statements of a chain whose results other statements of the chain read."""
    streams = {str(stream) for statement in chain for stream in statement.streams}
    return [statement for statement in chain if str(statement.name) in streams]


def completed_by_time(statement: tree.Subscription) -> bool:
    """Return whether time alone can complete a match, so that no event of the lane marks its place in the order."""
    if statement.losing is not None and statement.within is not None:
        return True  # the last step may be lost
    nodes = statement.pattern.walk()
    return any(isinstance(n, tree.Silence) or (isinstance(n, tree.Sequence) and n.absent) for n in nodes)


def _carried_attributes(statement: ReadingStatement) -> set[str]:
    """Return the attributes that RETURN passes on under their own name from a step that every match binds."""
    if isinstance(statement, tree.Correlator) or statement.losing is not None:
        return set()  # a step that was lost binds nothing
    steps = _always_bound(statement.pattern)
    return {str(item.name) for item in statement.returns if _is_attribute(item.expression, item.name, steps)}


def _is_attribute(value: tree.Expression, name: str, steps: set[str]) -> bool:
    if not isinstance(value, tree.Attribute) or not isinstance(
        value.event, tree.BoundEvent | tree.FirstOf | tree.LastOf
    ):
        return False
    return str(value.name) == str(name) and str(value.event.step) in steps


def _always_bound(pattern: tree.Pattern) -> set[str]:
    """Return the steps that every match binds."""
    match pattern:
        case tree.Step():
            return {str(pattern.name)}
        case tree.Numbered() | tree.Chosen():
            return {str(pattern.step.name)}
        case tree.Conditioned():
            return _always_bound(pattern.pattern)
        case tree.Repeat():
            return _always_bound(pattern.body) if pattern.low else set()
        case tree.Sequence():
            return set().union(*(_always_bound(part.pattern) for part in pattern.parts))
        case tree.Conjunction():
            return set().union(*map(_always_bound, pattern.sides))
    return set()
