"""References to one event: `event`, `prev`, `first(b)`, `last(b)`; the dot names an attribute."""

from __future__ import annotations

from foretell.language import tree
from foretell.language.builder.errors import NotAValue, NotIterable
from foretell.language.builder.expressions import Value
from foretell.language.builder.literals import name as checked_name


class EventBuilder(NotAValue, NotIterable):
    """`event`, `prev`, `first(b)` or `last(b)`; `.stream` is the stream it came from, as in the text."""

    def __init__(self, reference: tree.EventReference, text: str) -> None:
        self._reference = reference
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def __getattr__(self, name: str) -> Value:
        if name.startswith("_"):  # Python and its tools look for these
            raise AttributeError(name)
        if name.lower() == "stream":
            return Value(tree.StreamOf(self._reference))
        return self.attribute(name)

    def attribute(self, name: str) -> Value:
        """An attribute of any name, as in double quotes in the text: `event.attribute("odd name")`."""
        return Value(tree.Attribute(self._reference, checked_name(name, "an attribute")))


#: The event being tried for the step that is defined: `event.price` is a bare `price` in the text.
event = EventBuilder(tree.This(), "event")

#: `prev`, the event bound just before this one in the match.
prev = EventBuilder(tree.Previous(), "prev")
