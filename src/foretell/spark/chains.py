"""Statements that read one another's results, and when each key's part of them can run apart from the others.

They can where all are PER the same attributes, and every result carries these on: RETURN gives the key of its lane,
taken from a step that is always bound. A result that only time completes has no event of its lane to stand by among
the results of all lanes, so where another statement reads such results the chain runs whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from foretell.language import tree
from foretell.language.checked import CheckedSubscription


def chains(statements: Sequence[CheckedSubscription]) -> list[list[CheckedSubscription]]:
    """Statements that read one another's results, directly or through others; each comes after those it reads."""
    chain = {one.name: [one] for one in statements}
    for one in statements:
        for read in map(str, one.tree.streams):
            if read in chain and chain[read] is not chain[one.name]:
                joined = chain[read] + chain[one.name]
                chain.update((other.name, joined) for other in joined)
    return list({id(some): some for some in chain.values()}.values())


def keeps_its_key(chain: Sequence[CheckedSubscription]) -> bool:
    """Whether the lanes of all statements of a chain are the same."""
    per = chain[0].tree.per
    read = {str(stream) for one in chain for stream in one.tree.streams}
    same = all(one.tree.per == per for one in chain)
    return bool(per) and same and all(_carries(one) for one in chain if one.name in read)


def _carries(statement: CheckedSubscription) -> bool:
    if statement.tree.table is not None or any(_ends_by_time(node) for node in statement.pattern.walk()):
        return False
    returned = {str(one.name): one.expression for one in statement.tree.returns}
    return all(_is_key(returned.get(str(name)), str(name), statement) for name in statement.tree.per)


def _is_key(expression: tree.Expression | None, name: str, statement: CheckedSubscription) -> bool:
    match expression:
        case tree.Attribute(event=tree.Bound(step=step) | tree.First(step=step) | tree.Last(step=step), name=attribute):
            same_type = statement.returns[name] is statement.attributes.get(name)
            return str(attribute) == name and same_type and _always_binds(statement.pattern, str(step))
    return False


def _ends_by_time(node: tree.Node) -> bool:
    return isinstance(node, tree.Silence) or (isinstance(node, tree.Sequence) and bool(node.absent))


def _always_binds(pattern: tree.Pattern, step: str) -> bool:
    """Whether a step is bound in every match."""
    match pattern:
        case tree.Step(name=name) | tree.Numbered(step=tree.Step(name=name)) | tree.Chosen(step=tree.Step(name=name)):
            return str(name) == step
        case tree.Sequence(parts=parts):
            return any(_always_binds(part.pattern, step) for part in parts)
        case tree.Repeat(body=body, low=low):
            return low > 0 and _always_binds(body, step)
        case tree.Conditioned(pattern=inner):
            return _always_binds(inner, step)
        case tree.Conjunction(sides=sides):
            return any(_always_binds(side, step) for side in sides)
    return False
