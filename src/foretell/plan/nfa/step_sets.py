"""Sets of steps as the bits of one number: a pattern of ten thousand steps has as many states, each with such a set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


class StepNumbers(dict[str, int]):
    """The number of each step of a pattern."""

    def bits(self, steps: Iterable[str]) -> int:
        """The bits of those names that are steps."""
        return sum(1 << self[step] for step in set(steps) if step in self)

    @classmethod
    def of(cls, steps: Iterable[str]) -> StepNumbers:
        return cls((step, number) for number, step in enumerate(steps))


@dataclass(frozen=True, eq=False, repr=False)
class StepSet:
    """A set of steps of one pattern. Sets of names may stand on the other side of its operators."""

    numbers: StepNumbers
    mask: int = 0

    def __contains__(self, step: object) -> bool:
        return step in self.numbers and bool(self.mask >> self.numbers[str(step)] & 1)

    def __iter__(self) -> Iterator[str]:
        return (step for step, number in self.numbers.items() if self.mask >> number & 1)

    def __len__(self) -> int:
        return self.mask.bit_count()

    def __bool__(self) -> bool:
        return bool(self.mask)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StepSet) and self.mask == other.mask

    def __hash__(self) -> int:
        return hash(self.mask)

    def __and__(self, other: StepSet | Iterable[str]) -> StepSet:
        return StepSet(self.numbers, self.mask & self._mask_of(other))

    def __or__(self, other: StepSet | Iterable[str]) -> StepSet:
        return StepSet(self.numbers, self.mask | self._mask_of(other))

    def __sub__(self, other: StepSet | Iterable[str]) -> StepSet:
        return StepSet(self.numbers, self.mask & ~self._mask_of(other))

    __rand__ = __and__

    def _mask_of(self, other: StepSet | Iterable[str]) -> int:
        return other.mask if isinstance(other, StepSet) else self.numbers.bits(other)

    def __repr__(self) -> str:
        return f"StepSet({', '.join(self)})"


NO_STEPS = StepSet(StepNumbers())
