"""A feed of items like that of Cayuga's section 4.3: 26,623 items of 415 sites in the order of their publication, and
the four templates of subscriptions on them.

The feed itself is not published. Here a site has a number of items that falls with its rank as in Zipf's law, one to
ten channels, and items whose popularity (0 to 99, for the paper's hit counts) has equal probability. Time is the number
of the item, so that "no more than 100 events" is `WITHIN 99`. Subscriptions draw site and popularity with equal
probability, as in the paper.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.bench.workloads.conjunctions import zipf

ITEMS, SITES, POPULARITIES = 26_623, 415, 100
_STREAM = (
    "STREAM events (time INT, website STRING, channel STRING, popularity INT, title STRING, author STRING) TIME time;"
)


class FeedTemplate(Enum):
    """The templates, by their names in the paper: articles of one website, more popular than a threshold or than the
    one before on the same channel."""

    STATELESS = "Stateless"
    CONCATENATION = "Concatenation"
    PARAMETERIZATION = "Parameterization"
    ITERATION = "Iteration"

    @property
    def text(self) -> str:
        """The statement."""
        return f"{_STREAM}\nSUBSCRIBE matches FOR EACH wanted FROM events {_PATTERNS[self]};\n"

    def table(self, subscriptions: pa.Table) -> pa.Table:
        """The columns that the template reads."""
        thresholds = self in (FeedTemplate.STATELESS, FeedTemplate.CONCATENATION)
        return subscriptions.select(["id", "website", *(["popularity"] if thresholds else [])])


_POPULAR = "website = :website AND popularity > :popularity"
_SAME_CHANNEL = "website = :website AND channel = a.channel"
_PATTERNS = {
    FeedTemplate.STATELESS: f"MATCH a DEFINE a AS {_POPULAR}",
    FeedTemplate.CONCATENATION: f"MATCH a ;{{{_POPULAR}}} b ;{{{_POPULAR}}} c DEFINE a AS {_POPULAR} WITHIN 99",
    FeedTemplate.PARAMETERIZATION: f"MATCH a ;{{{_SAME_CHANNEL}}} b ;{{{_SAME_CHANNEL}}} c "
    "DEFINE a AS website = :website, b AS popularity > a.popularity, c AS popularity > b.popularity WITHIN 99",
    FeedTemplate.ITERATION: f"MATCH a ;{{{_SAME_CHANNEL}}} b+ DEFINE a AS website = :website, "
    "b AS popularity > prev.popularity WITHIN 99",
}


def subscriptions(count: int) -> pa.Table:
    """Sites and thresholds for so many subscriptions."""
    chance = np.random.default_rng([5, count])
    columns: dict[str, Any] = {
        "id": np.arange(count),
        "website": _site_names(chance.integers(0, SITES, count)),
        "popularity": chance.integers(0, POPULARITIES, count),
    }
    return pa.table(columns)


def items(count: int = ITEMS) -> pa.Table:
    """The feed, or its beginning. One item in three has no author."""
    chance = np.random.default_rng(6)
    site = zipf(chance, 1.0, SITES, ITEMS)
    channels = chance.integers(1, 11, SITES)
    channel = (chance.random(ITEMS) * channels[site]).astype(np.int64)
    authors = np.array([f"author {number}" for number in range(2_000)])
    columns: dict[str, Any] = {
        "time": np.arange(ITEMS),
        "website": _site_names(site),
        "channel": pa.array([f"channel {number}" for number in channel]),
        "popularity": chance.integers(0, POPULARITIES, ITEMS),
        "title": pa.array([f"item {number}" for number in range(ITEMS)]),
        "author": pa.array(authors[chance.integers(0, 2_000, ITEMS)], mask=chance.random(ITEMS) < 1 / 3),
    }
    return pa.table(columns).slice(0, count)


def _site_names(sites: Ints) -> NDArray[np.str_]:
    return np.array([f"site{number:03d}.example.org" for number in range(SITES)])[sites]
