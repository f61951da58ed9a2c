"""The size of a statement with LOSING: the limits of what it may need.

Each set of steps that may be lost together has patterns of its own, and each gap that may hide steps has tables of its
own: of its probability, and of the convolutions of delays that lead to it.
"""

from __future__ import annotations

from foretell.records import record

#: The defaults of `Limits.patterns` and `Limits.tables`: planning and the tables of the first events take some seconds
#: together.
MOST_PATTERNS = 300
MOST_TABLES = 120


@record
class LosingLimits:
    """`Limits.patterns` and `Limits.tables`."""

    patterns: int = MOST_PATTERNS
    tables: int = MOST_TABLES
