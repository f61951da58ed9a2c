"""Correlation expressions, with the names they have in the text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from foretell.language import tree
from foretell.language.builder.errors import NotIterable, builder_error
from foretell.language.builder.literals import whole
from foretell.language.builder.steps import StepBuilder, step_name
from foretell.language.printer import correlation_text


class CorrelationBuilder(NotIterable):
    """A correlation expression.

    >>> from foretell.build import accumulate, do, push, repeat, steps
    >>> a, b, c = steps("a", "b", "c")
    >>> repeat(push("both", do(accumulate(a, b)).unless(c)), times=3)
    repeat(3){push('both'){do{accumulate{a, b}} unless{c}}}
    """

    def __init__(self, node: tree.Correlation) -> None:
        self._tree = node

    def __repr__(self) -> str:
        return correlation_text(self._tree)

    if not TYPE_CHECKING:

        def __bool__(self) -> NoReturn:
            hint = "write accumulate(a, b) for 'and', select(a, b) for 'or', fail(a) for 'not'"
            raise builder_error("no-truth", f"'{self!r}' is neither true nor false before the events come", hint)


#: A step alone completes on the first event that satisfies it.
Part: TypeAlias = CorrelationBuilder | StepBuilder


def correlation_tree(part: object, where: str) -> tree.Correlation:
    if isinstance(part, CorrelationBuilder):
        return part._tree
    if isinstance(part, StepBuilder):
        return tree.On(step_name(part, where))
    raise builder_error("not-a-correlation", f"{where} takes steps and correlations, not {part!r}")


def _parts(parts: tuple[object, ...], where: str) -> tuple[tree.Correlation, ...]:
    if not parts:
        raise builder_error("wrong-arguments", f"{where} takes at least one part")
    return tuple(correlation_tree(p, where) for p in parts)


def accumulate(*parts: Part) -> CorrelationBuilder:
    """Succeeds when all parts have succeeded, fails when one fails."""
    return CorrelationBuilder(tree.Accumulate(_parts(parts, "accumulate()")))


def select(*parts: Part, strict: bool = False) -> CorrelationBuilder:
    """Succeeds when one part has succeeded, fails when all have failed; `strict` (`select*`) fails when one fails."""
    return CorrelationBuilder(tree.Select(_parts(parts, "select()"), strict))


def sequential(*parts: Part) -> CorrelationBuilder:
    """Runs the parts one after the other."""
    return CorrelationBuilder(tree.Sequential(_parts(parts, "sequential()")))


def parallel(*parts: Part) -> CorrelationBuilder:
    """Runs all parts independently; never completes."""
    return CorrelationBuilder(tree.Parallel(_parts(parts, "parallel()")))


class DoBuilder:
    """The first half of `do{…} unless{…}`."""

    def __init__(self, body: tree.Correlation) -> None:
        self._body = body

    def unless(self, stopper: Part) -> CorrelationBuilder:
        return CorrelationBuilder(tree.Unless(self._body, correlation_tree(stopper, "unless()")))


def do(body: Part) -> DoBuilder:
    """`do(e1).unless(e2)`: as e1, but in failure as soon as e2 succeeds."""
    return DoBuilder(correlation_tree(body, "do()"))


def fail(body: Part) -> CorrelationBuilder:
    """Inverts the outcome."""
    return CorrelationBuilder(tree.Fail(correlation_tree(body, "fail()")))


def push(token: str, body: Part) -> CorrelationBuilder:
    """Emits the token on success."""
    if not isinstance(token, str):
        raise builder_error("not-a-token", f"push() takes the token's text first, not {token!r}")
    return CorrelationBuilder(tree.Push(str.__str__(token), correlation_tree(body, "push()")))


def repeat(body: Part, *, times: int | None = None) -> CorrelationBuilder:
    """Restarts whatever the outcome; with `times`, succeeds after that many completions."""
    return _again("repeat", body, times)


def persist(body: Part, *, times: int | None = None) -> CorrelationBuilder:
    """Restarts until it succeeds; with `times`, fails after that many failures."""
    return _again("persist", body, times)


def loop(body: Part, *, times: int | None = None) -> CorrelationBuilder:
    """Restarts until it fails; with `times`, succeeds after that many successes."""
    return _again("loop", body, times)


def _again(kind: str, body: Part, times: int | None) -> CorrelationBuilder:
    count = None if times is None else whole(times, f"the count of {kind}(n)", 1)
    return CorrelationBuilder(tree.Again(kind, correlation_tree(body, f"{kind}()"), count))


def modes(bodies: Mapping[StepBuilder, Part]) -> CorrelationBuilder:
    """`in(p1) do{e1} in(p2) do{e2}`, as `modes({p1: e1, p2: e2})`; the first is active at the start."""
    if not bodies:
        raise builder_error("wrong-arguments", "modes() takes at least one mode")
    listed = (tree.Mode(step_name(guard, "modes()"), correlation_tree(e, "modes()")) for guard, e in bodies.items())
    return CorrelationBuilder(tree.Modes(tuple(listed)))
