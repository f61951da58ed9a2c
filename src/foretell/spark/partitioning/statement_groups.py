"""Where statements are at work: a share is what some of them need, in shards by their keys.

In a stream, statements that are PER the same attributes are one share; those without PER are one as well, in a single
shard. So a statement with another PER is a share more and leaves the state of the others as it is. Statements that read
the results of others go with them, by the attributes that all of them are PER and that the results carry on. Batches
have no state to leave alone, and divide further (shares.py).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretell.language import tree
from foretell.language.subscriptions import Subscriptions, of_program
from foretell.spark.partitioning.statement_chains import ReadingStatement, partition_keys, statement_chains

#: Shards go to Spark's partitions in turn, for any number of these that divides it.
_TURN = 840
_TRIES = 1 << 16


@dataclass(frozen=True)
class StatementGroup:
    """Statements, with the streams they read; `keys` are what events are dealt out by to the shards.

    `text` is what their engines run: the statements, and the STREAM statements of all streams, for time is one.
    """

    keys: tuple[str, ...]
    statements: tuple[str, ...]
    streams: tuple[str, ...]
    shards: tuple[int, ...]
    tables: tuple[str, ...] = ()
    text: str = ""

    @property
    def name(self) -> str:
        return _name(self.keys)


def stream_groups(program: Subscriptions, shards: int) -> tuple[StatementGroup, ...]:
    """In the order of their first statements."""
    declared = list(program.declared.values())
    together: dict[tuple[str, ...], list[ReadingStatement]] = {}
    for chain in statement_chains(_reading(program)):
        together.setdefault(partition_keys(chain), []).extend(chain)
    order = {str(s.name): number for number, s in enumerate(program.program.statements)}
    return tuple(
        _share(keys, sorted(some, key=lambda s: order[str(s.name)]), declared, shards)
        for keys, some in together.items()
    )


def _reading(program: Subscriptions) -> list[ReadingStatement]:
    return [s for s in program.program.statements if isinstance(s, tree.Subscription | tree.Correlator)]


def _share(
    keys: tuple[str, ...],
    statements: Sequence[ReadingStatement],
    declared: Sequence[tree.Stream],
    shards: int,
) -> StatementGroup:
    made = {str(s.name) for s in statements}
    streams = dict.fromkeys(str(name) for s in statements for name in s.streams if str(name) not in made)
    tables = dict.fromkeys(str(s.table) for s in statements if isinstance(s, tree.Subscription) and s.table)
    text = str(of_program(tree.Program((*declared, *statements))))
    codes = shard_ids(_name(keys), shards if keys else 1)
    return StatementGroup(keys, tuple(str(s.name) for s in statements), tuple(streams), codes, tuple(tables), text)


def _name(keys: Iterable[str]) -> str:
    return f"PER {', '.join(keys)}" if keys else "without PER"


# ── the numbers of shards ──


def shard_ids(name: str, count: int) -> tuple[int, ...]:
    """The keys under which Spark has the shards of a share.

    Spark deals keys out to its partitions by their hash. Eight small numbers could all come to one of two; these are
    chosen so that they go round, whatever the number of partitions is: state stays where it is when that is another.
    """
    first = zlib.crc32(name.encode()) << 31
    rest = spark_hash(np.arange(first, first + _TRIES, dtype=np.int64)) % _TURN
    found = []
    for shard in range(count):
        (places,) = np.nonzero(rest == shard % _TURN)
        found.append(first + int(places[shard // _TURN]))
    return tuple(found)


def spark_hash(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Spark's hash of BIGINTs (Murmur3, 32 bits, seed 42), as its partitions go by it."""
    words = values.view(np.uint64)
    mixed = np.full(len(values), 42, np.uint32)
    for half in (words & np.uint64(0xFFFFFFFF), words >> np.uint64(32)):
        word = half.astype(np.uint32) * np.uint32(0xCC9E2D51)
        word = (word << np.uint32(15) | word >> np.uint32(17)) * np.uint32(0x1B873593)
        mixed ^= word
        mixed = (mixed << np.uint32(13) | mixed >> np.uint32(19)) * np.uint32(5) + np.uint32(0xE6546B64)
    mixed ^= np.uint32(8)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        mixed = (mixed ^ mixed >> np.uint32(shift)) * np.uint32(factor)
    mixed ^= mixed >> np.uint32(16)
    return mixed.view(np.int32).astype(np.int64)


def quarantine_shards(shares: Sequence[StatementGroup]) -> Mapping[str, int]:
    """The shard that tells what is to be told once of each stream: its malformed events."""
    found: dict[str, int] = {}
    for share in shares:
        for stream in share.streams:
            found.setdefault(stream, share.shards[0])
    return found
