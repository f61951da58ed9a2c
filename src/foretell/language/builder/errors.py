"""What Python's operators would quietly get wrong, refused with the rewrite that was meant.

Python does not let us define `and`, `or`, `not`, `in` or `1 < x < 5`: it asks the first part whether it is true. There,
and wherever a step stands for a value or a value for a step, the builder stops with a hint. Type checkers do not see
these traps, so that they find the same mistakes before the code runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from foretell.errors import LanguageError


class BuilderError(LanguageError, TypeError):
    """A pattern or condition that Python code put together wrongly."""


def mistake(code: str, message: str, hint: str = "") -> BuilderError:
    return BuilderError(code, message, hint=hint)


class NotAValue:
    """A step or an event: to be compared or computed with, one of its attributes has to be named."""

    if not TYPE_CHECKING:

        def _refuse_value(self, other: object) -> NoReturn:
            raise mistake("not-a-value", f"'{self!r}' is an event, not a value", value_hint(self))

        __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse_value
        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse_value
        __truediv__ = __rtruediv__ = __mod__ = __rmod__ = _refuse_value
        __hash__ = object.__hash__


def value_hint(event: object) -> str:
    return f"name one of its attributes, {event!r}.price, or its time, t({event!r})"


class NotIterable:
    """Something that stands for what an event will bring: there is nothing in it to go through yet."""

    if not TYPE_CHECKING:

        def __iter__(self) -> NoReturn:
            raise mistake("not-iterable", f"'{self!r}' cannot be gone through: its events are yet to come")

        def __len__(self) -> NoReturn:
            raise mistake(
                "not-iterable", f"'{self!r}' has no length: its events are yet to come", "x.length(), count(b)"
            )
