"""Plain durations: whether a program writes durations as numbers, so that its times are numbers too."""

from __future__ import annotations

from foretell.language import tree

_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})


def has_plain_durations(program: tree.Program) -> bool:
    """Whether a WITHIN, a LATE BY or a comparison of event times has a number without a unit.

    >>> from foretell.language.parser import parse
    >>> has_plain_durations(parse("SUBSCRIBE s FROM ticks MATCH a , b WITHIN 60000"))
    True
    """
    return any(map(_is_plain, program.statements)) or any(map(_compares_plainly, program.walk()))


def _is_plain(statement: tree.Node) -> bool:
    lengths = (getattr(statement, "within", None), getattr(statement, "lateness", None))
    return any(isinstance(length, tree.Literal) for length in lengths)


def _compares_plainly(node: tree.Node) -> bool:
    match node:
        case tree.Binary(operator=operator, left=left, right=right) if operator in _COMPARISONS:
            return (_has_time(left) and _is_number(right)) or (_is_number(left) and _has_time(right))
        case tree.Between(value=value, low=low, high=high):
            return _has_time(value) and (_is_number(low) or _is_number(high))
    return False


def _has_time(expression: tree.Expression) -> bool:
    return any(isinstance(node, tree.TimeOf | tree.Elapsed) for node in expression.walk())


def _is_number(expression: tree.Expression) -> bool:
    return isinstance(expression, tree.Literal) and type(expression.value) in (int, float)
