"""A statement's automaton for the page: states, edges, how many partial matches wait where, and a diagram."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from foretell.arguments.model import delay_models
from foretell.engine.inspection import LivePartialMatches
from foretell.events.delays.delay_model import DelayModel
from foretell.extras import has_extra
from foretell.forecast.online.factory import fingerprint_of
from foretell.language import tree
from foretell.language.checked import CheckedCorrelator, CheckedStatement, CheckedSubscription
from foretell.learn.model import Model
from foretell.machine.exec.limits import Limits
from foretell.plan.explain import Explained, as_mermaid, explain

_BEGIN = -1


def automaton_view(
    checked: CheckedStatement, live: LivePartialMatches | None, model: Model, limits: Limits
) -> dict[str, Any]:
    """`live` is None where nobody knows the partial matches."""
    if isinstance(checked, CheckedCorrelator):
        return _correlator_view(checked)
    assert isinstance(checked, CheckedSubscription)
    explained = explain(checked, edges=limits.edges)
    counts = live.by_state if live is not None and live.own_states else None
    view = _subscription_view(explained, counts)
    _add_probabilities(view, checked, model)
    if checked.tree.losing is not None:
        view["mermaid"] = _losing_mermaid(checked, model, limits)
        view["note"] = "with LOSING it runs as several patterns, each with other steps lost: the diagram shows them"
    elif live is not None and not live.own_states:
        view["note"] = "it shares states with other statements, so its partial matches are not counted by state"
    return view


def _subscription_view(explained: Explained, counts: Mapping[int, int] | None) -> dict[str, Any]:
    if not explained.states:
        note = f"it has no automaton: {explained.why}"
        return {"states": [], "edges": [], "mermaid": "", "note": note}
    begin = {"id": _BEGIN, "label": "begin", "start": True, "final": False, "partial_matches": None}
    states = [
        {
            "id": state.number,
            "label": "match" if state.final else f"waits for {' and '.join(state.waits)}",
            "start": False,
            "final": state.final,
            "partial_matches": None if counts is None or state.final else counts.get(state.number, 0),
        }
        for state in explained.states
    ]
    edges = [
        {
            "source": _BEGIN if edge.source is None else edge.source,
            "target": edge.target,
            "label": edge.step + (f" if {' AND '.join(edge.judged)}" if edge.judged else ""),
            "step": edge.step,
            "conditions": list(edge.judged),
            "probability": None,
        }
        for edge in explained.edges
    ]
    return {"states": [begin, *states], "edges": edges, "mermaid": as_mermaid(explained), "note": explained.why}


def _add_probabilities(view: dict[str, Any], checked: CheckedSubscription, model: Model) -> None:
    """Give edges the share of events after which the furthest partial match of a lane went along them, by the model."""
    own = model.subscriptions.get(checked.name)
    if own is None or own.fingerprint != fingerprint_of(checked.tree) or not has_extra("charts"):
        return
    from foretell.charts.learned_automaton import NOTHING, learned_automaton  # its package is an extra

    states = learned_automaton(checked, own).states
    finals = {state["id"] for state in view["states"] if state["final"]}
    for edge in view["edges"]:
        learned = states.get(NOTHING if edge["source"] == _BEGIN else edge["source"])
        if learned is not None:
            share = learned.match if edge["target"] in finals else learned.moves.get(edge["target"], 0.0)
            edge["probability"] = round(share, 6)


def _correlator_view(checked: CheckedCorrelator) -> dict[str, Any]:
    from foretell.correlate.explanation import explain_correlator  # loads kernels

    explained = explain_correlator(checked, None)
    note = "a correlator runs as a machine of several parts: the diagram shows it"
    return {"states": [], "edges": [], "mermaid": explained.as_mermaid(), "note": note}


def _losing_mermaid(checked: CheckedSubscription, model: Model, limits: Limits) -> str:
    from foretell.events.types import Type
    from foretell.recover.loss_automaton import automaton_mermaid, loss_automaton  # loads SciPy

    delays = delay_models(model.of_statements((checked.name,)), [checked.name]).get(checked.name) or DelayModel()
    if isinstance(checked.tree.within, tree.Span):
        checked = replace(checked, time=Type.TIMESTAMP)
    return automaton_mermaid(loss_automaton(checked, delays, limits.losing))
