"""Daily temperatures of many cities, for the heat waves of P-ToPSS, Fig. 11: a seasonal cycle and autocorrelated noise.

The temperature of a day is the city's yearly mean, plus a wave with a period of a year, plus autoregressive noise of
order 1 or 2. Real data in the same columns serve as well: the paper has those of 157 cities of the United States and
167 others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

YEAR = 365.25

#: Five days above 30 degrees, one after the other.
HEAT = """STREAM days (day INT, city STRING, temp FLOAT) TIME day;
SUBSCRIBE heat FROM days PER city MATCH a , b , c , d , e DEFINE a, b, c, d, e AS temp > 30{forecast};
"""

#: Conditions that divide temperatures into four classes. The combinations of one to five days are
#: 4 + 16 + 64 + 256 + 1,024; with that of no day these are the 1,365 states of the paper's "full" model.
CLASSES = ("temp > 30", "temp > 20", "temp > 10")


def temperatures(
    cities: int = 324, days: int = 3652, *, kept: tuple[float, ...] = (0.75,), first: int = 0, seed: int = 0
) -> pa.Table:
    """`day` (a number), `city`, `temp`, ordered by day. `kept` has the coefficients of the autoregression.

    A city has a mean of 2 to 27 degrees, an amplitude that is smaller where it is warm, and its warmest day in July or,
    one in five, in January; the noise has a standard deviation of 2 to 4.5 degrees. The same seed gives the same
    cities, also for other days; `first` is the first day.
    """
    climate, weather = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])
    mean = climate.uniform(2, 27, cities)
    amplitude = climate.uniform(0.6, 1.2, cities) * (16 - 0.4 * mean)
    warmest = climate.normal(200, 10, cities) + YEAR / 2 * (climate.random(cities) < 0.2)
    noise = _autoregression(weather, kept, first + days, cities)[first:] * climate.uniform(2, 4.5, cities)
    day = np.arange(first, first + days)
    cycle = amplitude * np.cos(2 * np.pi * (day[:, None] - warmest) / YEAR)
    columns: dict[str, Any] = {
        "day": np.repeat(day, cities),
        "city": pa.DictionaryArray.from_arrays(
            np.tile(np.arange(cities, dtype=np.int32), days), pa.array([f"C{number:03d}" for number in range(cities)])
        ).cast(pa.string()),
        "temp": np.round(mean + cycle + noise, 1).ravel(),
    }
    return pa.table(columns)


def _autoregression(random: np.random.Generator, kept: tuple[float, ...], days: int, cities: int) -> Any:
    """Autoregressive noise of standard deviation 1, a row for each day."""
    begin = 365  # days until the start from zero has no influence any more
    noise = random.normal(size=(begin + days, cities))
    for today in range(len(kept), len(noise)):
        for back, part in enumerate(kept, start=1):
            noise[today] += part * noise[today - back]
    return noise[begin:] / _deviation(kept)


def _deviation(kept: tuple[float, ...]) -> float:
    """The standard deviation of an autoregression with shocks of deviation 1, from its response to one shock.

    >>> round(_deviation((0.6,)), 4)
    1.25
    """
    response = np.zeros(1000)
    response[0] = 1.0
    for lag in range(1, len(response)):
        response[lag] = sum(part * response[lag - back] for back, part in enumerate(kept, start=1) if back <= lag)
    return float(np.sqrt((response**2).sum()))
