"""`foretell bench growth`: how the time per event grows with windows, lanes, subscriptions and partial matches.

Each curve has the exponent of its growth, the slope of its points on logarithmic axes: once over all points and once
over the last decade, since a curve may start flat and end steep. An exponent of 1 is linear. A curve stops, with a
note, before a point becomes too slow or too large for the machine.
"""

from __future__ import annotations

from collections.abc import Iterator

from foretell.bench.growth.batches import batches
from foretell.bench.growth.curves import Point
from foretell.bench.growth.lanes import lanes
from foretell.bench.growth.partial_matches import partial_matches
from foretell.bench.growth.start import starting, subscribing
from foretell.bench.growth.subscriptions import statements, templates
from foretell.bench.growth.windows import ages, windows

CURVES = (windows, ages, lanes, templates, statements, partial_matches, batches, subscribing, starting)


def measure(quick: bool) -> Iterator[Point]:
    """All curves. With `quick` they are short: they show that the program works, not how it grows."""
    for curve in CURVES:
        yield from curve(quick)
