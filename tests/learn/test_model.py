"""The model file: what goes in comes out, and what cannot be read is refused in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.arguments.model import as_model, delay_models
from foretell.errors import InputError
from foretell.events.delays.delay_model import NEAREST
from foretell.forecast.chain.probability_table import ProbabilityTable
from foretell.forecast.chain.semi_markov import SemiMarkovTable
from foretell.learn.calibration import Calibration
from foretell.learn.contexts import Contexts
from foretell.learn.model import Model, SubscriptionModel, fingerprint
from foretell.learn.statistics import Statistics, merge_statistics
from foretell.learn.trace import Trace
from tests.learn.traces import quick, traces, walk

DELAYS = {"after": {"b": {"distribution": "exponential", "mean": 2.0}}}
CONTEXTS = Contexts(3, ((), (0,), (1,), (2, 1)))
CURVE = Calibration(((0.1, 0.3), (0.7, 0.8)))


def learned(trace: Trace | None = None, mark: str = "abc") -> SubscriptionModel:
    trace = walk(np.array([[0.5, 0.3], [0.6, 0.2]]), np.array([0.2, 0.2]), 200) if trace is None else trace
    contexts = CONTEXTS.after(trace.symbol, trace.process)
    return SubscriptionModel(
        mark, Statistics.of(trace, contexts, half_life=30.0), CONTEXTS, CURVE, {"order": 2, "features": []}
    )


def refused(document: object) -> str:
    with pytest.raises(InputError) as error:
        Model.of(document)
    assert error.value.code == "bad-model"
    return str(error.value)


def arrays(statistics: Statistics) -> list[Any]:
    lasting, lanes = statistics.sojourns, statistics.lanes
    return [
        *(
            statistics.states,
            statistics.contexts,
            statistics.counts,
            statistics.matched,
            lanes.events,
            lanes.counts,
            lanes.matched,
        ),
        *(getattr(lasting, name) for name in lasting.__dataclass_fields__),
    ]


@quick
@given(traces(), st.sampled_from([1.0 / 3.0, 1e300, 5.0]))
def test_the_round_trip_is_exact(trace: Trace, half_life: float) -> None:
    counts = Statistics.of(trace, half_life=half_life)
    model = Model(
        {"m": SubscriptionModel("f", counts, CONTEXTS, CURVE, {"enough": 30.0})}, {"m": DELAYS, "other": DELAYS}
    )
    text = json.dumps(model.document())
    again = Model.of(json.loads(text))
    learned = again.subscriptions["m"]
    assert json.dumps(again.document()) == text
    for left, right in zip(arrays(counts), arrays(learned.statistics), strict=True):
        assert left.dtype == right.dtype
        assert np.array_equal(left, right)
    rest = ("half_life", "until", "events", "matches", "since", "to")
    assert [getattr(counts, name) for name in rest] == [getattr(learned.statistics, name) for name in rest]
    assert (learned.contexts, learned.calibration, learned.settings) == (CONTEXTS, CURVE, {"enough": 30.0})
    assert again.delays == {"m": DELAYS, "other": DELAYS}


def test_the_file(tmp_path: Path) -> None:
    model = Model({"m": learned()}, {"m": DELAYS})
    model.save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text()
    assert Model.load(tmp_path / "model.json").document() == model.document()
    assert text.startswith('{\n "foretell": "model",\n "version": 1,\n "subscriptions": {\n  "m": {\n')
    assert max(map(len, text.splitlines())) < 1_000
    assert "\n     [0, 1, 2],\n" not in text
    assert list(tmp_path.iterdir()) == [tmp_path / "model.json"]


def test_delays_and_forecasts_live_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    Model({"m": learned(), "gone": learned()}, {"m": DELAYS}).save(path)
    assert delay_models(as_model(path), ["m"])["m"].after["b"][NEAREST].parameters == {"mean": 2.0}
    assert set(as_model(path).subscriptions) == {"m", "gone"}
    by_hand = {"subscriptions": {"m": DELAYS}}
    assert as_model(by_hand).subscriptions == {}
    assert delay_models(Model({"gone": learned()}), ["m"]) == {}


def test_statements_that_have_changed() -> None:
    model = Model({"m": learned(mark="1"), "n": learned(mark="2"), "gone": learned(mark="3")})
    fits, notes = model.compatible({"m": "1", "n": "changed", "new": "4"})
    assert list(fits) == ["m"]
    assert notes == [
        "'n' has changed since the model was trained: it starts untrained",
        "the model has no subscription 'new': it starts untrained",
    ]
    assert Model().compatible({"m": "1"}) == ({}, [])


@pytest.mark.parametrize(
    ("statements", "hint"),
    [({"m": "2"}, "'m' or a stream it reads has changed since; train again"), ({"mm": "1"}, "did you mean 'mm'?")],
)
def test_a_model_of_other_statements_is_refused(statements: dict[str, str], hint: str) -> None:
    with pytest.raises(InputError) as error:
        Model({"m": learned(mark="1")}).compatible(statements)
    assert error.value.code == "other-statements"
    assert str(error.value) == f"the model was trained for other statements: 'm'\n  hint: {hint}"


def test_the_fingerprint_knows_statement_and_streams() -> None:
    marks = {fingerprint(*given) for given in (("a", ["s"]), ("a", ["t"]), ("b", ["s"]), ("a", ["s", "t"]))}
    assert len(marks) == 4
    assert fingerprint("a", ["s", "t"]) == fingerprint("a", ["t", "s"])


@pytest.mark.parametrize("length", [10, 300, -20])
def test_a_truncated_file(tmp_path: Path, length: int) -> None:
    path = tmp_path / "model.json"
    Model({"m": learned()}).save(path)
    path.write_text(path.read_text()[:length])
    with pytest.raises(InputError, match="is not JSON") as error:
        Model.load(path)
    assert error.value.code == "bad-model"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file") as error:
        Model.load(tmp_path / "no.json")
    assert error.value.code == "no-file"
    with pytest.raises(InputError, match="cannot write"):
        Model().save(tmp_path / "no" / "model.json")


def test_other_versions_and_other_documents() -> None:
    message = "the model has version 2, expected 1\n  hint: train it again"
    assert refused({"foretell": "model", "version": 2, "subscriptions": {}}) == message
    assert refused({"foretell": "report", "subscriptions": {}}).startswith("the model is not a model but a 'report'")


def changed(path: list[Any], value: object) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(Model({"m": learned()}).document()))
    inner: Any = document["subscriptions"]["m"]["forecast"]
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["fingerprint"], 5, "expected a string 'fingerprint' and an object 'settings'"),
        (["trained"], [], "Expected `object`, got `array` - at `$.trained`"),
        (["trained", "half_life"], -1.0, "a half-life must be more than 0 events"),
        (["colour"], 1, "Object contains unknown field `colour`"),
        (["transitions", 0, 1], 99, "impossible transition [0, 99, "),
        (["transitions", 0, 2], -1.0, "impossible transition"),
        (["matched", 0, 0], -1, "impossible match [-1, "),
        (["trained", "events"], -(2**63), "Expected `int` >= 0 - at `$.trained.events`"),
        (["configurations", 1], [64], "a configuration lists states from 0 to 63"),
        (["configurations", 2], [], "a configuration is listed twice in the same context"),
        (["sojourns", "configurations", 1], [], "a configuration of the sojourns is listed twice"),
        (["sojourns", "edges", 0, "least"], 1e9, "impossible sojourn: least 1000000000.0, most "),
        (["in_context", 0], 10**30, "a number is too large"),
        (["in_context", 0], 9, "'in_context' does not fit"),
        (["sojourns", "edges", 0, "target"], "never", "a sojourn has an unknown source or target"),
        (["sojourns", "edges", 0, "bins"], [[9999, 1.0]], "impossible bin [9999, 1.0]"),
        (["contexts", "suffixes"], [[], [1, 1]], "the context [1, 1] has no shorter one"),
        (["contexts", "suffixes"], [[], [7]], "the context [7] has an unknown symbol"),
        (["calibration"], [[0.5, 0.2], [0.4, 0.3]], "the points of a calibration must rise"),
        (["calibration"], [[0.5, 1.2]], "a probability lies between 0 and 1"),
    ],
)
def test_what_does_not_fit_together(path: list[Any], value: object, message: str) -> None:
    found = refused(changed(path, value))
    assert found.startswith("the model, subscription 'm', 'forecast': ")
    assert message in found


def places_in(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, part in items:
        found += places_in(part, (*path, key))
    return found


DOCUMENT = json.loads(json.dumps(Model({"m": learned()}, {"m": DELAYS}).document()))
PLACES = places_in(DOCUMENT)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.sampled_from([10**30, -(10**30), 2**63, 1e308, -0.5, "", "match", [], {}, [[0, 0]], [[0, 0, 1.0]]]),
)


@quick
@given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=3))
def test_whatever_is_changed_it_is_read_or_refused(changes: list[tuple[tuple[Any, ...], object]]) -> None:
    """And what is read can be worked with."""
    document = json.loads(json.dumps(DOCUMENT))
    for path, value in changes:
        inner = document
        try:
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took this place away
    try:
        model = Model.of(document)
    except InputError:
        return
    for learned in model.subscriptions.values():
        assert not (ProbabilityTable.of(learned.statistics, 5).probability > 1).any()
        assert not (SemiMarkovTable.of(learned.statistics.sojourns, 5.0).table > 1).any()
        same = merge_statistics(learned.statistics, learned.statistics)
        assert same.matched.sum() == pytest.approx(2 * learned.statistics.matched.sum())
