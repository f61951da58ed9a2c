"""Records: frozen dataclasses that are made many times for each batch.

Type checkers refuse to set a field of a record. A frozen dataclass refuses it at run time too, and pays for that: its
fields are set one by one through `object.__setattr__`, which takes three times as long.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

Record = TypeVar("Record")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[Record]) -> type[Record]:
    """A dataclass whose fields nobody sets."""
    return dataclass(unsafe_hash=True)(cls)
