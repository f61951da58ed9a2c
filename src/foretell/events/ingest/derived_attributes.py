"""Derived attributes: columns that a STREAM statement's LET adds to the events as they are read.

The reader knows no expressions: `foretell.filter.derived_columns` evaluates them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

import pyarrow as pa

from foretell.events.types import Type


class DerivedAttributes(Protocol):
    """The attributes that LET adds to those that the events have."""

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, each after those that it is derived from."""

    def inputs(self, names: Collection[str]) -> frozenset[str]:
        """The attributes of the events that these, or those of them that are derived, are derived from."""

    def types(self, attributes: Mapping[str, Type]) -> dict[str, Type]:
        """Their types, where the events' own attributes are of these types."""

    def extend(self, table: pa.Table, attributes: Mapping[str, Type], names: Collection[str] | None = None) -> pa.Table:
        """The table with their columns, or those of `names` alone."""


class _NoDerivedAttributes:
    names: tuple[str, ...] = ()

    def inputs(self, names: Collection[str]) -> frozenset[str]:
        return frozenset()

    def types(self, attributes: Mapping[str, Type]) -> dict[str, Type]:
        return {}

    def extend(self, table: pa.Table, attributes: Mapping[str, Type], names: Collection[str] | None = None) -> pa.Table:
        return table


NOTHING_DERIVED: DerivedAttributes = _NoDerivedAttributes()
