"""Steps, and the functions of their events: `t(a)`, `first(b)`, `last(b)`, `count(b)`."""

from __future__ import annotations

from foretell.language import tree
from foretell.language.builder.errors import NotAValue, builder_error
from foretell.language.builder.events import EventBuilder
from foretell.language.builder.expressions import StepAttribute, Value
from foretell.language.builder.literals import name as checked_name
from foretell.language.builder.literals import whole
from foretell.language.builder.patterns import PatternBuilder


class StepBuilder(NotAValue, PatternBuilder):
    """A step of a pattern. The dot names an attribute of its event, unless it is a pattern method.

    >>> from foretell.build import event, step
    >>> a = step("a")
    >>> a.price, a.attribute("next"), a[2], a.only_last()
    (a.price, a.next, a[2], LAST a)
    """

    _tree: tree.Step

    def __init__(self, name: str) -> None:
        super().__init__(tree.Step(checked_name(name, "a step")))

    def __getattr__(self, name: str) -> StepAttribute:
        if name.startswith("_"):  # Python and its tools look for these
            raise AttributeError(name)
        if name.lower() == "stream":
            return StepAttribute(tree.StreamOf(tree.BoundEvent(self._tree.name)))
        return self.attribute(name)

    def attribute(self, name: str) -> StepAttribute:
        """An attribute of any name, as in double quotes in the text: `a.attribute("odd name")`."""
        return StepAttribute(tree.Attribute(tree.BoundEvent(self._tree.name), checked_name(name, "an attribute")))

    def __getitem__(self, index: int) -> PatternBuilder:
        """`a[i]`: the i-th event that satisfies a."""
        return PatternBuilder(tree.Numbered(self._tree, _index_of_event(self, index)))

    def only_first(self) -> PatternBuilder:
        """`FIRST a`: of the events that would match, only the first."""
        return PatternBuilder(tree.Chosen("FIRST", self._tree))

    def only_last(self) -> PatternBuilder:
        """`LAST a`: of the events that would match, only the last."""
        return PatternBuilder(tree.Chosen("LAST", self._tree))


def _index_of_event(step: StepBuilder, index: object) -> int:
    if isinstance(index, str):
        hint = f"write {step!r}.attribute({index!r}) for an attribute of that name"
        raise builder_error("not-whole", f"[ ] takes the index of an event, not {index!r}", hint)
    if isinstance(index, slice):
        hint = f"write {step!r}.times(2, 3) for several events"
        raise builder_error("not-whole", "[ ] takes the index of one event, not a range", hint)
    return whole(index, "the index in [ ]", 1)


def step(name: str) -> StepBuilder:
    """A step of a pattern."""
    return StepBuilder(name)


def steps(*names: str) -> tuple[StepBuilder, ...]:
    """Several steps at once: `a, b, c = steps("a", "b", "c")`."""
    return tuple(map(StepBuilder, names))


def step_name(step: object, where: str) -> str:
    if not isinstance(step, StepBuilder):
        raise builder_error("not-a-step", f"{where} takes a step, not {step!r}", "make one with step('a')")
    return str(step._tree.name)


def t(event: StepBuilder | EventBuilder) -> Value:
    """`t(a)`: the time at which the event ended."""
    return Value(tree.TimeOf(_event_named(event)))


def _event_named(event: object) -> tree.EventReference:
    if isinstance(event, StepBuilder):
        return tree.BoundEvent(event._tree.name)
    if isinstance(event, EventBuilder) and not isinstance(event._reference, tree.This):
        return event._reference
    hint = "name the step, also in its own definition: t(a)"
    raise builder_error("not-a-step", f"t() takes a step, not {event!r}", hint)


def first(step: StepBuilder) -> EventBuilder:
    """`first(b)`, the first event of a repeated step: `first(b).price`."""
    name = step_name(step, "first()")
    return EventBuilder(tree.FirstOf(name), f"first({step!r})")


def last(step: StepBuilder) -> EventBuilder:
    """`last(b)`, the latest event of a repeated step."""
    name = step_name(step, "last()")
    return EventBuilder(tree.LastOf(name), f"last({step!r})")


def count(step: StepBuilder) -> Value:
    """`count(b)`: how many events the step has."""
    return Value(tree.Aggregate("count", step_name(step, "count()")))
