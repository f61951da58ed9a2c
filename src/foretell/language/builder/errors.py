"""Builder errors: Python operators that would quietly do the wrong thing are refused, with the rewrite in the hint.

Python does not let a library define `and`, `or`, `not`, `in` or `1 < x < 5`: it asks the first operand whether it is
true. There, and wherever a step stands for a value or a value for a step, the builder raises with a hint. Type checkers
do not see these traps, so they report the same mistakes before the code runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from foretell.errors import LanguageError


class BuilderError(LanguageError, TypeError):
    """A pattern or condition that was built wrongly in Python."""


def builder_error(code: str, message: str, hint: str = "") -> BuilderError:
    return BuilderError(code, message, hint=hint)


class NotAValue:
    """A step or an event: only its attributes can be compared or computed with."""

    if not TYPE_CHECKING:

        def _refuse_value(self, other: object) -> NoReturn:
            raise builder_error("not-a-value", f"'{self!r}' is an event, not a value", value_hint(self))

        __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse_value
        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse_value
        __truediv__ = __rtruediv__ = __mod__ = __rmod__ = _refuse_value
        __hash__ = object.__hash__


def value_hint(event: object) -> str:
    return f"name one of its attributes, {event!r}.price, or its time, t({event!r})"


class NotIterable:
    """A placeholder for events that are yet to come: it has no elements."""

    if not TYPE_CHECKING:

        def __iter__(self) -> NoReturn:
            raise builder_error("not-iterable", f"cannot iterate over '{self!r}': its events are yet to come")

        def __len__(self) -> NoReturn:
            raise builder_error(
                "not-iterable",
                f"'{self!r}' has no length: its events are yet to come",
                "use x.length() for a text, count(b) for a step",
            )
