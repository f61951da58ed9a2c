"""The compiled engine against the reference on random programs and streams, whole and in batches."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, event, given, reject, settings
from hypothesis import strategies as st

import foretell as ft
from foretell.events.read import Loaded, events_of
from foretell.machine.feed import Feed
from foretell.plan.program import UnsupportedError
from tests.both import Both, told
from tests.properties.patterns import MOST_DERIVED, Case, Chance, case, cases

quick = settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
long = settings(max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))


def _both(one: Case) -> Both | None:
    """None for a text that is none, and for what the reference would take too long for."""
    try:
        both = Both(one.text, one.streams, tables=one.tables, until=one.until)
    except ft.ForetellError:
        return None
    return None if _is_costly(both) else both


def _is_costly(both: Both) -> bool:
    """Whether a statement reads very many derived events; how many there are, the compiled engine says quickly."""
    read = {name for s in both.checked.statements for name in s.tree.streams}
    try:
        counts = Counter(n.subscription for n in both.embedded())
    except UnsupportedError:
        return False
    return any(count > MOST_DERIVED for name, count in counts.items() if name in read)


def _agrees(one: Case) -> None:
    both = _both(one)
    assume(both is not None)
    assert both is not None
    try:
        embedded = both.embedded()
    except UnsupportedError as error:
        event(f"unsupported: {error}")
        reject()
    event("with matches" if embedded else "without matches")
    assert told(embedded) == told(both.reference())


def _is_open(one: Case) -> bool:
    """With two LAST, a match may be told before a better one is known: what comes then hangs on the batches."""
    return one.text.count("LAST ") - one.text.count("PAST LAST") - one.text.count("TO LAST") > 1


def _batches(both: Both, cuts: list[int]) -> list[Mapping[str, Loaded]]:
    """The input cut where the numbers say, in the one order of all its events."""
    keyed = [
        (found.key, name, index)
        for name, one in both.loaded.items()
        for index, found in enumerate(events_of(one, both.checked.ranks[name]))
    ]
    ordered = sorted(keyed, key=lambda k: k[0])
    edges = sorted({0, len(ordered), *(c % (len(ordered) + 1) for c in cuts)})
    batches: list[Mapping[str, Loaded]] = []
    for first, last in pairwise(edges):
        rows = {name: [i for _, n, i in ordered[first:last] if n == name] for name in both.loaded}
        cut = {n: pa.array(some, pa.int64()) for n, some in rows.items()}
        batches.append({n: replace(one, table=one.table.take(cut[n])) for n, one in both.loaded.items()})
    return batches or [both.loaded]


def _agrees_in_batches(one: Case, cuts: list[int]) -> None:
    both = _both(one)
    assume(both is not None)
    assert both is not None
    try:
        whole = both.embedded()
    except UnsupportedError:
        reject()
    pieces = both.embedded_in_batches(_batches(both, cuts))
    assert Counter(told(pieces)) == Counter(told(whole))


@quick
@given(cases())
def test_it_says_what_the_reference_says(one: Case) -> None:
    _agrees(one)


@quick
@given(cases(), st.lists(st.integers(0, 30), min_size=1, max_size=5))
def test_batches_may_be_cut_anywhere(one: Case, cuts: list[int]) -> None:
    _agrees_in_batches(one, cuts)


def test_every_event_may_come_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """And all that can be forgotten is, after each."""
    monkeypatch.setattr(Feed, "crowded", True)
    for seed in range(300):
        one = case(Chance(random.Random(seed).randint))
        both = _both(one)
        if both is not None and not _is_open(one):
            try:
                whole = both.embedded()
            except UnsupportedError:
                continue
            assert Counter(told(both.embedded_in_batches(_batches(both, list(range(31)))))) == Counter(told(whole))


def test_few_programs_are_refused_or_unsupported() -> None:
    """What is drawn must be worth drawing: most of it runs, much of it matches, and nothing else goes unnoticed."""
    tally: Counter[str] = Counter()
    forms: set[str] = set()
    for seed in range(400):
        both = _both(case(Chance(random.Random(seed).randint)))
        if both is None:
            tally["refused"] += 1
            continue
        try:
            tally["matches" if both.embedded() else "no matches"] += 1
        except UnsupportedError as error:
            forms.add(str(error))
            tally["unsupported"] += 1
    assert forms <= set(UNSUPPORTED)
    assert tally["matches"] > 150
    assert tally["refused"] < 60
    assert tally["unsupported"] < 60


@pytest.mark.soak
@pytest.mark.timeout(0)
@long
@given(cases())
def test_it_says_what_the_reference_says_for_long(one: Case) -> None:
    _agrees(one)


@pytest.mark.soak
@pytest.mark.timeout(0)
@long
@given(cases(), st.lists(st.integers(0, 30), min_size=1, max_size=5))
def test_batches_may_be_cut_anywhere_for_long(one: Case, cuts: list[int]) -> None:
    _agrees_in_batches(one, cuts)


ROWS = [{"time": i, "kind": "ab"[i % 2], "v": i, "n": "x"} for i in range(6)]

#: What the compiled engine does not run, by what it says of it. Whatever begins to run leaves this list.
UNSUPPORTED = {
    "CORRELATE": "CORRELATE m FROM s DO accumulate{a, b} DEFINE a AS v = 1, b AS v = 2;",
    "LOSING": "SUBSCRIBE m FROM s MATCH a ; b WITHIN 3 LOSING 0.1 ABOVE 0.5;",
    "TIES SIMULTANEOUS with &": "STREAM s TIME time TIES SIMULTANEOUS; SUBSCRIBE m FROM s MATCH a & b;",
    "prev or duration in ;{θ} beside &": "SUBSCRIBE m FROM s MATCH a & (b ;{v > prev.v} c);",
    "a[i] that binds a variable after something else": "SUBSCRIBE m FROM s MATCH a ; b[2] DEFINE b AS v = $x;",
    "a[i] that nothing precedes, counted by more than its own event": (
        "SUBSCRIBE m FROM s MATCH a[2] DEFINE a AS prev.v IS NULL;"
    ),
    "max of strings": "SUBSCRIBE m FROM s MATCH a+ ; b DEFINE b AS n <= max(a.n);",
    "min of strings": "SUBSCRIBE m FROM s MATCH a+ ; b DEFINE b AS n >= min(a.n);",
}


@pytest.mark.parametrize("form", UNSUPPORTED)
def test_what_is_unsupported(form: str) -> None:
    time = {} if "STREAM" in UNSUPPORTED[form] else {"s": "time"}
    both = Both(UNSUPPORTED[form], {"s": ROWS}, time=time)
    with pytest.raises(UnsupportedError) as caught:
        both.embedded()
    assert str(caught.value) == form
